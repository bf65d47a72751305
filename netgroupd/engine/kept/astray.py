# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules and tunnels of others, which stay, and lead packets to links that go: they lead nowhere then.

Where such a link is there again, made anew or put back, so do they lead there again.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from netgroupd.engine.observe import Connection, Mine, read
from netgroupd.engine.spoken import spoken_of
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Attrs, Object, State, records
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.hooks import hook_of
from netgroupd.plan.theirs import Loss, Theirs

_LED = "led"
"""Marks one that is there still, but for where it leads."""

_ABOUT = ("iif", "oif")


def led_astray(kernel: Connection, plan: Plan, goal: State, actual: State, mine: Mine) -> Loss:
    """What others have of such rules, of actions that they share, and of tunnels."""
    found = tuple(obj.having({_LED: True}) for obj in _led(kernel, plan, goal, actual, mine))
    again = "leads to links that are made anew, and does so again"
    return Loss(Theirs(found), _on_links_again(found, goal), "leads to links that go, and to nothing then", again)


def _led(kernel: Connection, plan: Plan, goal: State, actual: State, mine: Mine) -> Iterator[Object]:
    if not plan.gone:
        return
    ours = mine.hooks | spoken_of(goal).hooks
    for rule in kernel.rules_to(plan.gone):
        if rule.name not in plan.gone and hook_of(rule) not in ours:
            yield rule
    for link in actual.of("link").values():
        if link.attrs.get("dev") in plan.gone and link.name not in plan.gone and link.key not in goal.of("link"):
            yield link._replace(attrs={"dev": link.attrs["dev"]})


def about_gone(kernel: Connection, plan: Plan, goal: State, actual: State) -> Loss:
    """The policy rules that others have about links which go and do not come back.

    About one that is made anew the kernel has them be again, by its name.
    """
    names = {name for name in plan.gone if (name,) not in goal.of("link")}
    selection = Selection(frozenset({"rule"}), everything=True)
    rules = kernel.dump(selection).of("rule").items() if names else ()
    others = (rule for key, rule in rules if key not in actual.of("rule"))
    about = ({str(rule.attrs.get(field)) for field in _ABOUT} & names for rule in others)
    found = Theirs(watched=Counter(("rule", 0, min(links)) for links in about if links))
    return Loss(found, (), "is about links that go, and matches nothing then")


def _on_links_again(rules: Sequence[Object], goal: State) -> tuple[Object, ...]:
    """Those that lead only to links which are there in the end."""
    actions = (obj for obj in rules if obj.cls == "action")
    shared = {f"{obj.key[0]} {obj.key[1]}": [*led_to(obj)] for obj in actions}

    def leads_to(rule: Object) -> Iterator[str]:
        yield from led_to(rule)
        for action in records(rule.attrs, "actions"):
            yield from shared.get(str(action["kind"]), ())

    return tuple(rule for rule in rules if all((name,) in goal.of("link") for name in leads_to(rule)))


def is_astray(obj: Object) -> bool:
    """Whether it is one of these."""
    return _LED in obj.attrs


def led_again(kernel: Connection, rules: Sequence[Object], mine: Mine) -> Iterator[Step]:
    """What has those lead again that are there as they were, and lead nowhere."""
    led = (obj for obj in rules if obj.cls != "link")
    hooks = frozenset(hook_of(obj) if obj.cls == "action" else (obj.name, str(obj.key[1])) for obj in led)
    found = read(kernel, Selection(frozenset({"filter", "action"}), hooks=hooks), mine.away) if hooks else State()
    yield from _tunnels(kernel, [obj for obj in rules if obj.cls == "link"], mine)
    for rule in (obj for obj in rules if obj.cls != "link"):
        was = {name: value for name, value in rule.attrs.items() if name != _LED}
        now = found.of(rule.cls).get(rule.key)
        lost = now and now.attrs["actions"] != was["actions"] and _without_way(now.attrs) == _without_way(was)
        if now and lost and UNSAID not in was and not any(led_to(now)):
            want = rule._replace(attrs={**was, "optional": True})
            yield Step(Op.CHANGE, now, want, {"actions": was["actions"]})


def _tunnels(kernel: Connection, tunnels: Sequence[Object], mine: Mine) -> Iterator[Step]:
    names = frozenset(tunnel.name for tunnel in tunnels)
    there = read(kernel, Selection(links=names), mine.away).of("link") if names else {}
    for tunnel in tunnels:
        now, dev = there.get(tunnel.key), tunnel.attrs["dev"]
        if now and not kernel.has_link(str(now.attrs.get("dev") or "")) and kernel.has_link(str(dev)):
            yield Step(Op.CHANGE, now, now.having({"dev": dev, "optional": True}), {"dev": dev})


def _without_way(attrs: Attrs) -> tuple[dict[str, object], ...]:
    return tuple({name: value for name, value in one.items() if name != "dev"} for one in records(attrs, "actions"))


def led_to(rule: Object) -> Iterator[str]:
    """The links that one of these leads to."""
    if rule.cls == "link":
        yield str(rule.attrs["dev"])
    yield from (str(action["dev"]) for action in records(rule.attrs, "actions") if "dev" in action)
