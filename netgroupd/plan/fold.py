# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts that differ by numbers -> the few patterns that stand for all of them.

A row is a name and texts that go with it.  Numbers in the name span a space;
numbers, MACs and addresses in the other texts are followed as long as they grow
evenly with it.  Rows that fill a product of ranges become one pattern; what is
no product becomes several, and nothing is ever claimed that is not there.
Linear but for sorting.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product, repeat
from math import prod
from typing import NamedTuple, TypeAlias

from netgroupd.model.value import ip_text
from netgroupd.plan.skeleton import Column, Skeleton, of_name

_ENOUGH = 16  # rows to tell by how much all of them grow, though some may not
_PROGRESSION = 3  # any two numbers are some distance apart
_ROUND = 256
_FEW = 5

Row: TypeAlias = tuple[str, ...]
_Point: TypeAlias = tuple[int, ...]


class Term(NamedTuple):
    """A value in a text: a base, and by how much it grows with each dimension of the name.

    ``loose``: it varies by no rule, and the base is the first of its values.
    """

    form: str
    base: int
    strides: tuple[tuple[int, int], ...] = ()
    loose: bool = False

    def at(self, point: Sequence[int]) -> int:
        """The value at one point of the space."""
        return self.base + sum(stride * point[dimension] for dimension, stride in self.strides)


Piece: TypeAlias = "str | Term"


class Pattern(NamedTuple):
    """Texts with the terms that vary, and the values that each dimension takes."""

    fields: tuple[tuple[Piece, ...], ...]
    dimensions: tuple[tuple[int, ...], ...]
    size: int

    def at(self, point: Sequence[int]) -> tuple[str, ...]:
        """The texts of one point."""
        return tuple(
            "".join(piece if isinstance(piece, str) else form_text(piece.form, piece.at(point)) for piece in field)
            for field in self.fields
        )


def form_text(form: str, value: int) -> str:
    """A value as it is written: a number of some width, a MAC or an address."""
    if form == "mac":
        return value.to_bytes(6, "big").hex(":")
    if form in ("ip4", "ip6"):
        return ip_text(value.to_bytes(4 if form == "ip4" else 16, "big"))
    return f"{value:0{form}}" if form else str(value)


def fold(rows: Iterable[Row], *, exact: bool = True) -> list[Pattern]:
    """Fold ``rows``; where not ``exact``, values without any rule do not keep rows apart."""
    groups: dict[tuple[Skeleton, ...], list[tuple[_Point, _Point]]] = defaultdict(list)
    known: dict[Row, tuple[tuple[Skeleton, ...], _Point]] = {}  # most rows have the same texts
    columns: list[Column] = []
    for name, *texts in rows:
        skeleton, point = of_name(name)
        rest = tuple(texts)
        if (found := known.get(rest)) is None:
            columns += [Column() for _ in texts[len(columns) :]]
            found = known[rest] = _read(columns, rest)
        groups[(skeleton, *found[0])].append((point, found[1]))
    patterns: list[Pattern] = []
    for skeletons, alike in groups.items():
        patterns += _fold_alike(skeletons, alike, exact)
    return patterns


def _read(columns: Sequence[Column], texts: Row) -> tuple[tuple[Skeleton, ...], _Point]:
    found = [column.read(text) for column, text in zip(columns, texts, strict=False)]
    return tuple([skeleton for skeleton, _ in found]), tuple([value for _, values in found for value in values])


