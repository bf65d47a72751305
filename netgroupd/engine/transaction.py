# SPDX-License-Identifier: GPL-2.0-or-later
"""goal -> the kernel as the goal says: run, look again, and so on until nothing differs.

Putting back a snapshot is the same with the snapshot as the goal.  What the kernel
holds is read again after every run, never assumed: a refused message may have
done half of its work.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, compress, count, filterfalse, islice
from typing import NamedTuple, TypeAlias

from netgroupd.engine.busy import with_takers
from netgroupd.engine.kept.astray import about_gone, led_astray
from netgroupd.engine.kept.listed import listed_by_others
from netgroupd.engine.kept.theirs import give_back, on_links
from netgroupd.engine.kept.unseen import add_unseen, add_unseen_on_qdiscs, queues_of_others
from netgroupd.engine.observe import Connection, Links, Mine, add_foundations, look
from netgroupd.engine.refusals import steps_error
from netgroupd.engine.spoken import spoken_of
from netgroupd.errors import VerifyError
from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.netlink.batch import Refused, ends
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.nexthop import links_of
from netgroupd.model.route import source_of
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan import affected, present
from netgroupd.plan.along import deleted_nexthops, told, told_of_watched
from netgroupd.plan.along import warnings as along_warnings
from netgroupd.plan.assemble import assemble
from netgroupd.plan.coalesce import Abilities
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.gateways import Astray, Gateways, astray, led
from netgroupd.plan.lacking import without as without_lacking
from netgroupd.plan.passing import down_on_cycled, flags_in_vrfs, options_of_ports
from netgroupd.plan.serialise import singles, touching
from netgroupd.plan.step import AnyStep, GroupStep, Op, Plan, Step
from netgroupd.plan.tc.optional import is_optional, keys_of, without
from netgroupd.plan.tc.turns import behind
from netgroupd.plan.theirs import Loss, Theirs
from netgroupd.plan.unsaid import told as beyond_files
from netgroupd.plan.waiting import WAYS, in_need, led_by, without_waiting
from netgroupd.plan.waiting import told as waiting_told

Progress: TypeAlias = Callable[[int, int], None]

_ROUNDS = 4  # others may change things meanwhile, but not for ever
_GONE = frozenset({errno.ENODEV, errno.ENOENT, errno.ESRCH, errno.EADDRNOTAVAIL, errno.ENXIO})


class Reached(NamedTuple):
    """A goal that was reached, but for what was ``refused`` and is optional, and what is ``waiting`` for a carrier."""

    refused: tuple[Refused, ...] = ()
    waiting: tuple[Object, ...] = ()


def abilities_of(kernel: Connection) -> Abilities:
    """What plans may use of this kernel."""
    can = kernel.features
    return Abilities(can.new_group, can.group_mask, can.group_mac, can.group_addr)


class _Attainable(NamedTuple):
    """What can be had of a goal by now, what of it waits for a carrier, and what there is to tell of either."""

    goal: State
    waiting: tuple[Object, ...]
    warnings: tuple[str, ...]


def plan_for(kernel: Connection, goal: State, actual: State, mine: Mine) -> Plan:
    """The plan from ``actual`` to ``goal``.

    Raises:
        ConfigError: There is none.
    """
    return _plan(kernel, _attainable(kernel, goal, actual), actual, mine)


def _attainable(kernel: Connection, goal: State, actual: State) -> _Attainable:
    """The part of ``goal`` for which plans are made; a brief look is enough for it."""
    spoken = spoken_of(goal)
    wanted, warnings = without_lacking(goal, kernel.features.lacking & spoken.rows)
    dark = kernel.without_carrier(spoken.sources) | kernel.dark(in_need(wanted, actual))
    wanted, waiting = without_waiting(wanted, actual, dark)
    told = (*warnings, *waiting_told(waiting), *_by_another_name(kernel, goal, actual))
    return _Attainable(led(wanted, _astray(kernel, wanted, actual)), waiting, told)


def _plan(kernel: Connection, wanted: _Attainable, actual: State, mine: Mine, *, whole: bool = True) -> Plan:
    """The plan to what is attainable; unless ``whole`` only for telling whether it has steps."""
    abilities = abilities_of(kernel)
    # Where messages count addresses up it matters which link comes first.
    indices = dict(kernel.names) if abilities.group_addr or abilities.group_mac else {}
    plan = assemble(wanted.goal, actual, mine.owned(kernel.names), abilities, indices, whole=whole)
    return plan._replace(warnings=plan.warnings + wanted.warnings, waiting=wanted.waiting)


def _astray(kernel: Connection, wanted: State, actual: State) -> Iterator[Astray]:
    """The ways that are not by the link they are meant to go by, unless a route of somebody's tells closer where to."""

    def is_told(way: Astray) -> bool:
        found = kernel.way_to(way.gateway, vrf=way.network.vrf)
        return found is not None and found.length > way.network.length

    return filterfalse(is_told, astray(wanted, actual, Gateways(wanted)))


