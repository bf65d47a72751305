# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody else does by hand, at random, to things that the files speak of, which come back when asked for."""

import json
import random
import subprocess
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Raw: TypeAlias = Mapping[str, Any]


def do(rng: random.Random, times: int) -> list[str]:
    """Do a few of these things; what was done, and not refused."""
    done = []
    for _ in range(times):
        command = rng.choice(_DAMAGE)(rng)
        if command and not _run(command).returncode:
            done.append(command)
    return done


def _run(command: str) -> subprocess.CompletedProcess[str]:
    program, *words = command.split()
    return subprocess.run([program, "-n", "here", *words], check=False, capture_output=True, text=True)


def _told(command: str) -> list[dict[str, Any]]:
    told = _run(command).stdout
    found: list[dict[str, Any]] = json.loads(told) if told.strip() else []
    return [each for each in found if each]


def _link(rng: random.Random) -> str:
    names = [str(link["ifname"]) for link in _told("ip -j link")]
    return rng.choice([name for name in names if name != "lo"] or ["lo"])


def _set_link(rng: random.Random) -> str:
    values = ("up", "down", "down", "mtu 1300", "mtu 1500", "nomaster", "alias damaged", "txqueuelen 3", "arp off")
    return f"ip link set dev {_link(rng)} {rng.choice(values)}"


def _set_master(rng: random.Random) -> str:
    return f"ip link set dev {_link(rng)} master {_link(rng)}"


def _delete_link(rng: random.Random) -> str:
    return f"ip link del dev {_link(rng)}"


def _address(rng: random.Random) -> str:
    link = rng.choice([link for link in _told("ip -j address") if link.get("addr_info")] or [{}])
    found = [address for address in link.get("addr_info", ()) if address["scope"] != "host"]
    if not found:
        return ""
    address = rng.choice(found)
    at = f"{address['local']}/{address['prefixlen']} dev {link['ifname']}"
    # One that a link has by itself comes back for good with a link that is made anew.
    ends = address["scope"] != "link" and rng.random() < 0.5
    return f"ip address change {at} preferred_lft 100 valid_lft 200" if ends else f"ip address del {at}"


def _flush(rng: random.Random) -> str:
    return f"ip address flush dev {_link(rng)}"


def _route(rng: random.Random) -> str:
    family = rng.choice(("-4", "-6"))
    found = [
        one for one in _told(f"ip {family} -j route show table all") if one.get("protocol") not in ("kernel", "ra")
    ]
    if not found:
        return ""
    one = rng.choice(found)
    kind = "" if one.get("type", "unicast") == "unicast" else f"{one['type']} "
    at = f"{kind}{one['dst']} table {one.get('table', 'main')}"
    return f"ip {family} route del {at}" + (f" metric {one['metric']}" if "metric" in one else "")


def _rule(rng: random.Random) -> str:
    family = rng.choice(("-4", "-6"))
    found = [one["priority"] for one in _told(f"ip {family} -j rule") if 0 < one["priority"] < 32000]
    return f"ip {family} rule del pref {rng.choice(found)}" if found else ""


def _nexthop(rng: random.Random) -> str:
    found = [one["id"] for one in _told("ip -j nexthop")]
    return f"ip nexthop del id {rng.choice(found)}" if found else ""


def _neighbour(rng: random.Random) -> str:
    found = [one for one in _told("ip -j neighbour show nud permanent") if "dev" in one]
    one = rng.choice(found or [{}])
    return f"ip neighbour del {one['dst']} dev {one['dev']}" if one else ""


def _entry(rng: random.Random) -> str:
    one = rng.choice([one for one in _told("bridge -j fdb") if one.get("state") in ("static", "permanent")] or [{}])
    if not one:
        return ""
    where = "master" if "master" in one else "self"
    vlan = f" vlan {one['vlan']}" if "vlan" in one else ""
    return f"bridge fdb del {one['mac']} dev {one['ifname']} {where}{vlan}"


def _vlan(rng: random.Random) -> str:
    port = rng.choice(_told("bridge -j vlan") or [{}])
    if not port.get("vlans"):
        return ""
    verb, number = rng.choice(("del", "del", "add")), rng.choice(port["vlans"])["vlan"]
    return f"bridge vlan {verb} dev {port['ifname']} vid {number if verb == 'del' else number + 1 + rng.randrange(3)}"


def _queue(rng: random.Random) -> str:
    what = rng.choice(("qdisc del dev {} root", "qdisc del dev {} clsact", "filter del dev {} ingress"))
    return f"tc {what.format(_link(rng))}"


_DAMAGE: tuple[Callable[[random.Random], str], ...] = (
    *(_set_link,) * 6,
    *(_set_master,) * 2,
    *(_delete_link,) * 2,
    *(_address,) * 3,
    _flush,
    *(_route,) * 3,
    *(_rule,) * 2,
    *(_nexthop,) * 2,
    _neighbour,
    *(_entry,) * 2,
    *(_vlan,) * 3,
    *(_queue,) * 2,
)
