# SPDX-License-Identifier: GPL-2.0-or-later
"""A text -> its skeleton, which is what stays where only numbers, MACs and addresses vary, and these as values."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from netgroupd.model.value import ip_bytes, ip_text

_NUMBER = re.compile(r"([0-9]+)")
_TOKEN = re.compile(
    r"\[(?:v=)?[0-9,/-]+\]|\{v\b[^{}]*\}"  # a range is what it is, and what refers to it
    r"|(?<![0-9a-z:.])(?P<mac>(?:[0-9a-f]{2}:){5}[0-9a-f]{2})(?![0-9a-z:])"
    r"|(?<![0-9a-z:.])(?P<ip6>[0-9a-f]*:[0-9a-f:]*:[0-9a-f:]*)(?![0-9a-z.])"
    r"|(?<![0-9a-z.])(?P<ip4>[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)(?![0-9a-z.])"
    r"|(?P<number>[0-9]+)"
)
_NO_WIDTHS = [""] * 64  # more numbers than a name has characters

Skeleton: TypeAlias = tuple[str, ...]
"""The texts around the values, and behind them the form of each value."""


def of_name(text: str) -> tuple[Skeleton, tuple[int, ...]]:
    """The skeleton of a name, in which all values are numbers, and these."""
    parts = _NUMBER.split(text)
    numbers = parts[1::2]
    values = tuple(map(int, numbers))
    if [*map(str, values)] == numbers:
        widths = _NO_WIDTHS[: len(numbers)]
    else:
        widths = [str(len(number)) if number[0] == "0" and number != "0" else "" for number in numbers]
    return (*parts[::2], *widths), values


def of_text(text: str) -> tuple[Skeleton, list[int]]:
    """The skeleton of any other text, and its values."""
    texts, forms, values, end = [], [], [], 0
    for match in _TOKEN.finditer(text):
        form = str(match.lastgroup)
        if match.lastgroup is None:
            continue
        try:
            value, form = _value(form, match[0])
        except ValueError:
            continue
        texts.append(text[end : match.start()])
        forms.append(form)
        values.append(value)
        end = match.end()
    texts.append(text[end:])
    return (*texts, *forms), values


def _value(form: str, text: str) -> tuple[int, str]:
    if form == "mac":
        return int(text.replace(":", ""), 16), form
    if form in ("ip4", "ip6"):
        payload = ip_bytes(text)
        if ip_text(payload) != text:
            raise ValueError(text)  # written otherwise, it must stay so
        return int.from_bytes(payload, "big"), form
    return int(text), str(len(text)) if text[0] == "0" and len(text) > 1 else ""


def _of_ip4(text: str) -> int:
    return int.from_bytes(map(int, text.split(".")), "big")


_PLAIN = "(0|[1-9][0-9]*)"
_OCTET = "(?:0|[1-9][0-9]{0,2})"
_FORMS: dict[str, tuple[str, Callable[[str], int]]] = {
    "": (_PLAIN, int),
    "mac": ("((?:[0-9a-f]{2}:){5}[0-9a-f]{2})", lambda text: _value("mac", text)[0]),
    "ip4": (f"({_OCTET}\\.{_OCTET}\\.{_OCTET}\\.{_OCTET})", _of_ip4),
    "ip6": ("([0-9a-f:]*)", lambda text: _value("ip6", text)[0]),
}


class _Like(NamedTuple):
    """What tells texts of one skeleton from all others, and reads their values."""

    fits: Callable[[str], re.Match[str] | None]
    reads: Sequence[Callable[[str], int]]

    @classmethod
    def of(cls, skeleton: Skeleton) -> "_Like":
        first, *texts = skeleton[: len(skeleton) // 2 + 1]
        forms = [_FORMS.get(form) or (f"(0[0-9]{{{int(form) - 1}}})", int) for form in skeleton[len(texts) + 1 :]]
        around = [form + re.escape(text) for (form, _), text in zip(forms, texts, strict=True)]
        return cls(re.compile("".join((re.escape(first), *around))).fullmatch, [read for _, read in forms])


class Column:
    """Reads one text after the other: most of very many have the skeleton of the one before."""

    def __init__(self) -> None:
        self._known: dict[Skeleton, _Like] = {}
        self._last: Skeleton = ()
        self._like: _Like | None = None

    def read(self, text: str) -> tuple[Skeleton, Sequence[int]]:
        """As ``of_text``."""
        if self._like and (match := self._like.fits(text)):
            try:
                return self._last, [read(value) for read, value in zip(self._like.reads, match.groups(), strict=True)]
            except ValueError:  # it is none of that form
                pass
        found = of_text(text)
        if found[0] == self._last and found[1]:  # of one that does not come again there is nothing to be gained
            self._like = self._known.get(self._last) or _Like.of(self._last)
            self._known[self._last] = self._like
        else:
            self._last, self._like = found[0], None
        return found