def _fold_alike(skeletons: tuple[Skeleton, ...], rows: list[tuple[_Point, _Point]], exact: bool) -> Iterator[Pattern]:
    """Fold rows that differ in their numbers only."""
    points = [point for point, _ in rows]
    own, leading = _own_terms(points, exact)
    if len(leading) < len(own):
        points = [tuple(point[dimension] for dimension in leading) for point in points]
    columns = [list(column) for column in zip(*(values for _, values in rows), strict=True)]
    rules = [_follow(points, column) for column in columns]
    loose = [not exact and _is_loose(rest) for _, rest in rules]
    apart = [rest for (_, rest), ignored in zip(rules, loose, strict=True) if not ignored]
    by_rest: dict[_Point, list[int]] = defaultdict(list)
    for number, key in enumerate(zip(*apart, strict=True) if apart else repeat((), len(rows))):
        by_rest[key].append(number)
    for found in by_rest.values():
        terms = [Term("", rest[found[0]], strides) for strides, rest in rules]
        shown = [points[number] for number in found]
        at: dict[_Point, list[int]] = defaultdict(list)
        for number in found if any(loose) else ():
            at[points[number]].append(number)
        for dimensions in _products(shown):
            size = prod(map(len, dimensions)) if points[0] else len(found)
            if at:
                here = [number for point in product(*dimensions) for number in at[point]]
                terms = [
                    _any_of([column[number] for number in here]) if ignored else term
                    for term, column, ignored in zip(terms, columns, loose, strict=True)
                ]
                size = len(here)
            yield Pattern(_fields(skeletons, [*own, *terms]), dimensions, size)


def _own_terms(points: list[_Point], exact: bool) -> tuple[list[Term], list[int]]:
    """The terms of the numbers in the names, and which of these numbers are dimensions.

    Where not ``exact`` one that is always the same distance from another, as in ``vni10 vid 10``, is none.
    """
    terms, leading = [], list[int]()
    for dimension, base in enumerate(points[0]):
        others = () if exact or len(points) < _PROGRESSION else leading
        lead = next((other for other in others if _goes_with(points, other, dimension)), None)
        if lead is None:
            terms.append(Term("", 0, ((len(leading), 1),)))
            leading.append(dimension)
        else:
            terms.append(Term("", base - points[0][lead], ((leading.index(lead), 1),)))
    return terms, leading


def _goes_with(points: list[_Point], lead: int, dimension: int) -> bool:
    first = points[0]
    apart = first[dimension] - first[lead]
    return first[lead] != points[-1][lead] and all(point[dimension] - point[lead] == apart for point in points)


def _any_of(values: list[int]) -> Term:
    """A value that follows no rule, of those that one pattern stands for."""
    return Term("", values[0], loose=len(set(values)) > 1)


