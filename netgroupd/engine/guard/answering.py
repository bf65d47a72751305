# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings by which a link of a way answers no ARP for its address any more: nobody finds it from then on."""

import re
from collections.abc import Iterable, Iterator, Sequence

from netgroupd.engine.guard.one_sided import coming_by
from netgroupd.engine.guard.tc import Asked
from netgroupd.engine.guard.way import Way, contains
from netgroupd.model.address import plain_address
from netgroupd.plan.step import Step

_PATH = "net/ipv4/conf/{}/arp_ignore"
_SETTING = re.compile(_PATH.format(".+"))
# Answered is only who asks for an address of the link, and is of its subnet, or asks for one that other hosts can use.
_OF_THE_LINK, _OF_ITS_SUBNET, _OF_USE_ELSEWHERE = 1, 2, 3
_NOTHING = 8


def unanswering(steps: Iterable[Step], ways: Sequence[Way], asked: Asked) -> Iterator[tuple[Step, Way]]:
    """The steps by which links of ``ways`` do not answer the ARP of who is next any more."""
    told = {str(step.object.key[0]): step for step in steps if step.object.cls == "sysctl"}
    if not any(map(_SETTING.fullmatch, told)):
        return
    for way in ways:
        for link in sorted({way.link, *coming_by(way)}) if way.link and way.family == "inet" else ():
            paths = frozenset(_PATH.format(where) for where in ("all", link))
            changed = [told[path] for path in sorted(paths) if path in told]
            before = asked.settings(paths) if changed else {}
            then = {**before, **{str(step.object.key[0]): _said(step) for step in changed}}
            shut = changed and _ignores(then.values(), link, way, asked) and _has_arp(link, asked)
            if shut and not _ignores(before.values(), link, way, asked):
                yield max(changed, key=lambda step: _number(_said(step))), way


def _said(step: Step) -> str:
    return str(step.attrs.get("value"))


def _has_arp(link: str, asked: Asked) -> bool:
    found = asked.whole(frozenset({link})).get((link,))
    return found is not None and bool(found.attrs.get("arp", True))


def _ignores(values: Iterable[str], link: str, way: Way, asked: Asked) -> bool:
    """Whether ARP for the address of a way is not answered; what a gateway asks for, only itself knows.

    The highest value counts, of a link and of all.
    """
    value = max(map(_number, values), default=0)
    if value not in (_OF_THE_LINK, _OF_ITS_SUBNET, _OF_USE_ELSEWHERE) or way.route.gateway or not way.session.peer:
        return value == _NOTHING
    if value == _OF_USE_ELSEWHERE:
        own = (
            address
            for name in way.holders
            for address in asked.addresses(name)
            if plain_address(address.key) == way.route.source
        )
        return bool(way.holders) and all(address.attrs.get("scope") == "host" for address in own)
    nets = [address.key[1] for address in asked.addresses(link)]
    near = any(contains(net, way.to) and contains(net, way.route.source) for net in nets)
    return bool(way.holders) and (link not in way.holders or (value == _OF_ITS_SUBNET and not near))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
