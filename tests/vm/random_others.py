# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody else does by hand beside netgroupd, at random: things that no file names, told by how they are called.

Afterwards all of it is there as it was, but for what went with links, and was told.
"""

import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from netgroupd.config.ranges import compile_text
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan
from tests.vm.hosts import here

LINKS = tuple(f"x{number}" for number in range(6))
_KINDS = (
    "dummy",
    "dummy",
    "bridge",
    "bridge vlan_filtering 1",
    "bond mode active-backup",
    "veth peer name x{other}",
    "vlan id 399{number} link {lower}",
    "macvlan mode bridge link {lower}",
    "ipvlan mode l2 link {lower}",
    "macsec link {lower}",
    "vxlan id 99{number} dstport 499{number} dev {lower}",
    "vrf table 99{number}",
)
_QDISCS = ("pfifo limit 9", "fq_codel limit 99", "prio", "htb default 7", "sfq", "pfifo_head_drop limit 9")
_PROTOCOLS = ("boot", "static", "dhcp", "bird")
_GIVEN_BACK = frozenset({"boot", "static", "dhcp", ""})
_L3 = frozenset({"address", "route", "neighbour", "nexthop"})
_ON_LINKS = frozenset({"qdisc", "filter", "fdb", "vlan"})
_IN_BRIDGES = frozenset({"vlan", "fdb"})
_CLASSES = {"vlan": "bridge_vlan", "fdb": "fdb", "qdisc": "qdisc", "filter": "filter"}
_STATES = frozenset({"is up", "is in"})
_WHOLE = frozenset({"link", "rule", *_L3, *_ON_LINKS})
_MASTERS = frozenset({"bridge", "bond", "vrf"})
_STACKED = frozenset({"vlan", "macvlan", "ipvlan", "macsec", "vxlan", "veth"})
_WITH_THE_LAST = r"what is not netgroupd's goes with the last IPv4 address of links: .*\bneighbours\b"

Theirs: TypeAlias = Mapping[tuple[str, ...], str]
"""What there is of theirs: by what it is, the link it is on and what it is called there, what it says."""


class _Host(NamedTuple):
    """What others find: the links that are here, and which of them have no traffic control of netgroupd's."""

    rng: random.Random
    links: list[str]
    masters: list[str]
    quiet: list[str]

    def link(self) -> str:
        """Any."""
        return self.rng.choice(self.links)

    def number(self, below: int = 6) -> int:
        """A number that others may have used already."""
        return self.rng.randrange(below)

    def own(self) -> str:
        """The name of a link of theirs, which may not be there."""
        return f"x{self.number()}"


def work(rng: random.Random, files: Mapping[str, Any], times: int) -> list[str]:
    """Do a few things beside ``files``; what was done, and not refused."""
    done = []
    for _ in range(times):
        host = _found(rng, files)
        command = rng.choice(_WORK)(host)
        program, *words = command.split()
        tried = subprocess.run([program, "-n", "here", *words], check=False, capture_output=True, text=True)
        done += [] if tried.returncode else [command]
    return done


def _found(rng: random.Random, files: Mapping[str, Any]) -> _Host:
    links = [link for link in _told("ip -d -j link") if link.get("ifname")]
    names = [link["ifname"] for link in links if link["ifname"] != "lo"]
    masters = [link["ifname"] for link in links if _kind(link) in _MASTERS]
    queues = files.get("tc", {})
    return _Host(rng, names or ["lo"], masters or ["lo"], [name for name in names if name not in queues] or ["lo"])


def _told(command: str) -> list[dict[str, Any]]:
    program, *words = command.split()
    told = subprocess.run([program, "-n", "here", *words], check=False, capture_output=True, text=True).stdout
    found: list[dict[str, Any]] = json.loads(told) if told.strip() else []
    return found


def _kind(link: Mapping[str, Any]) -> str:
    return str(link.get("linkinfo", {}).get("info_kind", ""))


def _add_link(host: _Host) -> str:
    kind = host.rng.choice(_KINDS).format(number=host.number(), other=host.number(), lower=host.link())
    kind, _, below = kind.partition(" link ")
    return f"ip link add {f'link {below} ' if below else ''}name {host.own()} up type {kind}"