def _is_loose(rest: list[int]) -> bool:
    return len(set(rest)) > max(4, len(rest) // 4)


def _follow(points: list[_Point], column: list[int]) -> tuple[tuple[tuple[int, int], ...], list[int]]:
    """By how much a column grows with each dimension, and what is left of it."""
    strides = []
    rest = column
    different = len(set(rest))
    for dimension in range(len(points[0]) - 1, -1, -1):
        if different == 1:
            break
        stride = _stride(points, rest, dimension)
        if not stride or (not _is_round(stride) and len({point[dimension] for point in points}) < _PROGRESSION):
            continue
        left = [value - stride * point[dimension] for value, point in zip(rest, points, strict=True)]
        remaining = len(set(left))
        if remaining < different:
            strides.append((dimension, stride))
            rest, different = left, remaining
    return tuple(strides), rest


def _is_round(stride: int) -> bool:
    """Whether two values are a few networks of one size apart, and not as far as any two may be."""
    return abs(stride) // (stride & -stride) < _ROUND


def _stride(points: list[_Point], column: list[int], dimension: int) -> int:
    """The most usual growth between rows that differ in one dimension only, of the first few; 0 if it is none."""
    seen: dict[_Point, tuple[int, int]] = {}
    growths = Counter[int]()
    for point, value in zip(points, column, strict=True):
        others = point[:dimension] + point[dimension + 1 :]
        before = seen.get(others, (point[dimension], value))
        seen[others] = point[dimension], value
        if distance := point[dimension] - before[0]:
            growth, uneven = divmod(value - before[1], distance)
            growths[0 if uneven else growth] += 1
            if growths.total() == _ENOUGH:
                break
    return max(growths, key=growths.__getitem__, default=0)


def _products(points: list[_Point]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Cut a set of points into products of values, one set of values for each dimension."""
    if not points[0]:
        yield ()
        return
    by_front: dict[_Point, set[int]] = defaultdict(set)
    for point in points:
        by_front[point[:-1]].add(point[-1])
    by_values: dict[tuple[int, ...], list[_Point]] = defaultdict(list)
    for front, values in by_front.items():
        by_values[tuple(sorted(values))].append(front)
    for common, fronts in by_values.items():
        for rest in _products(fronts):
            yield (*rest, common)


def _fields(skeletons: Sequence[Skeleton], terms: list[Term]) -> tuple[tuple[Piece, ...], ...]:
    """Put the terms between the texts of the skeletons."""
    waiting = iter(terms)
    fields = []
    for skeleton in skeletons:
        texts, forms = skeleton[: len(skeleton) // 2 + 1], skeleton[len(skeleton) // 2 + 1 :]
        pieces: list[Piece] = [texts[0]]
        for form, text in zip(forms, texts[1:], strict=True):
            pieces += [next(waiting)._replace(form=form), text]
        fields.append(tuple(piece for piece in pieces if piece != ""))
    return tuple(fields)


def range_text(values: Sequence[int], form: str) -> str:
    """Sorted numbers as the inside of brackets: 1-6, 1,3,10-20 or 0-100/10."""
    parts = []
    start = 0
    while start < len(values):
        step = values[start + 1] - values[start] if start + 1 < len(values) else 1
        end = start
        while end + 1 < len(values) and values[end + 1] - values[end] == step:
            end += 1
        if end - start < 2 and step != 1:
            end = start
        first, last = form_text(form, values[start]), form_text(form, values[end])
        parts.append(first if end == start else f"{first}-{last}" + (f"/{step}" if step != 1 else ""))
        start = end + 1
    return ",".join(parts)


def name_text(pattern: Pattern) -> str:
    """The name with its ranges: swp[1-6].[1000-1099]; {1} stands for the first of them."""
    text, shown = "", set[int]()
    for piece in pattern.fields[0]:
        if isinstance(piece, str):
            text += piece
            continue
        dimension = piece.strides[0][0]
        values = pattern.dimensions[dimension]
        if dimension in shown:
            text += _term_text(pattern, piece)
        else:
            text += form_text(piece.form, values[0]) if len(values) == 1 else f"[{range_text(values, piece.form)}]"
        shown.add(dimension)
    return text


def field_text(pattern: Pattern, number: int) -> str:
    """One of the other texts: {2} stands for the second range, other growth is shown by its ends."""
    pieces = pattern.fields[number]
    return "".join(piece if isinstance(piece, str) else _term_text(pattern, piece) for piece in pieces)


def _term_text(pattern: Pattern, term: Term) -> str:
    low = [values[0] for values in pattern.dimensions]
    high = [values[-1] for values in pattern.dimensions]
    moving = [(dimension, stride) for dimension, stride in term.strides if low[dimension] != high[dimension]]
    if not moving:
        return form_text(term.form, term.at(low)) + "…" * term.loose
    if len(moving) == 1 and moving[0][1] == 1 and term.at(low) == low[moving[0][0]]:
        return f"{{{_ordinal(pattern, moving[0][0])}}}"
    return f"{form_text(term.form, term.at(low))}…{form_text(term.form, term.at(high))}"


def _ordinal(pattern: Pattern, dimension: int) -> int:
    """The number of a range among the ranges that are shown."""
    return sum(len(values) > 1 for values in pattern.dimensions[: dimension + 1])


def fold_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names as ranges, in the order in which they came."""
    return tuple(name_text(pattern) for pattern in fold((name,) for name in names))


def few_of(names: Iterable[str], count: int, between: str = ", ") -> str:
    """The first of some names, and if these are not all, of how many objects they are."""
    first = [*islice(names, _FEW + 1)]
    return between.join([*first[:_FEW], *([f"… ({count:,} in all)"] if len(first) > _FEW else ())])
