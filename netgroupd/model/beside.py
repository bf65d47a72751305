# SPDX-License-Identifier: GPL-2.0-or-later
"""What a link of some kind cannot have beside other things that it has: the kernel refuses it, or forgets it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from netgroupd.model.value import Value


class Beside(NamedTuple):
    """One attribute, and what another one has to be for it; ``nothing`` are its values that need no other."""

    kinds: Sequence[str] | None
    field: str
    other: str
    usual: Value  # what a new link has of the other if nothing is said
    fits: Callable[[Value], bool]
    told: str
    nothing: Sequence[Value] = (None, False, 0, ())


def _is(*values: Value) -> Callable[[Value], bool]:
    return lambda value: value in values


def _is_on(value: Value) -> bool:
    return bool(value)


def _is_off(value: Value) -> bool:
    return not value


_GRE = ("gre", "gretap", "erspan")
_ALL_GRE = ("gre", "gretap", "ip6gre", "ip6gretap")
MACVLANS = ("macvlan", "macvtap")
_NOT_IN_GPE = ("gbp", "proxy", "rsc", "l2miss", "l3miss", "remcsumtx", "remcsumrx", "remcsum_nopartial", "ttl_inherit")
_SAID_BY_PACKETS = {
    "geneve": ("id", "remote", "ttl", "tos", "udpcsum"),
    "xfrm": ("dev", "if_id"),
}

BESIDE = (
    Beside(MACVLANS, "macaddr", "mode", "vepa", _is("source"), "it lists senders in the mode source alone"),
    Beside(("vxlan",), "vnifilter", "external", False, _is_on, "it needs 'external: true'"),
    Beside(("vxlan",), "gpe", "external", False, _is_on, "it needs 'external: true'"),
    Beside(("vxlan",), "gpe", "learning", True, _is_off, "it needs 'learning: false'"),
    *(Beside(("vxlan",), "gpe", other, False, _is_off, f"it has {other!r}") for other in _NOT_IN_GPE),
    *(
        Beside((kind,), field, "external", False, _is_off, "it is external, and packets say that")
        for kind, fields in _SAID_BY_PACKETS.items()
        for field in fields
    ),
    Beside(("macsec",), "sci", "send_sci", True, _is_on, "it needs 'send_sci: true'"),
    Beside(("macsec",), "send_sci", "scb", False, _is_off, "it has 'scb'"),
    Beside(("macsec",), "send_sci", "end_station", False, _is_off, "it has 'end_station'"),
    Beside(("macsec",), "scb", "end_station", False, _is_off, "it has 'end_station'"),
    Beside(_GRE, "ignore_df", "pmtudisc", True, _is_off, "it needs 'pmtudisc: false'"),
    Beside(("ipip", "sit"), "pmtudisc", "ttl", 0, _is_off, "with a ttl it discovers the MTU", nothing=(None, True)),
    Beside(_GRE, "encap", "external", False, _is_off, "it is external", nothing=(None, "none")),
    *(
        Beside(_ALL_GRE, field, "external", False, _is_off, "it is external, and packets say that")
        for field in ("icsum", "ocsum", "iseq", "oseq")
    ),
    Beside(
        ("bareudp",),
        "multiproto",
        "ethertype",
        None,
        _is("ipv4", "mpls_uc"),
        "its ethertype is neither ipv4 nor mpls_uc",
    ),
    Beside(("ipvlan", "ipvtap"), "vepa", "private", False, _is_off, "it is private"),
    Beside(None, "port.mab", "port.locked", False, _is_on, "it needs 'locked: true'"),
    Beside(None, "port.mab", "port.learning", True, _is_on, "it needs 'learning: true'"),
    Beside(("hsr",), "interlink", "proto", "hsr", _is("hsr"), "it is a ring of PRP"),
    Beside(("hsr",), "version", "proto", "hsr", _is("hsr"), "it is a ring of PRP", nothing=(None,)),
)