def _set_link(host: _Host) -> str:
    what = host.rng.choice(("mtu 1400", "mtu 9000", "alias theirs", "txqueuelen 77", "up", "down", "promisc on"))
    return f"ip link set dev {host.own()} {what}"


def _rename(host: _Host) -> str:
    return f"ip link set dev {host.own()} name {host.own()}"


def _set_master(host: _Host) -> str:
    master = host.rng.choice(host.masters)
    return f"ip link set dev {host.own()} " + (f"master {master}" if host.rng.random() < 0.8 else "nomaster")


def _address(host: _Host) -> str:
    number = host.number()
    address = host.rng.choice((f"10.99.{number}.{1 + host.number(3)}/24", f"fd99:{number}::{1 + host.number(3)}/64"))
    return f"ip address {host.rng.choice(('add', 'add', 'del'))} {address} dev {host.link()} nodad"


def _route(host: _Host) -> str:
    number, verb = host.number(), host.rng.choice(("add", "add", "append", "del"))
    ways = (
        f"10.98.{number}.0/24 dev {host.link()}",
        f"10.98.{number}.0/24 via 10.99.{host.number()}.77",
        f"10.98.{number}.0/24 via 10.99.{host.number()}.77 metric 9",
        f"10.98.{number}.0/24 nhid 90{host.number(4)}",
        f"fd98:{number}::/48 via fd99:{host.number()}::77",
        f"fd98:{number}::/48 dev {host.link()}",
        f"10.98.{number}.0/24 nexthop via 10.99.{host.number()}.77 nexthop via 10.99.{host.number()}.78 weight 2",
    )
    table = f" table {host.rng.choice((254, 254, 99))}"
    return f"ip route {verb} {host.rng.choice(ways)}{table} proto {host.rng.choice(_PROTOCOLS)}"


def _nexthop(host: _Host) -> str:
    if host.rng.random() < 0.2:
        return f"ip nexthop del id 90{host.number(4)}"
    how = (
        f"90{host.number(3)} via 10.99.{host.number()}.78 dev {host.link()}",
        f"90{host.number(3)} dev {host.link()}",
        f"90{host.number(3)} via fd99:{host.number()}::78 dev {host.link()}",
        "903 group 900/901",
        "903 group 901,2/902",
    )
    return f"ip nexthop add id {host.rng.choice(how)} proto {host.rng.choice(_PROTOCOLS)}"


def _rule(host: _Host) -> str:
    verb, number = host.rng.choice(("add", "add", "del")), host.number()
    return f"ip rule {verb} pref 90{number} from 10.97.{number}.0/24 lookup 99"


def _neighbour(host: _Host) -> str:
    number = host.number()
    return f"ip neighbour add 10.99.{number}.66 lladdr 02:99:00:00:00:0{number} dev {host.link()}"


def _queue(host: _Host) -> str:
    name = host.rng.choice(host.quiet)
    if host.rng.random() < 0.2:
        return f"tc qdisc del dev {name} root"
    return f"tc qdisc add dev {name} root handle 99{host.number()}: {host.rng.choice(_QDISCS)}"


def _filter(host: _Host) -> str:
    name = host.rng.choice(host.quiet)
    if host.rng.random() < 0.4:
        return f"tc qdisc add dev {name} clsact"
    place = host.rng.choice(("ingress", "egress"))
    return f"tc filter add dev {name} {place} pref 990{host.number()} protocol ip flower dst_ip 10.97.0.1 action drop"


def _on_bridge(host: _Host) -> str:
    name, number = host.link(), host.number()
    return host.rng.choice(
        (
            f"bridge fdb add 02:99:00:00:00:0{number} dev {name} master static",
            f"bridge fdb append 02:99:00:00:01:0{number} dev {name} dst 10.96.0.{number}",
            f"bridge vlan add dev {name} vid 399{number}",
        )
    )


_WORK: tuple[Callable[[_Host], str], ...] = (
    *(_add_link,) * 4,
    lambda host: f"ip link del dev {host.own()}",
    *(_set_link,) * 2,
    _rename,
    *(_set_master,) * 3,
    lambda host: f"ip link property add dev {host.own()} altname of-x{host.number()}",
    *(_address,) * 4,
    *(_route,) * 4,
    *(_nexthop,) * 2,
    _rule,
    *(_neighbour,) * 2,
    *(_queue,) * 2,
    *(_filter,) * 2,
    *(_on_bridge,) * 2,
)


