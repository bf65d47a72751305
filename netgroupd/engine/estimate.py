# SPDX-License-Identifier: GPL-2.0-or-later
"""The desired state -> what it will cost in kernel memory and time, and what would cost less.

Memory and time of devices are measured on the running kernel where that is allowed,
and were measured on Linux 6.12 on x86-64 otherwise.  Memory of entries is the size of
what the kernel keeps of each, of traffic control what was measured of thousands of each
kind, and their time in proportion to that of devices.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from netgroupd.engine.report import Cost, Estimate
from netgroupd.kernel.usual import Sample
from netgroupd.model.state import Object, State
from netgroupd.plan.compare import kind_of
from netgroupd.plan.tc.atomic import placed

MEASURED = "a dummy that is up, measured on Linux 6.12; what the kind adds is not counted"
SIZED = "the size of the kernel's structures"
EMULATED = "the rate of Linux 6.12 in an emulated machine; hardware is several times as fast"
_MIB = 1 << 20

# Slab bytes: 41.2 KB for every device and 3.2 KB for being up.
_DEVICE = 41_200 + 3_200
_LIGHT = 9_500
_BARE = 4_000  # neither sysfs nor IP
_ENTRY = {
    "address": 400,
    "route": 400,
    "neighbour": 500,
    "fdb": 128,
    "mdb": 450,
    "bridge_vlan": 150,
    "vni": 200,
    "nexthop": 350,
    "rule": 256,
}
_TC = {
    "qdisc": (500, "each kind measured on Linux 6.12, those that are not as a pfifo"),
    "tclass": (3_600, "a class of htb with the queue that comes with it, measured on Linux 6.12"),
    "action": (400, "a gact, or a police, measured on Linux 6.12"),
    "chain": (5_000, "one with a flower rule, without the rule, measured on Linux 6.12"),
    "filter": (2_000, "a flower rule with an action, measured on Linux 6.12: 1,700 of 10,000, 2,064 of a million"),
}
_QUEUES = {
    "cake": 1_130_000,
    "clsact": 9_000,
    "ingress": 9_000,
    "fq": 9_100,
    "fq_codel": 72_800,
    "htb": 6_400,
    "prio": 3_800,
    "sfq": 14_200,
    "tbf": 1_500,
}
_POLICE = 700

_DEVICE_SECONDS = 0.0006  # making it 0.4 ms, bringing it up 0.2 ms
# Of what a device takes, in batches.
_SHARES = {
    "address": 0.1,
    "route": 0.05,
    "neighbour": 0.05,
    "qdisc": 0.25,
    "tclass": 0.6,
    "action": 0.1,
    "chain": 1.0,
    "filter": 0.2,
}
_OTHER_SHARE = 0.033

_MANY = 1000


def estimated(
    desired: State, actual: State, samples: Mapping[str, Sample] = MappingProxyType({}), kernel: str = ""
) -> Estimate:
    """Add up what the objects of ``desired`` cost, and those of them that are not in ``actual``.

    ``samples`` were measured on ``kernel``, which runs, by kind of link.
    """
    costs = (*_links(desired, samples, kernel), *_entries(desired))
    objects = {cls: len(found) for cls, found in desired.classes.items() if found}
    rate = f"the rate of samples on this kernel, {kernel}" if samples else EMULATED
    missing = _missing(desired, actual)
    adding = (*_links(missing, samples, kernel), *_entries(missing))
    return Estimate(
        costs,
        objects,
        sum(cost.bytes for cost in costs),
        round(_seconds(desired, samples), 3),
        rate,
        tuple(_advice(desired)),
        sum(cost.bytes for cost in adding),
        round(_seconds(missing, samples), 3),
    )


def _missing(desired: State, actual: State) -> State:
    """The objects of ``desired`` that are not there, whatever those that are will have to be told."""
    wanted = placed(desired, actual).classes.items()
    there = actual.of
    return desired.having(
        **{cls: {key: obj for key, obj in found.items() if key not in there(cls)} for cls, found in wanted}
    )


def _seconds(desired: State, samples: Mapping[str, Sample]) -> float:
    device = samples["dummy"].seconds if "dummy" in samples else _DEVICE_SECONDS
    kinds = Counter(map(kind_of, desired.of("link").values()))
    links = sum(count * (samples[kind].seconds if kind in samples else device) for kind, count in kinds.items() if kind)
    others = {cls: len(found) for cls, found in desired.classes.items() if cls != "link"}
    return links + sum(count * _SHARES.get(cls, _OTHER_SHARE) * device for cls, count in others.items())


def _links(desired: State, samples: Mapping[str, Sample], kernel: str) -> Iterator[Cost]:
    counts: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    for link in desired.of("link").values():
        kind = kind_of(link)
        if not kind:
            continue  # hardware is there already
        light = _BARE if link.attrs.get("l2only") else _LIGHT
        like = samples.get(kind) or samples.get("dummy")
        whole = light if link.attrs.get("lightweight") else like.bytes if like else _DEVICE
        counts[kind] += 1
        memory[kind] += whole
    for kind, count in counts.most_common():
        measured = f"measured on this kernel, {kernel}" if kind in samples else MEASURED
        if kind not in samples and "dummy" in samples:
            measured = f"a dummy, measured on this kernel, {kernel}; what the kind adds is not counted"
        yield Cost(kind, count, memory[kind], measured)


def _entries(desired: State) -> Iterator[Cost]:
    for cls, size in _ENTRY.items():
        if count := len(desired.of(cls)):
            yield Cost(cls, count, count * size, SIZED)
    for cls, (size, source) in _TC.items():
        if found := desired.of(cls):
            yield Cost(cls, len(found), sum(_size(obj, size) for obj in found.values()), source)


def _size(obj: Object, usual: int) -> int:
    if obj.cls == "qdisc":
        return _QUEUES.get(kind_of(obj), usual)
    return _POLICE if obj.cls == "action" and obj.key[0] == "police" else usual


def _advice(desired: State) -> Iterator[str]:
    kinds = Counter(map(kind_of, desired.of("link").values()))
    yield from _about_bridges(desired)
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


def _about_bridges(desired: State) -> Iterator[str]:
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
