# SPDX-License-Identifier: GPL-2.0-or-later
"""Every section of a configuration and what it holds, for the schema and the reference manual.

The forms are those that the sections are read by, so neither can promise what
is not read.
"""

from typing import NamedTuple

from netgroupd.config.sections import (
    actions,
    addresses,
    chains,
    fdb,
    groups,
    mdb,
    mst,
    neighbours,
    nexthops,
    routes,
    rules,
    tc,
    vfs,
    vlan_global,
    vlans,
    vnis,
)
from netgroupd.config.sections.entries import Form
from netgroupd.model.tc.qdisc import KINDS as QDISCS


class Part(NamedTuple):
    """A list of entries, or a mapping of entries by ``key``; entries have the fields of ``form``."""

    name: str
    doc: str
    form: Form
    key: str = ""


GROUPS = Part(
    "groups",
    "Sets of links that share attributes and are changed together. What a group says applies to its links unless"
    " they say otherwise; the group `netgroupd` has all links that name none.",
    Form("group", groups.ROWS, frozenset()),
    "the name of a group",
)

UNDER_LINK = (
    Part("addresses", "Its IP addresses.", addresses.FORM),
    Part("vlans", "The VLANs that a bridge, or a port of one, is a member of.", vlans.FORM),
    Part("vlan_global", "What a bridge does in VLANs of its own and of its ports.", vlan_global.FORM),
    Part("mst", "The states of a port in the spanning trees that its VLANs are in, which no news tell of.", mst.FORM),
    Part("vfs", "What a network card does for its virtual functions.", vfs.FORM, "the number of the function, from 0"),
    Part("vnis", "The networks that a VXLAN with `vnifilter` takes.", vnis.FORM),
    Part("neighbours", "Its neighbours.", neighbours.UNDER_LINK),
    Part("fdb", "Its forwarding entries.", fdb.UNDER_LINK),
    Part("mdb", "The multicast groups that the ports of a bridge are in for good.", mdb.UNDER_LINK),
)

LISTS = (
    Part("routes", "Routes.", routes.FORM),
    Part("rules", "Rules that choose the routing table.", rules.FORM),
    Part("nexthops", "Nexthop objects, which routes refer to by `nhid`.", nexthops.FORM, "its id"),
    Part("neighbours", "Neighbours, as under a link, with `dev`.", neighbours.FORM),
    Part("fdb", "Forwarding entries, as under a link, with `dev`.", fdb.FORM),
    Part("mdb", "Multicast groups of ports, as under a bridge, with `dev`.", mdb.FORM),
)

HOOKS = (
    Part(
        "ingress",
        "Rules for what comes in, by their `pref`; the clsact that has the hook is made for them. Each names what it"
        " matches (`flower`, `matchall`, …) and what is then to be done, `action`, or the class that it goes into,"
        " `classid`. Those of another `chain` are asked where an action says `goto chain N`.",
        tc.FILTER,
    ),
    Part("egress", "Filters of what goes out; the hook is owned as a whole.", tc.FILTER),
    Part("filters", "Rules in the tree of queues, with the qdisc or class as `parent`; those of a block.", tc.FILTER),
    Part(
        "chains",
        "What is said of a chain besides its rules, which are where their `parent` says and name it as `chain`:"
        " a template, `flower`, for hardware that wants to know which bits rules will match, or that its rules change"
        " all at once, `atomic`; without `chain`, those of all chains of this `parent` together. `parent` is the hook"
        " or qdisc of these rules, and needed but under a block. Others need no entry.",
        chains.FORM_OF_BLOCK,
    ),
)

QDISC_FORMS = {kind: tc.qdisc_form(kind) for kind in QDISCS}
CLASS_FORMS = {kind: tc.class_form(kind) for kind, described in QDISCS.items() if described.classes}

LINK_KEYS = {
    "ports": "The links that it is the master of: the same as `master` on each of them.",
    "links": "The links of a VRF, as `ports`.",
    "port": "Its attributes as a port of its master.",
    "num_vfs": "How many virtual functions a network card has. Another number goes by way of none, unless one is 0.",
    "token": "The lower half of the IPv6 addresses that it makes of the networks that routers tell of, as `::10:20`.",
    "sysctl": "Kernel settings of the link, beginning with ipv4., ipv6. or mpls.",
    "ethtool": "What its driver is told, part by part, as in `ethtool: {features: {tso: false}, rings: {rx: 4096}}`.",
}
ETHTOOL = (
    "What ethtool(8) sets, part by part. All of it is there from the beginning: what is not mentioned stays as it is,"
    " and what is not mentioned any more, too. A driver that has no such part, or not as much, says so when it is told."
)
ETHTOOL_WORDS = (
    "A short word that stands for several features is all those of them that the link can change. What a feature"
    " depends on has to be on as well: one that the kernel leaves off is refused."
)
VRFS = "Links of the kind vrf; `links` names what is in each."
LINKS = (
    "Network interfaces by name. A link without a kind is there already. A name like `swp1.100` is that VLAN of"
    " that link, and is made when something refers to it."
)
ENCAP = (
    "The lightweight tunnel of a route, of one of its `nexthops`, or of a nexthop object, by its `type`, as in"
    " `encap: {type: mpls, labels: [100, 200]}`."
)
SYSCTL = "Kernel settings of the host, as in `net.ipv4.ip_forward: 1`."
ACTION_FORMS = actions.FORMS
ACTIONS = (
    "Actions that several filters share, by kind and index, as in `police 7: {rate: 10mbit, burst: 100k}`. A filter"
    " names one as `action: police 7`. All its filters count and are policed together, and one message changes it."
    " What such an action may say is what it may say in a filter; a text alone is its `control`."
)
TC = (
    "Traffic control, by link or `block N`. A link has `ingress` and `egress`, the rules of its two hooks, and `qdiscs`"
    " and `classes`, the tree of queues that what it sends goes through, with `filters` for the rules in that tree."
    " What is named is owned as a whole: of a hook all rules, of a link with `qdiscs` the tree. `ingress_block: N` and"
    " `egress_block: N` put a hook into a block, which is described once, as `block N`, for all links that are in it;"
    " `null` takes the hook out again."
)