def has() -> Theirs:
    """All that is theirs."""
    return dict(_everything())


def _everything() -> Iterator[tuple[tuple[str, ...], str]]:
    yield from _of_links()
    yield from _of_layer_3()
    yield from _of_queues()
    entries = [entry for entry in _told("bridge -j fdb") if str(entry["mac"]).startswith("02:99:00:00:0")]
    on_vlans = {(str(entry["ifname"]).rpartition(".")[0], entry["mac"]) for entry in entries}
    in_bridges = {entry["mac"] for entry in entries if "master" in entry}
    for entry in entries:
        # That of a VLAN is one of the link below it, too, and those of a bridge may be ones of its other ports.
        of_bridge = entry["mac"] in in_bridges and "master" not in entry
        if (entry["ifname"], entry["mac"]) not in on_vlans and not of_bridge:
            yield ("fdb", entry["ifname"], entry["mac"], str(entry.get("master")), str(entry.get("dst"))), ""
    for port in _told("bridge -j vlan"):
        for vlan in port["vlans"]:
            if vlan["vlan"] >= 3990:
                yield ("vlan", port["ifname"], str(vlan["vlan"])), ""


def _of_links() -> Iterator[tuple[tuple[str, ...], str]]:
    for link in _told("ip -d -j link"):
        name = str(link.get("ifname", ""))
        yield ("is up", name), str("UP" in link["flags"])
        yield ("is in", name), str(link.get("master"))
        if name in LINKS:
            yield ("link", name), _kind(link)
            yield from (((what, name), value) for what, value in _of_link(link))


