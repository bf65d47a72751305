# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of bridges and of their ports -> what is written of each and its tree, and comments on what no file can say.

A bridge puts itself and every port into one VLAN, untagged; of that is written what is otherwise.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from netgroupd.engine.capture.yaml_text import COUNTED, quoted, texts_of
from netgroupd.model.bridge_vlan import OUT, default_vid, is_out
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.model.vlan_global import TREE, USUAL
from netgroupd.plan.compare import same
from netgroupd.plan.fold import fold, fold_names
from netgroupd.plan.vlan_global import bridge_of

_BY_ITSELF: Mapping[str, Value] = {"pvid": True, "untagged": True}


def vlan_attrs(vlan: Object, chosen: Mapping[str, Value], actual: State) -> dict[str, Value] | None:
    """What is written of a VLAN that has ``chosen``; None where it is there by itself."""
    if _is_of_trees(vlan, actual):
        chosen = {name: value for name, value in chosen.items() if name != "state"}
    link = actual.link(vlan.name)
    if link is None or vlan.key[1] != default_vid(link, actual):
        return {**chosen}
    if is_out(vlan):
        return {**OUT}
    if chosen == _BY_ITSELF:
        return None
    return {name: False for name in _BY_ITSELF if name not in chosen} | {**chosen}


def _is_of_trees(vlan: Object, actual: State) -> bool:
    """Whether a port has a state for each spanning tree, which is then that of its VLANs."""
    bridge = actual.link(bridge_of(vlan, actual))
    return bridge is not None and bool(bridge.attrs.get("mst_enabled"))


def options_of(actual: State) -> dict[str, str]:
    """What is written under each bridge of its VLANs, where they have something else than a VLAN that is new."""
    return _by_link("vid", ((obj, _chosen(obj, actual)) for obj in actual.of("vlan_global").values()))


def _chosen(options: Object, actual: State) -> dict[str, Value]:
    names = [name for name, usual in USUAL.items() if not _is_usual(name, usual, options)]
    return {name: options.attrs[name] for name in names if name != TREE or not _is_untold(options, actual)}


def _is_untold(options: Object, actual: State) -> bool:
    """Whether a VLAN is in a tree of a bridge that keeps no states for it, which is shut there and no more."""
    return bool(options.attrs.get(TREE)) and not _is_of_trees(options, actual)


def untold_trees(actual: State) -> list[str]:
    """A comment on the VLANs that are in a tree without having a state there."""
    found = [obj for obj in actual.of("vlan_global").values() if _is_untold(obj, actual)]
    names = fold_names(f"{obj.name} vid {obj.key[1]}" for obj in found)
    why = "their bridges keep one spanning tree state for all VLANs, msti"
    return [f"# left out ({why}): {', '.join(names)}\n"] if found else []


def states_of(actual: State) -> dict[str, str]:
    """What is written under each port of its states in spanning trees."""
    return _by_link("msti", ((obj, obj.attrs) for obj in actual.of("mst").values()))


def _by_link(number: str, chosen: Iterable[tuple[Object, Mapping[str, Value]]]) -> dict[str, str]:
    alike: defaultdict[str, defaultdict[Key, list[str]]] = defaultdict(lambda: defaultdict(list))
    for obj, said in chosen:
        if said:
            alike[obj.name][quoted(said)[1:-1],].append(str(obj.key[1]))
    return {name: f"[{', '.join(folded(number, found))}]" for name, found in alike.items()}


def _is_usual(name: str, usual: Value, obj: Object) -> bool:
    return name not in obj.attrs or same(name, usual, obj.attrs[name])


def folded(number: str, alike: Mapping[Key, list[str]]) -> Iterator[str]:
    """One entry for each range of VLANs, trees or networks of which the same is said, or what counts with them."""
    if number == "address":  # which stay in their order
        for (said, *_), numbers in alike.items():
            yield from (f'{{{number}: "{text}", {said}}}' for text in fold_names(numbers))
        return
    rows = [(text, str(said)) for (said, *_), numbers in alike.items() for text in numbers]
    for name, said in (texts_of(pattern, COUNTED) for pattern in fold(rows)):
        yield f'{{{number}: "{name}", {said}}}'
