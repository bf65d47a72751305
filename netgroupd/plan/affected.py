# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that the kernel changes together with others, where no file says it of them: told before it is done."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from netgroupd.model.beside import MACVLANS
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.owner import BY_ROUTERS
from netgroupd.model.state import NOTHING, Key, Object, State
from netgroupd.plan.compare import UNOWNED, kind_of
from netgroupd.plan.diff import Changes
from netgroupd.plan.fate import TEAMING
from netgroupd.plan.made import Made
from netgroupd.plan.narrowed import made_smaller, narrowed
from netgroupd.plan.pieces import shrinks
from netgroupd.plan.serialise import singles, touching
from netgroupd.plan.step import AnyStep, Op, Plan, Step

_DEFAULT = "::/0"
_OF_LOWER = {"mode": "l3", "private": False, "vepa": False}
"""What all ipvlans on one link have alike, and what one that is made has where nothing is said."""

_FELT = IPVLANS | TEAMING | {"wireguard"}
"""Kinds of new links that set something for others, as ipvlans do, and macvlans by one word; or for ports of theirs."""


def are_apart(links: Collection[Step], made: Made, there: Mapping[Key, Object]) -> bool:
    """Whether steps make links, and none of these joins a master that is ``there`` or sets something for others."""
    joined = {(name,) for name in made.masters}
    if not made.kinds or not made.kinds.isdisjoint(_FELT) or not there.keys().isdisjoint(joined):
        return False
    return made.kinds.isdisjoint(MACVLANS) or not any("bclim" in step.attrs for step in links)


def felt_of(steps: Sequence[AnyStep], changes: Changes, there: Mapping[Key, Object]) -> tuple[Step, ...] | None:
    """``steps`` but for what they say to links that are not ``there``, where those that are do not feel that.

    ``changes`` are what the steps bring about.
    """
    if not are_apart(changes.links, changes.made, there):
        return None
    return tuple(touching(steps, there)) if changes.made.told or changes.others else ()


def felt(plan: Plan) -> Plan:
    """``plan`` with the steps alone that links which are there feel.

    What looks for what else a plan does has no more to walk through: from nothing that is all of it.
    """
    return plan if plan.felt is None else plan._replace(steps=plan.felt)


def warnings(plan: Plan, goal: State, actual: State) -> Iterator[str]:
    """A sentence about those that become smaller, one about ipvlans that get another mode, and one about the deaf."""
    steps = singles(plan.steps)
    staying = {key: link for key, link in actual.of("link").items() if link.name not in plan.gone} if steps else {}
    yield from _told("become as small as what is below", [*_smaller(steps, staying, goal)])
    yield from _told("are as the last ipvlan on the same link", [*_with_another_mode(steps, staying, goal)])
    deaf = "hear a router no more when the default route that it advertised is netgroupd's, and what it gave expires"
    yield from _told(deaf, [*_deaf(steps, goal)])


def _smaller(steps: Sequence[Step], links: dict[Key, Object], goal: State) -> Iterator[str]:
    sizes = {
        step.object.name: mtu
        for step in steps
        if step.before
        and step.before.cls == "link"
        and isinstance(mtu := step.attrs.get("mtu"), int)
        and shrinks(mtu, step.before.attrs.get("mtu"))
    }
    for name, mtu in made_smaller(sizes | narrowed(steps, links), links):
        want = goal.link(name)
        if not want or "mtu" not in want.attrs:
            yield f"{name} mtu {links[name,].attrs['mtu']} -> {mtu or 'less'}"


def _with_another_mode(steps: Sequence[Step], links: dict[Key, Object], goal: State) -> Iterator[str]:
    said: dict[object, dict[str, object]] = {}
    ipvlans = [link for link in links.values() if kind_of(link) in IPVLANS]
    for step in steps if ipvlans else ():
        if kind_of(step.object) in IPVLANS and step.op is not Op.DELETE:
            has = step.before.attrs if step.before else _OF_LOWER
            told = {name: value for name, value in step.attrs.items() if name in _OF_LOWER}
            if told or not step.before:
                lower = said.setdefault((step.after or step.object).attrs.get("link", has.get("link")), {})
                lower.update({"mode": has.get("mode"), **told})
    for link in ipvlans:
        want = goal.link(link.name)
        for name, value in said.get(link.attrs.get("link"), {}).items():
            if link.attrs.get(name) != value and (not want or name not in want.attrs):
                yield f"{link.name} {name} {link.attrs.get(name)} -> {value}"


def _deaf(steps: Sequence[Step], goal: State) -> Iterator[str]:
    """Those of which the kernel can make no such route any more: it reads no further in what the router says."""
    settings = goal.of("sysctl")
    for step in steps:
        had = step.before.attrs if step.before and step.after else NOTHING
        if had.get(UNOWNED) != BY_ROUTERS or step.object.key[2] != _DEFAULT:
            continue
        paths = (f"net/ipv6/conf/{had.get('dev')}/{name}" for name in ("accept_ra", "accept_ra_defrtr"))
        if "0" not in [settings[path,].attrs["value"] for path in paths if (path,) in settings]:
            yield str(had.get("dev"))


def _told(what: str, changed: Sequence[str]) -> Iterator[str]:
    if changed:
        from netgroupd.plan.fold import few_of, fold_names  # noqa: PLC0415  # seldom needed

        named = few_of(fold_names(dict.fromkeys(changed)), len(changed))
        yield f"links {what}, which no file says of them: {named}"
