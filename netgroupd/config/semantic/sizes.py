# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of links that are right one by one, and which the kernel refuses beside others, or makes others of."""

from netgroupd.config.checked import Checked
from netgroupd.model.kinds import RING_PORTS
from netgroupd.model.kinds.tunnel import ALL_OF_6RD, NO_6RD, wrong_6rd
from netgroupd.model.state import Attrs

_SESSIONS = 1023  # of ERSPAN
_KEYS = ("ikey", "okey")
_VERSIONS = {"erspan_index": 1, "erspan_dir": 2, "erspan_hwid": 2}
_LEAST_DELAY = 200
_MOST = 65535
_USUAL = 1500
_MTUS = {
    **dict.fromkeys(
        ("bareudp", "bond", "bridge", "geneve", "netkit", "team", "tun", "veth", "vxlan", "xfrm"), (68, _MOST)
    ),
    "hsr": (0, _USUAL),
    "sit": (1280, _MOST),
    "vrf": (1280, _MOST + 40),
    **dict.fromkeys(("macvlan", "macvtap", "vlan"), (0, _MOST)),
}
_ETHERNET = frozenset({"bond", "dummy", "ifb", "veth"})
_LIKE_BELOW = ("vlan", "macvlan", "macvtap")
_DEEPEST = 8
_GIVING = ("bond", "team")
_HSR = 6
_SECTAG = 16
_TUNNELLED = 50  # Ethernet, IPv4, UDP and VXLAN


def networks_of_6rd(checked: Checked) -> None:
    """What 6rd makes of an address of IPv4 is a network of at most 64 bits, of prefixes with nothing behind them."""
    links = checked.links
    for name, attrs in checked.of_kinds(["sit"]):
        if ALL_OF_6RD.isdisjoint(attrs):
            continue  # or what is not said would be 0
        said = attrs if name in links.known else {**NO_6RD, **attrs}
        for field, told, hint in wrong_6rd(name, said):
            checked.refuse_link(name, field, told, hint)


def mirrors(checked: Checked) -> None:
    """The key of ERSPAN is a session, and each version has fields of its own; version 0 is of IPv4 alone."""
    links = checked.links
    for name, attrs in checked.of_kinds(["erspan", "ip6erspan"]):
        version = attrs.get("erspan_ver", None if name in links.known else 1)
        if version == 0 and attrs["kind"] == "ip6erspan":
            checked.refuse_link(name, "erspan_ver", f"{name!r} cannot have version 0 of ERSPAN over IPv6")
        if version and not attrs.get("external") and all(attrs.get(field) is None for field in _KEYS):
            links.report.once(links.places[name], f"{name!r} needs 'ikey' and 'okey': the session of ERSPAN")
        for field in _KEYS:
            key = attrs.get(field)
            if version and isinstance(key, int) and key > _SESSIONS:
                told = f"{field} {key} of {name!r} is no session of ERSPAN"
                checked.refuse_link(name, field, told, f"at most {_SESSIONS}")
        for field, of in _VERSIONS.items():
            if attrs.get(field) is not None and version not in (None, of):
                told = f"{name!r} cannot have {field!r}: it is of version {version}"
                checked.refuse_link(name, field, told, f"that is of 'erspan_ver: {of}'")


def spanning_trees(checked: Checked) -> None:
    """A bridge that speaks the spanning tree protocol waits for two seconds at least, whatever it was told before."""
    for name, attrs in checked.of_kinds(["bridge"]):
        delay = attrs.get("forward_delay")
        if attrs.get("stp_state") and isinstance(delay, int) and delay < _LEAST_DELAY:
            told = f"{name!r} speaks the spanning tree protocol (stp), and cannot have a forward_delay of {delay}"
            checked.refuse_link(name, "forward_delay", told, f"at least {_LEAST_DELAY}, or stp off")


def mtus(checked: Checked) -> None:
    """No link has a larger or smaller MTU than its kind can have."""
    for name, attrs in checked.saying("mtu", _MTUS):
        mtu, (least, most) = attrs["mtu"], _MTUS[str(attrs["kind"])]
        if isinstance(mtu, int) and not least <= mtu <= most:
            told = f"{name!r} cannot have an mtu of {mtu}: it is a {attrs['kind']}"
            checked.refuse_link(name, "mtu", told, f"{least} to {most}")


def mtus_above(checked: Checked) -> None:
    """No link carries more than the one below it."""
    for name, attrs in checked.saying("mtu", (*_LIKE_BELOW, "macsec", "vxlan")):
        mtu, most = attrs["mtu"], _most(name, attrs, checked)
        if most is not None and isinstance(mtu, int) and mtu > most:
            lower = str(attrs[_below(attrs)])
            told = f"mtu {mtu} of {name!r} is over that of {lower!r}"
            told += f", which is {_passes(lower, checked)}" if "mtu" not in checked.links.attrs[lower] else ""
            checked.refuse_link(name, "mtu", told, f"at most {most} can pass below, or raise that")


def mtus_of_ports(checked: Checked) -> None:
    """A bond or team gives its own MTU to a port, or does not take that."""
    links = checked.links
    for name, attrs in checked.of_kinds(_GIVING):
        mtu = attrs.get("mtu", None if name in links.known else _USUAL)
        for port in checked.by_master.get(name, ()) if mtu else ():
            most = _most(port, links.attrs[port], checked)
            if most is not None and isinstance(mtu, int) and mtu > most:
                told = f"{port!r} cannot be a port of {name!r}, which has an mtu of {mtu}"
                checked.refuse_link(port, "master", told, f"mtu: {most} of {name!r} would pass")


def _most(name: str, attrs: Attrs, checked: Checked) -> int | None:
    """The largest MTU that a link can have for what is below it; None where that cannot be told."""
    if attrs.get("kind") == "hsr":
        found = [_passes(str(attrs.get(ring)), checked) for ring in RING_PORTS if attrs.get(ring)]
        return min(_USUAL, *(below - _HSR for below in found if below is not None))
    if attrs.get("kind") not in (*_LIKE_BELOW, "macsec", "vxlan"):
        return None
    below = _passes(str(attrs.get(_below(attrs)) or ""), checked)
    return None if below is None else below - _header(name, attrs, checked)


def _below(attrs: Attrs) -> str:
    return "dev" if attrs["kind"] == "vxlan" else "link"


def _passes(name: str, checked: Checked) -> int | None:
    """The MTU of a link: as said or, where it is made, as it comes to be; None where it cannot be told."""
    for _ in range(_DEEPEST):
        attrs = checked.links.attrs.get(name, {})  # complete by now: the groups' attributes are in it
        if isinstance(mtu := attrs.get("mtu"), int):
            return mtu
        if name in checked.links.known or name in checked.links.unsound:
            return None
        if attrs.get("kind") not in _LIKE_BELOW:
            return _USUAL if attrs.get("kind") in _ETHERNET else None
        name = str(attrs.get("link"))
    return None


def _header(name: str, attrs: Attrs, checked: Checked) -> int:
    """What a link adds to its packets at least."""
    if attrs["kind"] == "macsec":
        icv = attrs.get("icvlen", 8 if name in checked.links.known else 16)
        return _SECTAG + icv if isinstance(icv, int) else 0
    return _TUNNELLED if attrs["kind"] == "vxlan" and not attrs.get("gpe") else 0
