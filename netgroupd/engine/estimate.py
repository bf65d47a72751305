# SPDX-License-Identifier: GPL-2.0-or-later
"""The desired state -> what it will cost in kernel memory and time, and what would cost less.

Memory of devices is measured on the running kernel where that is allowed, and was
measured on Linux 6.12 on x86-64 otherwise; that of entries is the size of what the
kernel keeps of each.  Times were measured in an emulated
machine: hardware is several times as fast.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from netgroupd.engine.report import Cost, Estimate
from netgroupd.model.state import State
from netgroupd.plan.compare import kind_of

MEASURED = "a dummy that is up, measured on Linux 6.12; what the kind adds is not counted"
SIZED = "the size of the kernel's structures"
_MIB = 1 << 20

# Slab bytes: 41.2 KB for every device and 3.2 KB for being up.
_DEVICE = 41_200 + 3_200
_LIGHT = 7_800
_BARE = 2_600  # neither sysfs nor IP
_ENTRY = {
    "address": 400,
    "route": 400,
    "neighbour": 500,
    "fdb": 128,
    "bridge_vlan": 150,
    "vni": 200,
    "nexthop": 350,
    "rule": 256,
}

# Seconds per device (making it 0.4 ms, bringing it up 0.2 ms) and per entry, in batches.
_SECONDS = {"link": 0.0006, "address": 0.00006, "route": 0.00003, "neighbour": 0.00003, "fdb": 0.00002}
_OTHER_SECONDS = 0.00002

_MANY = 1000
_PORTS = 1023


def estimated(desired: State, weights: Mapping[str, int] = MappingProxyType({}), kernel: str = "") -> Estimate:
    """Add up what the objects of ``desired`` cost.

    ``weights`` are bytes per link, by kind, as they were measured on ``kernel``, which runs.
    """
    costs = (*_links(desired, weights, kernel), *_entries(desired))
    objects = {cls: len(found) for cls, found in desired.classes.items() if found}
    seconds = sum(count * _SECONDS.get(cls, _OTHER_SECONDS) for cls, count in objects.items())
    return Estimate(costs, objects, sum(cost.bytes for cost in costs), round(seconds, 3), tuple(_advice(desired)))


def _links(desired: State, weights: Mapping[str, int], kernel: str) -> Iterator[Cost]:
    counts: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    for link in desired.of("link").values():
        kind = kind_of(link)
        if not kind:
            continue  # hardware is there already
        light = _BARE if link.attrs.get("l2only") else _LIGHT
        plain = weights.get(kind, weights.get("dummy", _DEVICE))
        whole = light if link.attrs.get("lightweight") else plain
        counts[kind] += 1
        memory[kind] += whole
    for kind, count in counts.most_common():
        measured = f"measured on this kernel, {kernel}" if kind in weights else MEASURED
        if kind not in weights and "dummy" in weights:
            measured = f"a dummy, measured on this kernel, {kernel}; what the kind adds is not counted"
        yield Cost(kind, count, memory[kind], measured)


def _entries(desired: State) -> Iterator[Cost]:
    for cls, size in _ENTRY.items():
        if count := len(desired.of(cls)):
            yield Cost(cls, count, count * size, SIZED)


def _advice(desired: State) -> Iterator[str]:
    kinds = Counter(map(kind_of, desired.of("link").values()))
    yield from _about_bridges(desired, kinds)
    if kinds["vxlan"] + kinds["geneve"] >= 16:
        yield (
            f"{kinds['vxlan'] + kinds['geneve']} tunnel devices: one with `external: true` and an `encap` on each "
            "route (metadata mode) does the same without a device for each"
        )
    heavy = sum(count for kind, count in kinds.items() if kind) - sum(
        1 for link in desired.of("link").values() if link.attrs.get("lightweight") or link.attrs.get("l2only")
    )
    if heavy >= _MANY:
        saved = heavy * (_DEVICE - _LIGHT) // _MIB
        yield f"{heavy} full devices: `lightweight: true` would save about {saved} MiB on a kernel that has it"
    if (count := len(desired.of("address"))) >= 10 * _MANY:
        yield (
            f"{count} addresses: where whole prefixes are meant, one route `type: local` on lo answers for all of a "
            "prefix without an address for each"
        )


def _about_bridges(desired: State, kinds: Counter[str]) -> Iterator[str]:
    vlan_ports = Counter(
        str(link.attrs["master"])
        for link in desired.of("link").values()
        if kind_of(link) == "vlan" and link.attrs.get("master")
    )
    bridges = [name for name in vlan_ports if kind_of(desired.link(name)) == "bridge"]
    if len(bridges) >= 64:
        count = sum(vlan_ports[name] for name in bridges)
        saved = (count + len(bridges)) * _DEVICE // _MIB
        yield (
            f"{len(bridges)} bridges with {count} VLAN devices as ports: one bridge with `vlan_filtering: true` and "
            f"`vlans` on its ports does the same with about {saved} MiB less"
        )
    masters = Counter(str(link.attrs.get("master")) for link in desired.of("link").values())
    for name, count in masters.items():
        if count > _PORTS and kind_of(desired.link(name)) == "bridge":
            yield f"{name} would have {count} ports, and a bridge takes {_PORTS}: split it, or use VLANs on fewer ports"
