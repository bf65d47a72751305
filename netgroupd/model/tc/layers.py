# SPDX-License-Identifier: GPL-2.0-or-later
"""Which keys of flower the kernel reads under which protocol.

It leaves out any other without a word, and the rule then matches packets that were
not meant: ``ip_proto: tcp, dst_port: 80`` for all protocols is everything.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from netgroupd.model.tc.flower import KEYS
from netgroupd.model.value import Value

_VLANS = ("802.1q", "802.1ad")
_IP = ("ip", "ipv6")
_PPP = "ppp_ses"
_OF_PPP = ("pppoe_sid", "ppp_proto")
_INSIDE_PPP = frozenset({"ip", "ipv6", "mpls_uc", "mpls_mc"})
_TAGS = ("vlan", "cvlan")
_BEHIND = {
    **dict.fromkeys(("ip_proto", "ip_tos", "ip_ttl"), _IP),
    **{name: ("arp", "rarp") for name in KEYS if name.startswith("arp_")},
    **{name: ("mpls_uc", "mpls_mc") for name in KEYS if name.startswith("mpls_")},
    **dict.fromkeys(_OF_PPP, (_PPP,)),
    "cfm": ("cfm",),
}
_ICMP = {"icmp": ("ip",), "icmpv6": ("ipv6",)}
_ANY = {"0.0.0.0/0": "ip", "::/0": "ipv6"}
_OF_FRAMES = ("src_ip", "dst_ip")
_PAIRS = {"src_ip": "dst_ip", "dst_ip": "src_ip", "enc_src_ip": "enc_dst_ip", "enc_dst_ip": "enc_src_ip"}
ADDRESSES = frozenset(_PAIRS)
_FAMILIES = (("src_ip", "dst_ip"), ("enc_src_ip", "enc_dst_ip"))
_OPTIONS = tuple(name for name in KEYS if name.endswith("_opts"))
_FIRST_LABEL = frozenset({"mpls_label", "mpls_tc", "mpls_bos", "mpls_ttl"})
_SET_FLAG = re.compile(r"\+([a-z]+)")
DECIDING = frozenset({"ip_proto", "ppp_proto", "num_of_vlans", "vlan_ethtype", "cvlan_ethtype"})
# Those that only other keys lead to, such as ports, are read where these are.
NEEDY = frozenset(
    {
        *_BEHIND,
        *_PAIRS,
        *_OPTIONS,
        "ct_state",
        "icmp_type",
        "icmp_code",
        *(name for name in KEYS if name.partition("_")[0] in _TAGS),
    }
)


class _Layer(NamedTuple):
    """What says which protocol is next, and what it says."""

    key: str
    protocol: Value


def _layers(match: Mapping[str, Value], protocol: Value) -> list[_Layer]:
    """From the outside in, as far as tags: the last says what is behind them."""
    count = match.get("num_of_vlans", 0)
    assert isinstance(count, int)
    layers = [_Layer("protocol", protocol)]
    for depth, tag in enumerate(_TAGS):
        if layers[-1].protocol in _VLANS or count > depth:
            layers.append(_Layer(f"{tag}_ethtype", match.get(f"{tag}_ethtype")))
        else:
            break
    return layers


def _inside(layer: _Layer, match: Mapping[str, Value]) -> _Layer:
    """What a frame carries: that of PPP is said by another key."""
    inner = match.get("ppp_proto")
    if layer.protocol != _PPP or inner not in (None, *_INSIDE_PPP):
        return layer
    return _Layer("ppp_proto", inner)


def _wanted(name: str, match: Mapping[str, Value]) -> tuple[str, ...]:
    """The protocols that a key needs."""
    if name.partition("_")[0] in _TAGS:
        return _VLANS
    if name in ("icmp_type", "icmp_code"):
        return _ICMP[str(match["ip_proto"])]
    return _BEHIND.get(name, ())


def fitted(match: Mapping[str, Value], protocol: Value) -> Mapping[str, Value]:
    """What is matched as the kernel will tell it; raises ValueError("KEY: expected …; why") where it would be more."""
    layers = _layers(match, protocol)
    payload = _inside(layers[-1], match)
    for name in match:
        tag = name.partition("_")[0]
        where = layers[-1] if tag in _TAGS or name in _OF_PPP else payload
        wanted = _wanted(name, match)
        fits = len(layers) > 1 + _TAGS.index(tag) if tag in _TAGS else where.protocol in wanted
        if wanted and not fits:
            instead = f", not {where.protocol}" if where.protocol is not None else ""
            told = f"{name}: expected {where.key} {' or '.join(wanted)} beside it{instead}"
            raise ValueError(f"{told}; the kernel would leave it out and match more")
    for name in _OF_FRAMES:
        if name in match and payload.protocol in _IP and payload.protocol != _family(match[name]):
            told = f"{name}: expected {payload.key} {_family(match[name])} beside it, not {payload.protocol}"
            raise ValueError(f"{told}; no packet has both")
    _check_together(match)
    vain = [name for name in _PAIRS if match.get(name) in _ANY and _says_nothing(name, match, payload)]
    return {name: value for name, value in match.items() if name not in vain} if vain else match


def _check_together(match: Mapping[str, Value]) -> None:
    """Keys that the kernel takes one of, or refuses."""
    for source, destination in _FAMILIES:
        if source in match and destination in match and _family(match[source]) != _family(match[destination]):
            told = f"{destination}: expected an address of the family of {source}"
            raise ValueError(f"{told}; no packet has both, and the kernel would leave one out and match more")
    if len(beside := [name for name in _OPTIONS if name in match]) > 1:
        raise ValueError(f"{beside[1]}: expected none beside {beside[0]}; no tunnel has both")
    if "mpls_lse" in match and (beside := [name for name in match if name in _FIRST_LABEL]):
        raise ValueError(f"{beside[0]}: expected none beside mpls_lse; say it there, as in depth 1 label 100")
    if "ct_state" in match:
        _check_ct_state(set(_SET_FLAG.findall(str(match["ct_state"]))))


def _check_ct_state(flags: set[str]) -> None:
    """Flags that no packet has together."""
    if flags and "trk" not in flags:
        raise ValueError("ct_state: expected +trk beside others that are set; what is not tracked has none")
    if "inv" in flags and flags - {"inv", "trk"}:
        raise ValueError("ct_state: expected +trk alone beside +inv")
    if "new" in flags and (beside := sorted(flags & {"est", "rpl"})):
        raise ValueError(f"ct_state: expected no +{beside[0]} beside +new; no packet is both")


def _family(address: Value) -> str:
    return "ipv6" if ":" in str(address) else "ip"


def _says_nothing(name: str, match: Mapping[str, Value], payload: _Layer) -> bool:
    """Whether any address is what the rest says already; the kernel would take it for its family, and not tell it."""
    any_, other = str(match[name]), match.get(_PAIRS[name])
    alike = other is not None and other not in _ANY and _family(other) == _family(any_)
    if alike or (name in _OF_FRAMES and payload.protocol == _ANY[any_]):
        return True
    wanted = f"{payload.key} {_ANY[any_]} beside it" if name in _OF_FRAMES else "fewer than all addresses"
    raise ValueError(f"{name}: expected {wanted}; the kernel does not tell {any_}")