def _of_link(link: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is said of a link: of a port, and of one above another, the MTU and whether it is up follow from that."""
    alone = _kind(link) not in _STACKED and "master" not in link and _kind(link) not in _MASTERS
    names = ("group", "ifalias", "txqlen", "master", "link", "altnames", *(("mtu",) if alone else ()))
    for name in names:
        if name in link:
            yield name, str(link[name])
    if alone:
        yield "up", str("UP" in link["flags"])


def _of_layer_3() -> Iterator[tuple[tuple[str, ...], str]]:
    for link in _told("ip -j address"):
        for address in link.get("addr_info", ()):
            if str(address["local"]).startswith(("10.99.", "fd99:")):
                yield ("address", link["ifname"], f"{address['local']}/{address['prefixlen']}"), ""
    for neighbour in _told("ip -j neighbour"):
        if str(neighbour.get("lladdr", "")).startswith("02:99:00:00:0"):
            yield ("neighbour", neighbour["dev"], neighbour["dst"]), neighbour["lladdr"]
    yield from _of_ways()


def _of_ways() -> Iterator[tuple[tuple[str, ...], str]]:
    for family in ("-4", "-6"):
        for route in _told(f"ip {family} -j route show table all"):
            if str(route["dst"]).startswith(("10.98.", "fd98:")):
                devices = [str(way["dev"]) for way in (route, *route.get("nexthops", ())) if "dev" in way]
                how = [str(route.get(name, "")) for name in ("dst", "protocol", "table", "metric", "gateway", "nhid")]
                more = ["+".join(f"{way.get('gateway')},{way['weight']}" for way in route.get("nexthops", ()))]
                yield ("route", "+".join(devices), *how, *more), ""
    for nexthop in _told("ip -j nexthop"):
        if 900 <= nexthop["id"] < 910:
            how = [str(nexthop.get(name, "")) for name in ("id", "protocol", "gateway")]
            yield ("nexthop", str(nexthop.get("dev", "")), *how), str(nexthop.get("group", ""))
    for rule in _told("ip -j rule"):
        if 900 <= rule["priority"] < 910:
            yield ("rule", "", str(rule["priority"])), str(rule)


def _of_queues() -> Iterator[tuple[tuple[str, ...], str]]:
    queues = [line.split() for line in here("tc qdisc").splitlines()]  # of some kinds tc writes no right JSON
    hooked = {words[4] for words in queues if words[1] == "clsact"}
    for _, kind, handle, _, name, *_ in queues:
        if handle.startswith("99"):
            yield ("qdisc", name, handle), kind
    for name in sorted(hooked):
        for place in ("ingress", "egress"):
            told = here(f"tc filter show dev {name} {place}")
            for pref, handle in re.findall(r" pref (990\d) flower .*handle (0x\d+)", told):
                yield ("filter", name, place, pref), handle


def changes(before: Theirs, after: Theirs, plan: Plan, *, refused: bool) -> str:
    """What is not as it was, and neither went with a link nor is told of as a step."""
    reasons = _Reasons(before, after, plan, refused)
    lost = [key for key in before if after.get(key) != before[key] and key[0] not in _STATES]
    excused = {key for key in lost if reasons.excuse(key)}
    told = [f"- {key} {before[key]} -> {after.get(key)}" for key in lost if key not in excused]
    # A route that has lost one of its ways is another one.
    less = {key[2] for key in excused if key[0] == "route"}
    came = [key for key in after.keys() - before if key[0] in _WHOLE and not (key[0] == "route" and key[2] in less)]
    came = [key for key in came if not reasons.gives_back(key)]
    return "\n".join((*told, *(f"+ {key} {after[key]}" for key in came)))


def _named(plan: Plan, pattern: str) -> Iterator[str]:
    """The links of which a plan says this."""
    for warning in plan.warnings:
        if found := re.match(pattern, warning):
            yield from (str(name) for name, _ in compile_text(found[1]).instances())


class _Reasons:
    """What a plan says of the things of others."""

    def __init__(self, before: Theirs, after: Theirs, plan: Plan, refused: bool) -> None:
        self._before = before
        self._after = after
        self._refused = refused
        self._released = {*_named(plan, r"(\S+), which no file .*, loses? (?:its|their) master")}
        self._gone = {*plan.gone, *_named(plan, r"(\S+), which (?:is|are) not netgroupd's, go(?:es)? with")}
        self._cut_off = {*_named(plan, r"(\S+), which no file mentions, stays? without a carrier")}
        bare = any(re.match(_WITH_THE_LAST, warning) for warning in plan.warnings)
        self._bare = plan.emptied if bare else frozenset()
        self._shaken = plan.cycled | plan.emptied | self._released
        steps = [*singles(plan.steps)]
        self._deleted = {(step.object.cls, step.object.name) for step in steps if step.op is Op.DELETE}
        self._created = {(step.object.cls, step.object.name) for step in steps if step.op is Op.CREATE}
        self._lost_nexthops = any(key[0] == "nexthop" and after.get(key) != value for key, value in before.items())

    def excuse(self, key: tuple[str, ...]) -> bool:
        """Whether there is a reason for that to have gone."""
        cls, *on = key[0], *key[1].split("+")
        if cls in _L3:
            return self._excuse_l3(key, on)
        if self._refused:
            return cls in _ON_LINKS and not self._gone.isdisjoint(on)
        if cls == "master" and on[0] not in self._gone:
            return self._before[key] in self._gone and on[0] in self._released
        if (cls == "link" and on[0] in self._cut_off) or (cls in _IN_BRIDGES and self._is_elsewhere(on[0])):
            return True
        return not self._gone.isdisjoint(on) or (_CLASSES.get(cls, ""), on[0]) in self._deleted

    def gives_back(self, key: tuple[str, ...]) -> bool:
        """Whether a step makes that again, which files had taken away."""
        return key[0] in _ON_LINKS and (_CLASSES[key[0]], key[1]) in self._created

    def _is_elsewhere(self, name: str) -> bool:
        return self._after.get(("is in", name)) != self._before.get(("is in", name))

    def _excuse_l3(self, key: tuple[str, ...], on: list[str]) -> bool:
        watched = key[0] in ("route", "nexthop") and key[3] not in _GIVEN_BACK
        if key[0] == "neighbour" and on[0] in self._bare:
            return True
        by_nexthop = self._lost_nexthops and (key[0] == "nexthop" or key[-2] not in ("", "None"))
        if self._refused:
            return watched and (by_nexthop or not (self._gone | self._shaken).isdisjoint(on))
        down = {name for name in on if self._after.get(("is up", name)) != self._before.get(("is up", name))}
        moved = {*filter(self._is_elsewhere, on)}
        shaken = self._shaken.intersection(on)
        return not self._gone.isdisjoint(on) or by_nexthop or (bool(shaken) and (watched or bool(down or moved)))
