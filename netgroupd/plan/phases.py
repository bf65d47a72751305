# SPDX-License-Identifier: GPL-2.0-or-later
"""Which messages run before which: every rule of ordering between classes is a row here."""

from netgroupd.plan.tc.order import LEVELS

# Users before providers on the way down, providers before users on the way up.
# A port is enslaved before it has addresses, which an enslaving flushes, and
# before it is up, for the cost of enslaving links that are up is quadratic.
#
# Free is the order of neighbours here that need nothing of each other.  Rules of
# traffic control, routing, what a bridge forwards and neighbours do not look at
# each other; nor do settings, what a card can do, and VLANs, nor the options of
# one VLAN those of another table.  What hangs on something goes along unsaid, as
# chains do with their qdisc.  And nothing stands on what a card is only told to
# make, for files speak of links that are there or that they make themselves.
PHASES = (
    "regroup links",
    "say filter again",
    "delete filter",
    "delete chain",
    "delete queue",
    "delete rule",
    "delete route",
    "delete fdb",
    "delete nexthop group",
    "delete nexthop",
    "delete mdb",
    "delete neighbour",
    "delete bridge_vlan",
    "unmap bridge_vlan",
    "delete vni",
    "delete address",
    "delete sriov",
    "lead links away",
    "delete link",
    "add token of a link that listens no more",
    "add sysctl",
    "take links down",
    "release links",
    "move links",
    "change links",
    "create links",
    "add sriov",
    "add vf",
    "shrink links",
    "bring links up below ports",
    "enslave links",
    "settle bridges",
    "create links of bridges",
    "settle links",
    "settle bridges again",
    "add ethtool",
    "add sysctl of a link",
    "add token",
    "add bridge_vlan",
    "add vlan_global",
    "limit bridge_vlan",
    "add mst",
    "add vni",
    "add address",
    "bring links up",
    "take links down again",
    "add address of a link held down",
    "add route to a link",
    "add nexthop",
    "add nexthop group",
    "add route",
    "add rule",
    "delete route of a table that is left",
    "add neighbour",
    "add fdb",
    "delete mdb of a bridge that was shut",
    "add mdb",
    "delete idle nexthop group",
    "delete idle nexthop",
    "add queue",
    "add action",
    "add chain",
    *LEVELS,
    "delete class",
    "delete action",
)
