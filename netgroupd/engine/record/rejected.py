# SPDX-License-Identifier: GPL-2.0-or-later
"""(what the files ask for, the generations) -> the rejected one that they still ask for.

Going back leaves the files as they are, and a host that starts has nobody who
would confirm them once more: they count as edited only where they mean something else.
"""

from collections.abc import Callable, Mapping
from itertools import islice

from netgroupd.config import Desired
from netgroupd.engine import configuration
from netgroupd.engine.record.generations import CUT_OFF, FAILED, NOTHING, Content, Files, Generations
from netgroupd.engine.report import Generation
from netgroupd.errors import JournalError, UsageError
from netgroupd.model.state import Attrs, Key, State

_COMPARED = 10  # in meaning, for which a text has to be expanded; all are compared as texts


def asked_for_still(read: Callable[[], Desired], generations: Generations) -> Generation | None:
    """The newest of the rejected generations that the files are, as ``read``; none where they are what is in effect."""
    rejected = generations.rejected()
    if not rejected:
        return None
    current = _content(generations, generations.current)
    in_effect = _state(current)  # before the files are: who has just gone back to it knows it still
    desired = read()
    if current.files == configuration.files_of(desired) or _is(desired, in_effect):
        return None
    files, sources = configuration.files_of(desired), configuration.sources_of(desired)
    others: dict[Files, tuple[Generation, Content]] = {}
    for each in rejected:
        content = _content(generations, each.number)
        if content.files == current.files:  # the host was started since, or something repaired
            continue
        # What a template gives depends on the host; that nobody has edited it tells enough.
        if content.files == files or content.sources == sources:
            return each
        others.setdefault(content.files, (each, content))
    newest = islice(others.values(), _COMPARED)
    return next((each for each, content in newest if _is(desired, _state(content))), None)


def _content(generations: Generations, number: int) -> Content:
    try:
        return generations.content(number)
    except (JournalError, UsageError):  # one that was begun when the power went may be lost
        return NOTHING


def _state(content: Content) -> State | None:
    try:
        return configuration.bring_back(content).state
    except UsageError:
        return None


def _is(desired: Desired, state: State | None) -> bool:
    """Whether a generation is what is ``desired``, whatever its text; comments and order mean nothing."""
    wanted = desired.state
    return state is not None and _groups(wanted) == _groups(state) and _objects(wanted) == _objects(state)


def _groups(state: State) -> dict[str, object]:
    return {name: group._replace(origin=None) for name, group in state.groups.items()}


def _objects(state: State) -> dict[str, Mapping[Key, Attrs]]:
    classes = {cls: {key: obj.attrs for key, obj in objects.items()} for cls, objects in state.classes.items()}
    return {cls: objects for cls, objects in classes.items() if objects}


def told(generation: Generation, current: int) -> str:
    """What an operator has to know, and may do."""
    how = {FAILED: "failed", CUT_OFF: "was cut off"}.get(generation.result, "was rolled back")
    return (
        f"the files still ask for generation {generation.number}, which {how}: edit them, "
        f"or insist with `netgroupctl apply`; until then each boot brings back generation {current}"
    )
