# SPDX-License-Identifier: GPL-2.0-or-later
"""(what was there before a change) -> the kernel as it was, as near as the kernel lets it come to that."""

import time
from collections.abc import Iterator

from netgroupd.engine.in_part import come_near
from netgroupd.engine.kept.astray import is_astray, led_to
from netgroupd.engine.kept.handles import leave_handles
from netgroupd.engine.kept.orphans import without_orphans
from netgroupd.engine.kept.routes_beside import without_beside
from netgroupd.engine.kept.snapshot import Snapshot, release_states
from netgroupd.engine.kept.theirs import give_back, settings_of_others
from netgroupd.engine.observe import Connection, Mine, look
from netgroupd.engine.refusals import error_of
from netgroupd.engine.transaction import plan_for, with_what_others_lose
from netgroupd.errors import ConfigError, Problem, Refusal, VerifyError
from netgroupd.model.attr import Change
from netgroupd.model.kinds.wireguard import ANOTHER_KEY
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import hardest
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Plan

_PRIVATE = "private_key_file"
_PAUSE_S = 0.5


def put_back(kernel: Connection, before: Snapshot, mine: Mine) -> Plan:
    """Bring back what ``before`` says, leave everything else as it is now, and say what that took.

    Memory for a message or a descriptor may be there in a moment where it is not now, and half of this is worse.

    Raises:
        KernelError, VerifyError: Not everything could be brought back; of what is refused the rest is.
        OSError: The system lacks something still.
    """
    try:
        return _brought_back(kernel, before, mine)
    except OSError:
        time.sleep(_PAUSE_S)
        return _brought_back(kernel, before, mine)


def _brought_back(kernel: Connection, before: Snapshot, mine: Mine) -> Plan:
    try:
        plan, along, refused = _put_back(kernel, before, mine)
    except ConfigError as error:  # no file is wrong: somebody has put something else in its place
        raise VerifyError("\n".join(_without_place(problem) for problem in error.problems)) from error
    lost = give_back(kernel, before.others + before.passing + along, mine)
    if refused:
        failed = error_of(refused)
        failed.add_note("\n".join(("all the rest is back", *lost)))
        raise failed
    return plan._replace(warnings=plan.warnings + lost)


def _without_place(problem: Problem) -> str:
    return f"{problem.message}; {problem.hint}" if problem.hint else problem.message


def _put_back(kernel: Connection, before: Snapshot, mine: Mine) -> tuple[Plan, tuple[Object, ...], list[Refusal]]:
    """The plan that brought it back, what it took from others on links that are there, and what was refused."""
    mine = mine._replace(was=True)
    # What stays is part of the goal, and so of what is looked at for it.
    actual = without_beside(look(kernel, before.state(), mine, vlans_apart=True), before)
    was, there = before.state().of("link"), actual.of("link")
    masters: dict[Key, Object] = {
        key: there[key] for link in was.values() if (key := (link.attrs.get("master"),)) in there
    }
    whole = before.over(actual, kernel.usual(masters | dict(was)))
    goal, told = without_orphans(kernel, whole, before.objects, actual)
    told = (*told, *_left_alone(goal, actual, mine.owned(kernel.names)))
    leave_handles(goal, actual)

    def again(goal: State) -> Plan:
        there = without_beside(look(kernel, goal, mine), before)
        before.release_gone(goal, there)
        release_states(goal, there)
        return plan_for(kernel, goal, there, mine)

    plan = plan_for(kernel, goal, actual, mine)
    plan = plan._replace(warnings=(*plan.warnings, *told, *_keyless(before, actual)))
    along = tuple(_lost_anew(kernel, plan, goal, actual, mine, before))
    refused = come_near(kernel, plan, goal, mine, again)[-1]
    return plan, along, refused


def _lost_anew(
    kernel: Connection, plan: Plan, goal: State, actual: State, mine: Mine, before: Snapshot
) -> Iterator[Object]:
    """What others lose by putting back alone, on links that are there in the end."""
    others, was = with_what_others_lose(kernel, plan, goal, actual, mine).others, before.state()
    settings = (obj for obj in settings_of_others(kernel, plan) if not _is_of_another(obj, was, actual))
    lost = (*others, *settings)
    gone = {name for name in plan.gone if (name,) not in goal.of("link")}
    known = {*before.absent, *(obj[:2] for obj in before.others + before.passing)}
    for obj in lost:
        stays = gone.isdisjoint((*hangs_on(obj), *(led_to(obj) if is_astray(obj) else ())))
        if stays and obj[:2] not in known and obj.key not in goal.of(obj.cls):
            yield obj


def _is_of_another(setting: Object, was: State, actual: State) -> bool:
    """Whether a setting is of a link that the change has made another: that has some by itself."""
    for then, now in ((was.link(name), actual.link(name)) for name in hangs_on(setting)):
        if then and now:
            said = {name: value for name, value in then.attrs.items() if value not in (None, now.attrs.get(name))}
            return "kind" in said or hardest(now, said, now.attrs)[0] is Change.RECREATE
    return False


def _left_alone(goal: State, actual: State, owned: Owned) -> Iterator[str]:
    """Have links that others have made keep what only a new one would be without; what is to be said of them."""
    for want in [*goal.of("link").values()]:
        have = actual.link(want.name)
        if have is None or None not in want.attrs.values() or (owned.made(have) and owned.made(want)):
            continue
        kept = [name for name, value in want.attrs.items() if value is None and _stays(want, have, name)]
        if kept:
            goal.add(want.without(*kept))
            yield f"{want.name} is not netgroupd's to make anew, and keeps its {' and '.join(kept)}"


def _stays(link: Object, have: Object, name: str) -> bool:
    return have.attrs.get(name) is not None and hardest(link, {name: None}, have.attrs)[0] is Change.RECREATE


def _keyless(before: Snapshot, actual: State) -> Iterator[str]:
    """What is to be said of tunnels that had another private key than now: nobody can tell it any more."""
    for link in before.objects:
        if link.cls == "link" and link.attrs.get(_PRIVATE) == ANOTHER_KEY:
            now = actual.link(link.name)
            if now is None or now.attrs.get(_PRIVATE) != ANOTHER_KEY:
                yield f"the private key that {link.name} had is in no file that is known, and is not back"
