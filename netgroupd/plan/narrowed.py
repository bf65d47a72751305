# SPDX-License-Identifier: GPL-2.0-or-later
"""Bridges that ports join which are smaller: they take the least MTU of their ports, and what is on them has no larger.

When such a port has left they grow again, and what is on them does not.  And tunnels that have another way.
"""

from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Mapping

from netgroupd.model.kinds import KINDS
from netgroupd.model.state import NOTHING, Attrs, Key, Object, integer
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import FOLLOWS_MTU, followers
from netgroupd.plan.made import Made
from netgroupd.plan.step import Op, Step

UNKNOWN = 0
"""The MTU of a port that is made without one, and has what is left beside the headers of a tunnel."""

_ETHERNET = frozenset({"dummy", "veth", "bond", "team", "ifb"})
_USUAL = 1500
_WITHIN_HOST = 65_000  # what no way out of it can pass
_WAY = frozenset({"dev", "fwmark"})
_HEADER = frozenset({"ikey", "okey", "icsum", "ocsum", "iseq", "oseq"})
_RESIZING = {
    "geneve": frozenset({"remote"}),
    **dict.fromkeys(("ipip", "sit", "vti"), _WAY),
    **dict.fromkeys(("gre", "gretap", "erspan"), _WAY | _HEADER),
    **{kind: frozenset(KINDS[kind].attrs) for kind in ("ip6gre", "ip6gretap", "ip6erspan", "ip6tnl", "vti6")},
}


def kept_mtu(link: Object, attrs: Attrs) -> Attrs:
    """The MTU that a tunnel is to be told with ``attrs``, or it gets that of the way there, less the header.

    One that is as large as can be has its way within this host, and can be no more with a larger header.
    """
    mtu = integer(link.attrs, "mtu")
    stays = not mtu or mtu >= _WITHIN_HOST or _RESIZING.get(kind_of(link), frozenset()).isdisjoint(attrs)
    return NOTHING if stays else {"mtu": mtu}


def narrowed(steps: Iterable[Step], links: Mapping[Key, Object]) -> dict[str, int]:
    """The bridges among ``links`` that become smaller by what joins them, each with its MTU then."""
    found: dict[str, int] = {}
    steps = [*steps]
    joining = [step for step in steps if (step.attrs.get("master"),) in links and step.object.cls == "link"]
    if not joining:
        return found
    changed = (step for step in steps if step.object.cls == "link" and (not step.before or "mtu" in step.attrs))
    made = {step.object.key: step.object for step in changed if step.op is not Op.DELETE}
    around = ChainMap(made, {**links}) if made else links
    for step in joining:
        bridge = links[step.attrs["master"],]
        has = step.before or step.object
        mtu = _of(step.object.attrs) or (_of(has.attrs) if step.before else _of_new(has, around))
        if kind_of(bridge) == "bridge" and mtu < found.get(bridge.name, _of(bridge.attrs)):
            found[bridge.name] = mtu
    return found


def sized_by_ports(new: Made, wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> set[str]:
    """The bridges that ports join and on which a link is made, which is no larger than they are then.

    Until they are told their MTU as well.
    """
    joined = {step.attrs.get("master") or (step.after.attrs.get("master") if step.after else None) for step in new.told}
    bridges = (joined | new.masters) & new.lowers - {None}
    return {str(name) for name in bridges if kind_of(wants.get((name,)) or haves.get((name,))) == "bridge"}


def _of_new(link: Object, around: Mapping[Key, Object]) -> int:
    while kind_of(link) in FOLLOWS_MTU and (below := around.get((link.attrs.get("link"),))):
        if mtu := _of(below.attrs):
            return mtu
        link = below
    return _USUAL if kind_of(link) in _ETHERNET else UNKNOWN


def _of(attrs: Attrs) -> int:
    return integer(attrs, "mtu")


def made_smaller(sizes: Mapping[str, int], links: Mapping[Key, Object]) -> Iterator[tuple[str, int]]:
    """The links above those that get these MTUs and become as small, which do not grow again with them."""
    found = dict(sizes)
    for upper, lower in followers([*sizes], links, masters={"bridge"}) if sizes else ():
        kind, mtu = kind_of(links[upper,]), _of(links[upper,].attrs)
        if (kind != "bridge" and kind not in FOLLOWS_MTU) or found.get(lower, mtu) >= mtu:
            continue
        found[upper] = found[lower]
        if kind != "bridge":  # which grows with its ports
            yield upper, found[upper]


def outgrown(steps: Iterable[Step]) -> set[Value]:
    """The masters of links that become larger, but for those that are told an MTU: bridges grow with their ports."""
    told = {step.object.name: step for step in steps if step.before and "mtu" in step.attrs}
    growing = (step.before.attrs for step in told.values() if step.before and _of(step.attrs) > _of(step.before.attrs))
    return {attrs["master"] for attrs in growing if attrs.get("master")} - told.keys()


def grows_later(link: Object, attrs: Attrs, left: Container[Value], links: Mapping[Key, Object]) -> bool:
    """Whether ``attrs`` give a link an MTU that a bridge below it has only when ports have ``left`` or grown."""
    return _of(attrs) > _of(link.attrs) and is_still_small(_below(link), left, links)


def is_still_small(name: Value, left: Container[Value], links: Mapping[Key, Object]) -> bool:
    """Whether a link is, or stands on, a bridge that grows when ports have ``left`` it or grown."""
    while link := links.get((name,)):
        if kind_of(link) == "bridge":
            return link.name in left
        name = _below(link)
    return False


def _below(link: Object) -> Value:
    return link.attrs.get("link") or link.attrs.get("dev")
