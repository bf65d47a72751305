# SPDX-License-Identifier: GPL-2.0-or-later
"""What the fields of one action say of each other: what it needs, what it takes none of, and what it is then."""

from collections.abc import Callable, Mapping

from netgroupd.model.tc.bpf import CURRENT, one_program
from netgroupd.model.tc.protocol import protocol_number
from netgroupd.model.tc.rates import settled
from netgroupd.model.value import Value

Fields = Mapping[str, Value]

_COMMON = frozenset({"control", "cookie", "no_percpu", "hw_stats", "do"})
# Without the burst every packet is over the rate, and without a rate the kernel does not take the rest.
_BESIDE = {
    "rate": "burst",
    "burst": "rate",
    **dict.fromkeys(("peakrate", "overhead", "mpu", "linklayer"), "rate"),
    "pkts_rate": "pkts_burst",
    "pkts_burst": "pkts_rate",
}
_NONE_IF_ZERO = frozenset({"rate", "peakrate", "pkts_rate", "mtu"})
_TAG = frozenset({"id", "protocol", "priority"})
_LABEL = frozenset({"label", "tc", "ttl", "bos"})
# What each step takes; the kernel forgets or refuses the rest.
_OF_STEP: Mapping[tuple[str, str], frozenset[str]] = {
    ("vlan", "pop"): frozenset(),
    ("vlan", "push"): _TAG,
    ("vlan", "modify"): _TAG,
    ("vlan", "pop_eth"): frozenset(),
    ("vlan", "push_eth"): frozenset({"dst_mac", "src_mac"}),
    ("tunnel_key", "unset"): frozenset(),
    ("mpls", "pop"): frozenset({"protocol"}),
    ("mpls", "modify"): _LABEL,
    ("mpls", "dec_ttl"): frozenset(),
}
_NEEDED_BY_STEP: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("vlan", "push"): ("id",),
    ("vlan", "modify"): ("id",),
    ("vlan", "push_eth"): ("dst_mac", "src_mac"),
    ("tunnel_key", "set"): ("src_ip", "dst_ip"),
    ("mpls", "push"): ("label",),
    ("mpls", "mac_push"): ("label",),
    ("mpls", "pop"): ("protocol",),
}
_VLANS, _MPLS = ("802.1q", "802.1ad"), ("mpls_uc", "mpls_mc")
_PROTOCOLS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("vlan", "push"): _VLANS,
    ("vlan", "modify"): _VLANS,
    ("mpls", "push"): _MPLS,
    ("mpls", "mac_push"): _MPLS,
}
_LEAST_PROTOCOL = 0x600  # below are lengths
_NOT_CLEARED = ("zone", "mark", "label", "nat_src", "nat_dst", "helper")
_EDITED = ("priority", "queue_mapping", "queue_mapping_max", "mark", "ptype", "inheritdsfield")
_OPTIONS = ("geneve_opts", "vxlan_opts", "erspan_opts")


def whole(kind: str, fields: Fields) -> Fields:
    """What an action of a kind is once it is there; raises ValueError where it can be none."""
    if kind == "police":
        return _whole_policer(fields)
    _check_step(kind, fields)
    if kind in _CHECKS:
        _CHECKS[kind](fields)
    return {**fields, CURRENT: True} if kind == "bpf" and "pinned" in fields else fields


def takes(kind: str, step: str, name: str) -> bool:
    """Whether an action that does this has a field."""
    taken = _OF_STEP.get((kind, step))
    return taken is None or name in taken


def _whole_policer(fields: Fields) -> Fields:
    fields = {name: value for name, value in fields.items() if value != 0 or name not in _NONE_IF_ZERO}
    for name, other in _BESIDE.items():
        if name in fields and other not in fields:
            raise ValueError(f"{name}: expected {other} beside it")
    if fields.keys() >= {"rate", "pkts_rate"}:
        raise ValueError("pkts_rate: expected none beside rate; a second police behind this one can have it")
    if str(fields.get("conform", "")).startswith("goto "):
        raise ValueError("conform: expected none that goes to a chain; control can")
    return settled(fields)


def _check_step(kind: str, fields: Fields) -> None:
    step = str(fields.get("do"))
    for name in sorted(fields.keys() - _COMMON - _OF_STEP.get((kind, step), fields.keys())):
        raise ValueError(f"{name}: {kind} to {step} takes none")
    for name in _NEEDED_BY_STEP.get((kind, step), ()):
        if name not in fields:
            raise ValueError(f"{name}: {kind} to {step} needs one")
    protocol = fields.get("protocol")
    allowed = _PROTOCOLS.get((kind, step), ())
    if allowed and protocol not in (None, *allowed):
        raise ValueError(f"protocol: expected {' or '.join(map(str, allowed))} for {kind} to {step}, not {protocol}")


def _check_skbedit(fields: Fields) -> None:
    if not any(fields.get(name, False) is not False for name in _EDITED):
        raise ValueError(f"nothing is to change; it can be {', '.join(_EDITED)}")
    lowest, highest = (fields.get(name) for name in ("queue_mapping", "queue_mapping_max"))
    if isinstance(highest, int) and (not isinstance(lowest, int) or highest < lowest):
        raise ValueError("queue_mapping_max: expected a queue_mapping beside it that is not above it")


def _check_ct(fields: Fields) -> None:
    if fields.get("clear") and (beside := [name for name in _NOT_CLEARED if name in fields]):
        raise ValueError(f"{beside[0]}: ct to clear takes none")
    if fields.keys() >= {"nat_src", "nat_dst"}:
        raise ValueError("expected either nat_src or nat_dst")


def _check_mirred(fields: Fields) -> None:
    if fields.keys() >= {"ingress", "egress"}:
        raise ValueError("expected either ingress or egress")
    if len(fields.keys() & {"dev", "block"}) != 1:
        raise ValueError("expected either dev or block")


def _check_tunnel_key(fields: Fields) -> None:
    source, destination = (fields.get(name) for name in ("src_ip", "dst_ip"))
    if (":" in str(source)) != (":" in str(destination)):
        raise ValueError("src_ip: expected an address of the family of dst_ip")
    if len(beside := [name for name in _OPTIONS if name in fields]) > 1:
        raise ValueError(f"{beside[1]}: expected none beside {beside[0]}; no tunnel has both")


def _check_mpls(fields: Fields) -> None:
    if fields.get("do") == "pop" and protocol_number(fields["protocol"]) < _LEAST_PROTOCOL:
        raise ValueError(f"protocol: expected what is below the label, such as ip, not {fields['protocol']}")


_CHECKS: Mapping[str, Callable[[Fields], object]] = {
    "skbedit": _check_skbedit,
    "ct": _check_ct,
    "mirred": _check_mirred,
    "tunnel_key": _check_tunnel_key,
    "mpls": _check_mpls,
    "bpf": one_program,
}