def _by_another_name(kernel: Connection, goal: State, actual: State) -> Iterator[str]:
    """What to say of links that ``goal`` waits for under one of their further names; some are looked for."""
    links, there = goal.of("link"), actual.of("link")
    if links.keys() <= there.keys():
        return
    waiting = (link.name for key, link in links.items() if not link.attrs.get("kind") and key not in there)
    for name in islice(waiting, FEW):
        if (found := kernel.names.find(name)) and found[0] != name:
            yield f"{name} is another name of {found[0]}, and no file can name a link by that"


def plan_now(kernel: Connection, goal: State, mine: Mine, links: Links | None = None) -> tuple[Plan, State]:
    """The plan from what there is to ``goal``, and what there is; that there is nothing to do takes less to find.

    ``links`` were looked at just now.

    Raises:
        ConfigError: There is none.
    """
    known, mine = mine, mine.asking(goal)
    if mine is not known and kernel.features.dump_group:
        links = None  # for these are those of the groups before
    whole = links is not None and links.tell(None)
    actual = look(kernel, goal, mine, links, briefly=True)
    wanted = _attainable(kernel, goal, actual)
    plan = _plan(kernel, wanted, actual, mine, whole=whole)
    if not plan.steps:
        return plan, actual
    if not whole:
        # Of what is there already a plan that only adds to it needs no more than that.
        if add_foundations(kernel, goal, actual) and _only_adds(plan := _plan(kernel, wanted, actual, mine), actual):
            return plan, actual
        actual = look(kernel, goal, mine, rules=actual.of("filter"))
        plan = _plan(kernel, wanted, actual, mine)
    if not _have_handles(plan, actual):
        actual = look(kernel, goal, mine)
        plan = _plan(kernel, wanted, actual, mine)
    if add_unseen(kernel, plan, actual):
        plan = _plan(kernel, wanted, actual, mine)
    return with_what_others_lose(kernel, plan, goal, actual, mine), actual


def with_what_others_lose(kernel: Connection, plan: Plan, goal: State, actual: State, mine: Mine) -> Plan:
    """``plan``, and what others lose by it: what is to be said of that, and given back."""
    warnings, shaking = plan.warnings, affected.felt(plan)
    if nexthops := deleted_nexthops(shaking, actual):
        along = kernel.dump(Selection(frozenset({"route"}), nexthops=nexthops)).of("route")
        warnings += along_warnings(along.values(), goal)
    hanging = add_unseen_on_qdiscs(kernel, shaking, goal, actual, mine)
    queues = queues_of_others(kernel, shaking, mine)
    parted = Loss(Theirs((*hanging, *queues)), (), "goes with the qdiscs and links that are deleted")
    warnings += (*affected.warnings(shaking, goal, actual), *told(parted), *beyond_files(parted.theirs.objects))
    led, about = led_astray(kernel, shaking, goal, actual, mine), about_gone(kernel, shaking, goal, actual)
    listed = listed_by_others(kernel, shaking, goal, actual, mine)
    losses = (*on_links(kernel, shaking, nexthops, goal, actual, mine), listed)
    warnings += tuple(said for loss in (led, about, *losses) for said in told(loss))
    back = [obj for loss in losses for obj in loss.back]
    for found in (options_of_ports, flags_in_vrfs, down_on_cycled):
        back += found(shaking, goal, actual)
    back += led.back
    others = (*(obj for loss in losses for obj in loss.theirs.objects), *queues, *led.theirs.objects)
    return plan._replace(warnings=warnings, others=others, passing=tuple(back), watched=told_of_watched(losses))


def _have_handles(plan: Plan, actual: State) -> bool:
    """Whether the rules that go, change or come back have told their handles."""
    if not actual.of("filter"):
        return True
    said = [step.before for step in singles(plan.steps) if step.before and step.before.cls == "filter"]
    return all("handle" in rule.attrs for rule in chain(said, behind(said, actual)))


def _only_adds(plan: Plan, actual: State) -> bool:
    steps = touching(affected.felt(plan).steps, actual.of("link"))
    return not any(step.object.key in actual.of(step.object.cls) for step in steps)


