# SPDX-License-Identifier: GPL-2.0-or-later
"""What a link of some kind cannot have beside other things that it has: the kernel refuses it, or forgets it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from netgroupd.config.checked import Checked
from netgroupd.model.value import Value


class _Row(NamedTuple):
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
_MACVLAN = ("macvlan", "macvtap")
_NOT_IN_GPE = ("gbp", "proxy", "rsc", "l2miss", "l3miss", "remcsumtx", "remcsumrx", "remcsum_nopartial", "ttl_inherit")
_SAID_BY_PACKETS = {
    "geneve": ("id", "remote", "ttl", "tos", "udpcsum"),
    "xfrm": ("dev", "if_id"),
}

_ROWS = (
    _Row(_MACVLAN, "macaddr", "mode", "vepa", _is("source"), "it lists senders in the mode source alone"),
    _Row(("vxlan",), "vnifilter", "external", False, _is_on, "it needs 'external: true'"),
    _Row(("vxlan",), "gpe", "external", False, _is_on, "it needs 'external: true'"),
    _Row(("vxlan",), "gpe", "learning", True, _is_off, "it needs 'learning: false'"),
    *(_Row(("vxlan",), "gpe", other, False, _is_off, f"it has {other!r}") for other in _NOT_IN_GPE),
    *(
        _Row((kind,), field, "external", False, _is_off, "it is external, and packets say that")
        for kind, fields in _SAID_BY_PACKETS.items()
        for field in fields
    ),
    _Row(("macsec",), "sci", "send_sci", True, _is_on, "it needs 'send_sci: true'"),
    _Row(("macsec",), "send_sci", "scb", False, _is_off, "it has 'scb'"),
    _Row(("macsec",), "send_sci", "end_station", False, _is_off, "it has 'end_station'"),
    _Row(("macsec",), "scb", "end_station", False, _is_off, "it has 'end_station'"),
    _Row(_GRE, "ignore_df", "pmtudisc", True, _is_off, "it needs 'pmtudisc: false'"),
    _Row(("ipip", "sit"), "pmtudisc", "ttl", 0, _is_off, "with a ttl it discovers the MTU", nothing=(None, True)),
    _Row(_GRE, "encap", "external", False, _is_off, "it is external", nothing=(None, "none")),
    *(
        _Row(_ALL_GRE, field, "external", False, _is_off, "it is external, and packets say that")
        for field in ("icsum", "ocsum", "iseq", "oseq")
    ),
    _Row(
        ("bareudp",),
        "multiproto",
        "ethertype",
        None,
        _is("ipv4", "mpls_uc"),
        "its ethertype is neither ipv4 nor mpls_uc",
    ),
    _Row(("ipvlan", "ipvtap"), "vepa", "private", False, _is_off, "it is private"),
    _Row(None, "port.mab", "port.locked", False, _is_on, "it needs 'locked: true'"),
    _Row(None, "port.mab", "port.learning", True, _is_on, "it needs 'learning: true'"),
    _Row(("hsr",), "interlink", "proto", "hsr", _is("hsr"), "it is a ring of PRP"),
    _Row(("hsr",), "version", "proto", "hsr", _is("hsr"), "it is a ring of PRP", nothing=(None,)),
)


def fields(checked: Checked) -> None:
    """What a field is said beside lets the link have it."""
    links = checked.links
    for row in _ROWS:
        for name, attrs in checked.saying(row.field, row.kinds):
            if attrs[row.field] in row.nothing or (row.other not in attrs and name in links.known):
                continue
            if not row.fits(attrs.get(row.other, row.usual)):
                _, port, field = row.field.rpartition("port.")
                links.report.once(links.place(name, port[:-1] or field), f"{name!r} cannot have {field!r}: {row.told}")


def families(checked: Checked) -> None:
    """What is of one IP version is of a tunnel that sends by it."""
    links = checked.links
    for kind, field, version, nothing in _OF_FAMILIES:
        for name, attrs in checked.saying(field, [kind]):
            end = str(attrs.get("remote") or attrs.get("local") or "")
            unknown = not end and name in links.known and not attrs.get("external")
            if attrs[field] not in nothing and not unknown and (6 if ":" in end else 4) != version:
                told = f"{name!r} cannot have {field!r}: that is for sending over IPv{version}"
                links.report.once(links.place(name, field), told, "say by 'remote' where to")


_OF_FAMILIES: Sequence[tuple[str, str, int, Sequence[Value]]] = (
    ("vxlan", "label", 6, (None, 0)),
    ("vxlan", "label_policy", 6, (None, "fixed")),
    ("geneve", "label", 6, (None, 0)),
    ("geneve", "udpcsum", 4, (None, False)),
    ("geneve", "udp6zerocsumtx", 6, (None, False)),
    ("geneve", "udp6zerocsumrx", 6, (None, True)),
)
"""Of a kind a field, the version that it is for, and its values that need none."""


def lower_links(checked: Checked) -> None:
    """What the kernel keeps once for all that stand on a link is the same for each of them."""
    links = checked.links
    seen: dict[tuple[Value, ...], tuple[str, Value]] = {}
    for kinds, fields_ in _OF_LOWER_LINKS.items():
        for name, attrs in checked.of_kinds(kinds):
            for field, usual in fields_.items():
                value = attrs.get(field, None if name in links.known else usual)
                if value is None:
                    continue
                place = (kinds[0], attrs.get("link"), attrs.get("netns"), field)
                other, others = seen.setdefault(place, (name, value))
                if value != others:
                    told = f"{name!r} and {other!r} on {attrs.get('link')!r} have {field} {value} and {others}"
                    links.report.once(links.place(name, field), told, "the kernel has one for all on that link")


_OF_LOWER_LINKS: Mapping[tuple[str, ...], Mapping[str, Value]] = {
    ("ipvlan", "ipvtap"): {"mode": "l3", "private": None, "vepa": None},
    _MACVLAN: {"bclim": None},
}
