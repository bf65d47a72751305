# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and entries that differ by a number -> ranges, exactly: expanding gives the same again."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

Body: TypeAlias = dict[str, Any]

# A number of a name, but not one inside a range; 007 stays what it is.
_NUMBER = re.compile(r"\[[^\]]*\]|\{[^}]*\}|(?<!\d)(0|[1-9]\d*)(?!\d)")
_MARK = "\0"


class _Form(NamedTuple):
    """An entry without its number: what is left of its name, and of its body as JSON."""

    skeleton: str
    body: str


def fold_names(names: Iterable[str]) -> list[str]:
    """Write a list of names with ranges: swp1.5, swp2.5 become swp[1-2].5."""
    found: dict[str, list[int]] = {}
    for name in names:
        skeleton, number = _cut(name, last=False)
        found.setdefault(skeleton, []).append(number)
    return [_joined(skeleton, numbers, "") for skeleton, numbers in found.items()]


def fold_entries(entries: Sequence[tuple[str, Body]]) -> list[tuple[str, Body]]:
    """Join entries that are the same but for a number in their names, which their bodies may repeat."""
    by_last = _fold(entries, "v", last=True)
    return _fold(by_last, "n", last=False)


def _fold(entries: Sequence[tuple[str, Body]], name: str, *, last: bool) -> list[tuple[str, Body]]:
    cuts = [_cut(key, last=last) for key, _ in entries]
    forms = [
        list(_forms(skeleton, number, body, name)) for (skeleton, number), (_, body) in zip(cuts, entries, strict=True)
    ]
    popular = Counter(form for choice in forms for form in set(choice))
    groups: dict[_Form, list[int]] = {}
    for (_, number), choice in zip(cuts, forms, strict=True):
        groups.setdefault(max(choice, key=lambda form: popular[form]), []).append(number)
    return [_entry(form, numbers, name) for form, numbers in groups.items()]


def _cut(name: str, *, last: bool) -> tuple[str, int]:
    """Take the first or last number out of a name; -1 stands for a name without one."""
    found = [piece for piece in _NUMBER.finditer(name) if piece[1] is not None and len(piece[1]) < 10]
    if not found:
        return name, -1
    piece = found[-1 if last else 0]
    return name[: piece.start()] + _MARK + name[piece.end() :], int(piece[1])


def _forms(skeleton: str, number: int, body: Body, name: str) -> Iterator[_Form]:
    """Write a body as it is, and with references in place of its number."""
    yield _Form(skeleton, json.dumps(body))
    if number >= 0:
        yield _Form(skeleton, json.dumps(_refer(body, number, name)))


def _refer(value: Any, number: int, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _refer(inner, number, name) for key, inner in value.items()}
    if isinstance(value, list):
        return [_refer(inner, number, name) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    wanted = str(number)
    text = _NUMBER.sub(lambda piece: f"{{{name}}}" if piece[1] == wanted else piece[0], str(value))
    return value if text == str(value) else text


def _entry(form: _Form, numbers: list[int], name: str) -> tuple[str, Body]:
    reference = f"{{{name}}}"
    body: Body = json.loads(form.body)
    used = reference in form.body
    if len(numbers) == 1 and used:
        body = json.loads(form.body.replace(reference, str(numbers[0])))
        used = False
    return _joined(form.skeleton, numbers, f"{name}=" if used else ""), body


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
