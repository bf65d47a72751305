# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and entries that differ by a number -> ranges, exactly: expanding gives the same again."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from netgroupd.model.value import MAC_TEXT

Body: TypeAlias = dict[str, Any]

# A number of a name, but not one inside a range; 007 stays what it is.
_NUMBER = re.compile(r"\[[^\]]*\]|\{[^}]*\}|(?<!\d)(0|[1-9]\d*)(?!\d)")
_MARK = "\0"
_SUMS = ("id", "table")
_FEW = 4
"""Of so many places that have the number of the name, any may have it by chance: the second 10 of 10.1.10.1, say."""


class _Form(NamedTuple):
    """An entry without its number: what is left of its name, and of its body as JSON."""

    skeleton: str
    body: str
    refers: bool  # the body, to the number


def fold_names(names: Iterable[str]) -> list[str]:
    """Write a list of names with ranges: swp1.5, swp2.5 become swp[1-2].5."""
    found: dict[str, list[int]] = {}
    for name in names:
        skeleton, number = _cut(name, 0)
        found.setdefault(skeleton, []).append(number)
    return [_joined(skeleton, numbers, "") for skeleton, numbers in found.items()]


def fold_entries(entries: Sequence[tuple[str, Body]]) -> list[tuple[str, Body]]:
    """Join entries that are the same but for a number in their names, which their bodies may repeat."""
    folded = list(entries)
    for name, at in (("v", -1), ("n", 0), ("m", 1)):  # lan0.100.7 has a third in the middle
        folded = _fold(folded, name, at)
    return folded


def _fold(entries: Sequence[tuple[str, Body]], name: str, at: int) -> list[tuple[str, Body]]:
    cuts = [_cut(key, at) for key, _ in entries]
    forms = [
        list(_forms(skeleton, number, body, name)) for (skeleton, number), (_, body) in zip(cuts, entries, strict=True)
    ]
    popular = Counter(form for choice in forms for form in set(choice))
    groups: dict[_Form, list[int]] = {}
    first: dict[_Form, tuple[str, Body]] = {}
    for (_, number), choice, entry in zip(cuts, forms, entries, strict=True):
        form = max(choice, key=lambda form: popular[form])
        first.setdefault(form, entry)
        groups.setdefault(form, []).append(number)
    return [
        (_joined(form.skeleton, numbers, f"{name}=" if form.refers else ""), json.loads(form.body))
        if len(numbers) > 1
        else first[form]
        for form, numbers in groups.items()
    ]


def _cut(name: str, at: int) -> tuple[str, int]:
    """Take one of its numbers out of a name; -1 stands for a name without it."""
    found = [piece for piece in _NUMBER.finditer(name) if piece[1] is not None and len(piece[1]) < 10]
    if len(found) <= at or not found:
        return name, -1
    piece = found[at]
    return name[: piece.start()] + _MARK + name[piece.end() :], int(piece[1])


def _forms(skeleton: str, number: int, body: Body, name: str) -> Iterator[_Form]:
    """Write a body as it is, and with references in place of its number: everywhere, and of a few places in some."""
    yield _Form(skeleton, json.dumps(body), False)
    if number < 0:
        return
    for shifted in _shifted(body, number, name):
        yield _Form(skeleton, json.dumps(shifted), True)
        yield _Form(skeleton, json.dumps(_Reference(number, name, None).put_into(shifted)), True)
    whole = _Reference(number, name, None)
    yield _Form(skeleton, json.dumps(whole.put_into(body)), whole.found > 0)
    if 1 < whole.found <= _FEW:
        places = range(whole.found)
        for chosen in (choice for size in places[1:] for choice in combinations(places, size)):
            yield _Form(skeleton, json.dumps(_Reference(number, name, chosen).put_into(body)), True)


def _shifted(body: Body, number: int, name: str) -> Iterator[Body]:
    """Write what may be the number of the name and a constant as a sum: a VNI, a table, a VLAN, a MAC."""
    sums: Body = {key: _sum(body[key], number, name) for key in _SUMS if isinstance(body.get(key), int)}
    untagged = [_sum_of_untagged(vlan, number, name) for vlan in body.get("vlans", ())]
    for some in (sums, sums | {"vlans": untagged}) if untagged else (sums,):
        if (summed := body | some) != body:
            yield summed
    mac = str(body.get("mac", ""))
    if MAC_TEXT.fullmatch(mac) and (least := int(mac.replace(":", ""), 16) - number) >= 0:
        start = ":".join(re.findall("..", f"{least:012x}"))
        yield body | sums | {"mac": f"{{{start} + {name}}}"}


def _sum(value: int, number: int, name: str) -> int | str:
    return value if value == number else f"{{{name}{value - number:+}}}"


def _sum_of_untagged(vlan: Any, number: int, name: str) -> Any:
    """A VLAN with a sum in place of its number, if a port belongs to it with what comes without a tag."""
    if not isinstance(vlan, dict) or not vlan.get("pvid") or not isinstance(vlan["vid"], int):
        return vlan
    return {**vlan, "vid": _sum(vlan["vid"], number, name)}


class _Reference:
    """Puts a reference in place of a number, where it stands for the first, second and so on time or everywhere."""

    def __init__(self, number: int, name: str, chosen: Sequence[int] | None) -> None:
        self._number = str(number)
        self._text = f"{{{name}}}"
        self._chosen = chosen
        self.found = 0

    def put_into(self, value: Any) -> Any:
        """Write a value with references."""
        if isinstance(value, dict):
            return {key: self.put_into(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.put_into(inner) for inner in value]
        if isinstance(value, bool) or value is None:
            return value
        text = _NUMBER.sub(self._at, str(value))
        return value if text == str(value) else text

    def _at(self, piece: re.Match[str]) -> str:
        if piece[1] != self._number:
            return piece[0]
        self.found += 1
        return self._text if self._chosen is None or self.found - 1 in self._chosen else piece[0]


def _joined(skeleton: str, numbers: list[int], label: str) -> str:
    if numbers[0] < 0:
        return skeleton
    if len(numbers) == 1:
        return skeleton.replace(_MARK, str(numbers[0]))
    return skeleton.replace(_MARK, f"[{label}{','.join(_spans(sorted(set(numbers))))}]")


def _spans(numbers: list[int]) -> Iterator[str]:
    """Write numbers as ranges: 1-3, in steps 10-50/10, or alone."""
    start = 0
    while start < len(numbers):
        end = start + 1
        step = numbers[end] - numbers[start] if end < len(numbers) else 0
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        first, last = numbers[start], numbers[end - 1]
        if step == 1:
            yield f"{first}-{last}"
        elif end - start > 2:
            yield f"{first}-{last}/{step}"
        else:
            yield str(first)
            end = start + 1
        start = end