def converge(
    kernel: Connection,
    plan: Plan,
    goal: State,
    mine: Mine,
    progress: Progress | None = None,
    *,
    again: Callable[[State], Plan] | None = None,
) -> Reached:
    """Run ``plan`` and see that ``goal`` is reached.

    What others do meanwhile, and what follows from the steps themselves (a bridge
    without a MAC of its own takes one of its ports'), takes another round, with the
    plan that ``again`` makes for it.

    Raises:
        KernelError: A step was refused.
        VerifyError: All steps were accepted, and what they were to bring about is not there.
    """
    left_out: tuple[Refused, ...] = ()
    rounds = 0
    while rounds < _ROUNDS:
        refused = _run(kernel, plan.steps, _counting(progress, len(plan.steps)))
        kernel.dark(plan.darkened)  # what follows from it is there to be seen then
        if serious := _serious(kernel, refused):
            raise steps_error(with_takers(kernel, serious))
        unwanted = tuple(each for each in refused if is_optional(each.step))
        left_out += unwanted
        whole, goal = goal, without(goal, keys_of((each.step for each in unwanted), goal))
        # Of very many refusals the kernel tells some, and the others when it is asked for those rules again.
        rounds += len(goal) == len(whole)
        before, plan = plan, again(goal) if again else plan_now(kernel, goal, mine)[0]
        if not plan.steps:
            return Reached(left_out, plan.waiting)
        if plan.steps == before.steps or (not refused and _says_again(plan, before)):
            break
    if not refused:
        raise VerifyError(f"the kernel took every step and still differs:\n{present.text(plan)}")
    raise steps_error(refused)


def _says_again(plan: Plan, before: Plan) -> bool:
    """Whether ``plan`` asks for something that ``before`` has asked for already, and in vain.

    A message that says anything new may say the rest because of that, as the MTU of a tunnel.  A neighbour that was
    there before its link has lost its carrier has gone with that, and one on a link that is new when udev has given
    that another MAC, as it does a moment later.
    """
    said: dict[tuple[Op, str, Key], dict[str, Value]] = {}
    for step in singles(before.steps):
        said.setdefault((step.op, step.object.cls, step.object.key), {}).update(step.attrs)
    shaken = {*before.darkened, *(key[0] for op, cls, key in said if (op, cls) == (Op.CREATE, "link"))}
    return any(
        step.op is Op.DELETE or (step.attrs and step.attrs.items() <= earlier.items())
        for step in singles(plan.steps)
        if (earlier := said.get((step.op, step.object.cls, step.object.key))) is not None
        and not (step.object.cls == "neighbour" and step.object.name in shaken)
    )


def _run(kernel: Connection, steps: Sequence[AnyStep], progress: Callable[[int], None] | None) -> tuple[Refused, ...]:
    """Do ``steps``, and let nothing that was refused be deleted together with its group.

    Behind a refusal the rest of a batch still runs: a link that did not leave its
    group must not be in the same batch as the end of that group.
    """
    start, refused = 0, tuple[Refused, ...]()
    ends_group = [isinstance(step, GroupStep) and step.op is Op.DELETE for step in steps]
    for position in (*compress(count(), ends_group), len(steps)):
        if position > start:
            refused += kernel.apply(steps[start:position], progress)
        if ends(refused):
            break
        start = position
    return refused


def concluded(kernel: Connection, plan: Plan, mine: Mine, waiting: Sequence[Object]) -> Plan:
    """``plan`` when it is done: what was passing is given back, and what is left to be said is said."""
    later = waiting_told(obj for obj in waiting if obj not in plan.waiting)
    return plan._replace(warnings=plan.warnings + give_back(kernel, plan.passing, mine) + later)


def _serious(kernel: Connection, refused: Sequence[Refused]) -> list[Refused]:
    """The refusals without those that others may have brought about, and those for want of a carrier."""
    needed = [each for each in refused if not is_optional(each.step)]
    serious = [each for each in needed if not (_may_have_vanished(each) or _may_have_come(each))]
    ways = [each.step.object for each in serious if isinstance(each.step, Step) and each.step.object.cls in WAYS]
    dark = kernel.without_carrier(frozenset(filter(None, map(source_of, ways)))) | kernel.dark(links_of(ways))
    waiting = led_by(ways, dark)
    return [each for each in serious if not (isinstance(each.step, Step) and each.step.object[:2] in waiting)]


def _may_have_vanished(refused: Refused) -> bool:
    """Whether a step was refused because somebody else deleted what it is about."""
    number, step = refused.refusal.errno, refused.step
    return number == errno.ENODEV or (step.op is Op.DELETE and number in _GONE)


def _may_have_come(refused: Refused) -> bool:
    """Whether a step was refused because what it makes is there: a route of the kernel's comes with its address.

    The index of an action is there once a rule that is said again takes it for an action of its own.
    """
    step = refused.step
    if refused.refusal.errno != errno.EEXIST or not isinstance(step, Step):
        return False
    return UNOWNED in step.object.attrs or (step.object.cls == "action" and not step.why)


def _counting(progress: Progress | None, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    done = 0

    def more_done(steps: int) -> None:
        nonlocal done
        done += steps
        progress(min(done, total), total)  # some steps are more than one

    return more_done
