# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hooks of traffic control a configuration names, and what a qdisc takes along when it goes.

A hook is a link (or a shared block) and the parent that rules hang on; "root"
stands for the tree of qdiscs and classes below the root of a link.  A hook that
is named is owned as a whole.  An action that filters share is a hook too, of
its kind and index, so that one that is named no longer is still known.  So are the clsact that a configuration
names, with or without rules, and that one of its hooks is in a shared block.
"""

from collections.abc import Iterable, Mapping, Set

from netgroupd.model.state import Key, Object, State
from netgroupd.model.tc.filter import block
from netgroupd.model.tc.qdisc import BLOCKS, KINDS

Hook = tuple[str, str]
ROOT = "root"
CLSACT = "clsact"
CLSACT_HOOKS = frozenset({"ingress", "egress"})
WITHOUT_RULES = frozenset({CLSACT, *BLOCKS})
"""What stands in the place of a hook for what belongs to clsact and is no hook."""
SHARED = "action "  # before the kind; no link has such a name
# What hangs on a qdisc goes with it.
ON_QDISCS = frozenset({"qdisc", "tclass", "chain", "filter"})
_WITHOUT_FILTERS = frozenset(
    {
        "bfifo",
        "cbs",
        "codel",
        "etf",
        "fq",
        "mq",
        "mqprio",
        "netem",
        "noqueue",
        "pfifo",
        "pfifo_fast",
        "red",
        "taprio",
        "tbf",
    }
)
_IN_CLASSES = frozenset({"qdisc", "chain"})


def hooks_of(state: State) -> frozenset[Hook]:
    """Every hook that ``state`` speaks of."""
    hooks = {(str(key[0]), str(key[1])) for cls in ("filter", "chain") for key in state.of(cls)}
    hooks.update((f"{SHARED}{kind}", str(index)) for kind, index in state.of("action"))
    for qdisc in state.of("qdisc").values():
        if qdisc.key[1] != CLSACT:
            hooks.add((qdisc.name, ROOT))
            if qdisc.attrs.get("handle") and qdisc.attrs.get("kind") not in _WITHOUT_FILTERS:
                hooks.add((qdisc.name, str(qdisc.attrs["handle"])))
            continue
        hooks.add((qdisc.name, CLSACT))
        hooks.update((qdisc.name, name) for name in BLOCKS if isinstance(qdisc.attrs.get(name), int))
        named = qdisc.attrs.get("hooks") or ()
        assert isinstance(named, tuple)
        hooks.update(asked_at(qdisc, str(hook)) for hook in named)
    return frozenset(hooks)


def asked_at(qdisc: Object, hook: str) -> Hook:
    """Where the rules are that are asked at a hook of ``qdisc``: there, or in the block that it shares."""
    shared = qdisc.attrs.get(f"{hook}_block")
    return (block(shared), "") if isinstance(shared, int) else (qdisc.name, hook)


def hook_of(obj: Object) -> Hook:
    """The hook at which an object of traffic control is."""
    where, parent = str(obj.key[0]), str(obj.key[1])
    match obj.cls:
        case "action":
            return f"{SHARED}{where}", parent
        case "qdisc":
            return where, CLSACT if parent == CLSACT else ROOT
        case "tclass":
            return where, ROOT
    return where, parent if parent in CLSACT_HOOKS or not parent else ROOT


def classes_on(qdiscs: Iterable[Object]) -> frozenset[str]:
    """The classes of what may hang on these, and is owned with them whether or not any is named."""
    found = set[str]()
    for kind in {str(qdisc.attrs.get("kind")) for qdisc in qdiscs} - _WITHOUT_FILTERS:
        found |= {"filter", "tclass"} if kind in KINDS and KINDS[kind].classes else {"filter"}
    return frozenset(found)


def parents_of(qdisc: Object) -> frozenset[Hook]:
    """What stands, as (link, major number or hook) or as a block, for everything that hangs on ``qdisc``."""
    if qdisc.key[1] == CLSACT:
        return frozenset((qdisc.name, hook) for hook in CLSACT_HOOKS) | blocks_of(qdisc)
    handle = str(qdisc.attrs.get("handle") or "")
    return frozenset({(qdisc.name, _major(handle))}) if handle else frozenset()


def blocks_of(qdisc: Object) -> frozenset[Hook]:
    """The shared blocks that the hooks of ``qdisc`` are in."""
    numbers = (qdisc.attrs.get(name) for name in BLOCKS)
    return frozenset((block(number), "") for number in numbers if isinstance(number, int))


def emptied_blocks(gone: Mapping[str, str], actual: State, deleted: Set[Key] = frozenset()) -> dict[str, str]:
    """The shared blocks whose last links go, each with the reason: the kernel knows a block as long as one is in it.

    Of these qdiscs that are ``deleted`` the links stay.
    """
    found: dict[str, str] = {}
    stay: set[str] = set()
    for qdisc in actual.of("qdisc").values():
        for number, _ in blocks_of(qdisc):
            if qdisc.name in gone or qdisc.key in deleted:
                found[number] = gone.get(qdisc.name, "its qdisc is deleted")
            else:
                stay.add(number)
    return {number: why for number, why in found.items() if number not in stay}


def hangs_on_one_of(obj: Object, parents: Iterable[Hook]) -> bool:
    """Whether an object of traffic control hangs on one of the qdiscs that ``parents`` stand for."""
    return obj.cls in ON_QDISCS and (obj.name, _major(str(obj.key[1]))) in parents


def is_in_one_of(obj: Object, classes: Set[Hook]) -> bool:
    """Whether an object of traffic control is in one of the ``classes``, and goes with it."""
    return obj.cls in _IN_CLASSES and (obj.name, str(obj.key[1])) in classes


def swept(deleted: Iterable[Object], state: State) -> frozenset[Hook]:
    """The parents that are gone once ``deleted`` qdiscs are: their own, and those of the qdiscs inside them.

    A block stays as long as another qdisc shares it.
    """
    going = {qdisc.key: qdisc for qdisc in deleted}
    parents = {hook for qdisc in going.values() for hook in parents_of(qdisc)}
    parents -= {hook for key, qdisc in state.of("qdisc").items() if key not in going for hook in blocks_of(qdisc)}
    more = parents
    while more:
        inside = (qdisc for qdisc in state.of("qdisc").values() if hangs_on_one_of(qdisc, more))
        more = {hook for qdisc in inside for hook in parents_of(qdisc)} - parents
        parents |= more
    return frozenset(parents)


class Queues:
    """How deep qdiscs and classes are in the tree of their link; 0 at its root."""

    def __init__(self, *states: State) -> None:
        self._parents: dict[Hook, str] = {}
        self._classes: dict[Hook, str] = {}
        for state in states:
            for qdisc in state.of("qdisc").values():
                self._parents[qdisc.name, _major(str(qdisc.attrs.get("handle") or ""))] = str(qdisc.key[1])
            for tclass in state.of("tclass").values():
                self._classes[tclass.name, str(tclass.key[1])] = str(tclass.attrs.get("parent") or "")

    def depth(self, obj: Object) -> int:
        """How many qdiscs and classes are above ``obj``."""
        link, seen = obj.name, set[str]()
        above = str(obj.attrs.get("parent") or "") if obj.cls == "tclass" else str(obj.key[1])
        while above and above not in (ROOT, CLSACT) and above not in seen:
            seen.add(above)
            major, _, minor = above.partition(":")
            above = self._classes.get((link, above), f"{major}:") if minor else self._parents.get((link, major), "")
        return len(seen)


def _major(handle: str) -> str:
    return handle.partition(":")[0]
