# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl features``: what the running kernel can do, and what it is good for."""

from argparse import Namespace

from netgroupd.cli.target import reader
from netgroupd.cli.terminal import Terminal

FEATURES = {
    "dump_group": "ask for the links of one group only",
    "group_mask": "address a tree of groups by a mask",
    "new_group": "move all links of a group to another",
    "group_mac": "give each link of a group its MAC from a pattern",
    "group_inherit": "links stacked on a link join its group",
    "group_addr": "give and take addresses by group",
    "dump_addr_group": "ask for the addresses of one group only",
    "light": "links without sysfs, uevents and IP where not wanted",
    "bulk_delete": "delete many links at the cost of one wait",
    "skip_link_stats": "leave statistics out of dumps",
    "skip_af_spec": "leave what is per address family out of dumps",
    "skip_devconf": "leave the settings of IPv4 and IPv6 out of dumps",
    "name_only": "ask for the names of links alone",
    "tc_batch": "many filters in one message",
    "brief": "notifications that say which link, and no more",
}


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print one line for each feature."""
    has = frozenset(reader(arguments).status()["features"])
    if terminal.as_json:
        terminal.answer({name: name in has for name in FEATURES})
        return 0
    for name, meaning in FEATURES.items():
        mark = terminal.paint("yes", "green") if name in has else terminal.paint("no ", "grey")
        terminal.say(f"{mark}  {name:<16} {meaning}")
    if not has:
        terminal.say("a stock kernel: the same results, with more messages")
    return 0
