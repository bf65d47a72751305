# SPDX-License-Identifier: GPL-2.0-or-later
"""Bonds and their ports.  Times are in milliseconds where the name does not say otherwise."""

from collections.abc import Mapping

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.value import FLAG, IP4, IP6, LINK, MAC, S32, U16, Value, number, several, word

_LACP = ("802.3ad",)
_LEARNING = ("balance-tlb", "balance-alb")
_ONE_IN_USE = ("active-backup", *_LEARNING)
_ASKING = ("balance-rr", "active-backup", "balance-xor", "broadcast")
MODES_OF: Mapping[str, tuple[str, ...]] = {
    "active_slave": _ONE_IN_USE,
    "primary": _ONE_IN_USE,
    "packets_per_slave": ("balance-rr",),
    "tlb_dynamic_lb": _LEARNING,
    "arp_interval": _ASKING,
    "arp_validate": _ASKING,
    "arp_missed_max": _ASKING,
    **dict.fromkeys(
        ("lacp_rate", "lacp_active", "ad_actor_sys_prio", "ad_actor_system", "ad_user_port_key", "coupled_control"),
        _LACP,
    ),
}
"""The modes that an option is for, where it is not for all."""
PORT_MODES_OF: Mapping[str, tuple[str, ...]] = {"port.prio": _ONE_IN_USE, "port.actor_port_prio": _LACP}
"""The same of the options of its ports."""
LOOK_BY_THEMSELVES = frozenset((*_LACP, *_LEARNING))
"""The modes that look at carriers, every 100 ms."""
WITH_CARRIERS = ("updelay", "downdelay", "peer_notify_delay")
"""The options that go with looking at carriers."""

# What a bond does not keep when it goes to a mode that has it not.
_WITH_MODE = frozenset({"active_slave", "primary", "arp_interval", "arp_validate"})


def of_its_mode(bond: Mapping[str, Value]) -> dict[str, Value]:
    """``bond`` without the options of other modes, which the kernel keeps from when it was in one of these."""
    mode = str(bond.get("mode"))
    return {name: value for name, value in bond.items() if mode in MODES_OF.get(name, (mode,))}


def told_before(bond: Mapping[str, Value], now: Mapping[str, Value]) -> frozenset[str]:
    """The options of other modes than its own that ``bond`` can be told while it is in the one that it has ``now``.

    The kernel keeps them, until it is in a mode that has them again.
    """
    mode, left = bond.get("mode", now.get("mode")), now.get("mode")
    return frozenset(
        name
        for name, modes in MODES_OF.items()
        if bond.get(name) is not None and name not in _WITH_MODE and left in modes and mode not in modes
    )


def follows(mode: Value, bond: Mapping[str, Value]) -> dict[str, Value]:
    """What the kernel makes of other options of ``bond`` when it is given another mode."""
    found: dict[str, Value] = {"arp_validate": "none"}
    if mode in LOOK_BY_THEMSELVES:
        found |= {"arp_interval": 0, "miimon": bond.get("miimon") or 100}
    if mode == "balance-alb":
        found["tlb_dynamic_lb"] = True
    return found


_DOWN = Change.DOWN
_EMPTY = Change.EMPTY
_MODE = {
    "balance-rr": 0,
    "active-backup": 1,
    "balance-xor": 2,
    "broadcast": 3,
    "802.3ad": 4,
    "balance-tlb": 5,
    "balance-alb": 6,
}
_VALIDATE = {
    "none": 0,
    "active": 1,
    "backup": 2,
    "all": 3,
    "filter": 4,
    "filter_active": 5,
    "filter_backup": 6,
}
_HASH = {"layer2": 0, "layer3+4": 1, "layer2+3": 2, "encap2+3": 3, "encap3+4": 4, "vlan+srcmac": 5}
_WHOLE = number(32, 0, 0x7FFFFFFF)
_MS = number(32, 0, 0x7FFFFFFF, unit="milliseconds")

_BOND = table(
    (
        Attr("mode", word(8, _MODE), "How its ports share the work.", 1, _EMPTY),
        Attr("active_slave", LINK, "The port in use.", 2),
        Attr("miimon", _MS, "How often carriers are looked at.", 3),
        Attr("updelay", _MS, "How long a carrier must last to be used.", 4),
        Attr("downdelay", _MS, "How long a carrier may be lost.", 5),
        Attr("use_carrier", FLAG, "Trust the driver about carriers.", 6),
        Attr("arp_interval", _MS, "How often ARP targets are asked.", 7),
        Attr("arp_ip_target", several(IP4, unique=True), "The ARP targets, up to 16."),
        Attr("arp_validate", word(32, _VALIDATE), "Which ARP packets count.", 9),
        Attr("arp_all_targets", word(32, {"any": 0, "all": 1}), "How many targets must answer.", 10),
        Attr("primary", LINK, "The port preferred.", 11, nullable=True),
        Attr("primary_reselect", word(8, {"always": 0, "better": 1, "failure": 2}), "When it is taken again.", 12),
        Attr("fail_over_mac", word(8, {"none": 0, "active": 1, "follow": 2}), "Whose MAC it has.", 13, _EMPTY),
        Attr("xmit_hash_policy", word(8, _HASH), "What decides about the port of a packet.", 14),
        Attr("resend_igmp", number(32, 0, 255), "IGMP reports after a change of port.", 15),
        Attr("num_grat_arp", number(8), "Notifications after a change of port.", 16),
        Attr("all_slaves_active", FLAG, "Take what comes in on inactive ports.", 17),
        Attr("min_links", _WHOLE, "The fewest ports for a carrier.", 18),
        Attr("lp_interval", number(32, 1, 0x7FFFFFFF), "Seconds between learning packets.", 19),
        Attr("packets_per_slave", number(32, 0, 65535), "Packets before the next port, 0 for random.", 20),
        Attr("lacp_rate", word(8, {"slow": 0, "fast": 1}), "How often LACP speaks.", 21, _DOWN),
        Attr("ad_select", word(8, {"stable": 0, "bandwidth": 1, "count": 2}), "Which aggregate is used.", 22, _DOWN),
        Attr("ad_actor_sys_prio", number(16, 1, 65535), "Its priority in LACP.", 24),
        Attr("ad_user_port_key", number(16, 0, 1023), "The user's part of the port key.", 25, _DOWN),
        Attr("ad_actor_system", MAC, "Its MAC address in LACP.", 26),
        Attr("tlb_dynamic_lb", FLAG, "Balance by load.", 27, _DOWN),
        Attr("peer_notify_delay", number(32, 0, 300000, unit="milliseconds"), "Time between notifications.", 28),
        Attr("lacp_active", FLAG, "Speak first.", 29, _DOWN),
        Attr("arp_missed_max", number(8, 1, 255), "Answers that may be missed.", 30),
        Attr("ns_ip6_target", several(IP6, unique=True), "The neighbour solicitation targets, up to 16."),
        Attr("coupled_control", FLAG, "Collect and distribute at once.", 32, _DOWN),
    )
)

_PORT = table(
    (
        Attr("queue_id", number(16), "The transmit queue that leads to it.", 5),
        Attr("prio", S32, "The higher, the sooner it is used.", 9),
        Attr("actor_port_prio", U16, "Its priority in LACP.", 10),
    )
)

BOND = Kind("bond", "Several links as one.", _BOND, _PORT, master=True)
