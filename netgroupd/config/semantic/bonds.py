# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bond cannot have in its mode, or beside what else it has: the kernel refuses all of it then."""

from collections.abc import Iterator
from itertools import chain

from netgroupd.config.checked import Checked
from netgroupd.config.semantic.links import WITHOUT_ETHERNET
from netgroupd.model.kinds.bond import LOOK_BY_THEMSELVES, MODES_OF, PORT_MODES_OF, WITH_CARRIERS
from netgroupd.model.state import Attrs
from netgroupd.model.value import NO_MAC, ip_bytes, is_multicast

_BY_DEFAULT = "balance-rr"
_MOST_TARGETS = 16
_ALONE = "active-backup"
_FIXED = WITHOUT_ETHERNET | {"hsr", "ifb"}
_QUEUES = 16  # of a bond that is told no number
_NOBODY = frozenset({"0.0.0.0", "255.255.255.255", "::"})


def options(checked: Checked) -> None:
    """No bond has an option that the kernel does not take of it."""
    for name, attrs in checked.of_kinds(["bond"]):
        if mode := _mode(checked, name):
            for row, why, hint in chain(_not_for(mode, attrs), _at_odds(mode, attrs), _no_targets(attrs)):
                checked.refuse_link(name, row, f"the bond {name!r} cannot have {row!r}: {why}", hint)


def _mode(checked: Checked, name: str) -> str:
    """The mode of a bond; nothing where it cannot be told."""
    links = checked.links
    if mode := links.attrs[name].get("mode"):
        return str(mode)
    unread = any(block.written("mode") for block in links.blocks_of(name))
    # What somebody else has made may be of any mode.
    return "" if unread or name in links.known else _BY_DEFAULT


def _not_for(mode: str, attrs: Attrs) -> Iterator[tuple[str, str, str]]:
    for row, modes in MODES_OF.items():
        if attrs.get(row) is not None and mode not in modes:
            yield row, f"its mode is {mode}", f"the kernel takes it for {', '.join(modes)}"


def _no_targets(attrs: Attrs) -> Iterator[tuple[str, str, str]]:
    for row in ("arp_ip_target", "ns_ip6_target"):
        targets = attrs.get(row) or ()
        assert isinstance(targets, tuple)
        if len(targets) > _MOST_TARGETS:
            yield row, f"there are {len(targets)}", f"at most {_MOST_TARGETS}"
        for target in map(str, targets):
            if target in _NOBODY or is_multicast(ip_bytes(target)):
                yield row, f"nobody answers for {target}", ""
    system = str(attrs.get("ad_actor_system") or NO_MAC)
    if int(system[:2], 16) & 1:
        yield "ad_actor_system", f"{system} is a multicast address", "the first byte must be even, as 02"


def preferred(checked: Checked) -> None:
    """What a bond prefers is one of its ports: of others the kernel keeps the name alone, and tells nothing."""
    links = checked.links
    for row in ("primary", "active_slave"):
        for name, attrs in checked.saying(row):
            port = attrs[row]
            if port and links.kind(str(port)) and checked.attrs(str(port)).get("master") != name:
                told = f"{port!r} cannot be the {row!r} of {name!r}: that is no port of it"
                checked.refuse_link(name, row, told, f"name it in `ports` of {name!r}")


def ports(checked: Checked) -> None:
    """No port of a bond has an option that the kernel does not take in the bond's mode."""
    links = checked.links
    for name, _ in checked.of_kinds(["bond"]):
        mode = _mode(checked, name)
        for port in checked.by_master.get(name, ()) if mode else ():
            for row, modes in PORT_MODES_OF.items():
                if links.attrs[port].get(row) and mode not in modes:
                    option = row.removeprefix("port.")
                    what = f"{port!r} cannot have {option!r}: the mode of the bond {name!r} is {mode}"
                    checked.refuse_link(port, "port", what, f"the kernel takes it for {', '.join(modes)}")


def macs(checked: Checked) -> None:
    """A bond tells its ports its MAC, but for one mode, and has ports of one sort."""
    links = checked.links
    for name, attrs in checked.of_kinds(["bond"]):
        ports = checked.by_master.get(name, ())
        kinds = {port: links.kind(port) for port in ports}
        fixed = [port for port in ports if kinds[port] in _FIXED]
        mode = _mode(checked, name) if fixed else ""
        for port in fixed if mode else ():
            first = next((other for other in ports if kinds[other] != kinds[port]), "")
            told, hint = f"{port!r} cannot be a port of the bond {name!r}: it is a {kinds[port]}", ""
            if first and kinds[port] in WITHOUT_ETHERNET:
                told += f", and {first!r} is not"
            elif mode != _ALONE or attrs.get("fail_over_mac", "none" if first else "active") != "active":
                told += ", whose MAC nobody changes"
                hint = f"a bond of 'mode: {_ALONE}' and 'fail_over_mac: active' lets it be"
            else:
                continue
            checked.refuse_link(port, "master", told, hint)


def queues(checked: Checked) -> None:
    """What leads to a port of a bond is one of the bond's own queues, and leads to no other."""
    links = checked.links
    for name, attrs in checked.of_kinds(["bond"]):
        count = attrs.get("numtxqueues", None if name in links.known else _QUEUES)
        leads: dict[int, str] = {}
        for port in checked.by_master.get(name, ()):
            queue = links.attrs[port].get("port.queue_id")
            if not isinstance(queue, int) or not queue:
                continue
            told, hint = f"{port!r} cannot have the queue_id {queue}: ", ""
            if (other := leads.setdefault(queue, port)) != port:
                checked.refuse_link(port, "port", f"{told}that leads to {other!r}", "each its own, or 0")
            elif isinstance(count, int) and queue > count:
                hint = f"at most {count}, or more numtxqueues of {name!r}"
                checked.refuse_link(port, "port", f"{told}the bond {name!r} has {count} queues", hint)


def _at_odds(mode: str, attrs: Attrs) -> Iterator[tuple[str, str, str]]:
    """What does not go with looking at carriers, and what does not go without."""
    if looks := attrs.get("miimon", 100 if mode in LOOK_BY_THEMSELVES else 0):
        assert isinstance(looks, int)
        for row in WITH_CARRIERS:
            delay = attrs.get(row)
            if isinstance(delay, int) and delay % looks:
                least = delay - delay % looks
                yield row, f"it looks at carriers every {looks} ms, and would wait {least}", "a multiple of miimon"
        for row in ("arp_interval", "arp_validate"):
            if mode in MODES_OF[row] and attrs.get(row) not in (None, 0, "none"):
                yield row, "it has 'miimon'", "it watches its ports by one of the two"
        return
    for row in WITH_CARRIERS:
        if attrs.get(row) is not None:
            yield row, "it does not look at carriers", "set miimon, the milliseconds between two looks"
