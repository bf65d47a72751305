# SPDX-License-Identifier: GPL-2.0-or-later
"""Where each rendered line comes from: template, line and, where it can be told, column.

A template's line may give thousands of rendered ones, and an included file's
lines land in the middle of another's.  The worker counts on the way; this is
the table it leaves behind, checked, so that a lookup costs two subscripts.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from netgroupd.config.sources import Source

LINE_BITS = 32
LONGEST_SHOWN = 1000  # a file may be one line of 10 MB, and have a thousand problems


class Lines:
    """The lines of texts; each text is split once, however many of its lines are asked for."""

    def __init__(self) -> None:
        self._split: dict[str, list[str]] = {}

    def of(self, text: str, line: int) -> str:
        """One line of ``text``, without its end; "" where there is none."""
        lines = self._split.get(text)
        if lines is None:
            lines = self._split[text] = text.split("\n")
        return lines[line - 1].removesuffix("\r") if 0 < line <= len(lines) else ""


class LineMap(NamedTuple):
    """Rendered line -> (file, line); no origins at all stands for a file rendered to itself."""

    files: tuple[Source, ...]
    origins: "array[int] | None" = None  # one per rendered line: index into files << LINE_BITS | line

    def origin(self, rendered_line: int) -> tuple[str, int]:
        """Name the template and its line; beyond the last rendered line, that of the last."""
        source, line = self._find(rendered_line)
        return source.path, line

    def locate(self, rendered_line: int, column: int, rendered: str, lines: Lines) -> tuple[Source, int, int]:
        """Point into the template, given the rendered text and the lines of both."""
        source, line = self._find(rendered_line)
        if self.origins is None:
            return source, line, column
        return source, line, column_in(lines.of(source.text, line), lines.of(rendered, rendered_line), column)

    def _find(self, rendered_line: int) -> tuple[Source, int]:
        if self.origins is None:
            return self.files[0], max(rendered_line, 1)
        if not self.origins:
            return self.files[0], 1
        code = self.origins[min(max(rendered_line, 1), len(self.origins)) - 1]
        return self.files[code >> LINE_BITS], code & ((1 << LINE_BITS) - 1)


def from_bytes(files: Sequence[Source], packed: bytes, rendered: str) -> LineMap:
    """Read the worker's table; it is not believed further than it fits.

    Raises:
        ValueError: It does not fit the text or the files.
    """
    origins = array("Q")
    origins.frombytes(packed)
    if len(origins) != rendered.count("\n") + 1:
        raise ValueError("not one origin for each rendered line")
    limits = [source.text.count("\n") + 1 for source in files]
    for code in set(origins):
        index, line = code >> LINE_BITS, code & ((1 << LINE_BITS) - 1)
        if index >= len(files) or not 1 <= line <= limits[index]:
            raise ValueError("an origin outside the templates")
    return LineMap(tuple(files), origins)


def shown(line: str, column: int) -> str:
    """What of a line is told with a problem at ``column``; nothing where that is further right than anybody looks."""
    return line[:LONGEST_SHOWN] if column <= LONGEST_SHOWN else ""


def column_in(template: str, rendered: str, column: int) -> int:
    """Find in a template's line what stands at ``column`` of a line rendered from it.

    Text before the first ``${`` is the same in both, so the column is too.
    After it, the word itself is looked for; failing that, it came out of the
    expression, whose beginning is the best that can be said.
    """
    if column <= len(rendered) and template.startswith(rendered[:column]):
        return column  # at C speed for nearly all
    common = 0
    for ours, theirs in zip(template, rendered, strict=False):
        if ours != theirs:
            break
        common += 1
    word = _word_at(rendered, column)
    found = template.find(word, common) if word else -1
    if found >= 0:
        return found + 1
    expression = template.rfind("${", 0, common + 2)
    return (expression if expression >= 0 else len(template) - len(template.lstrip())) + 1


def _word_at(text: str, column: int) -> str:
    end = column - 1
    while end < len(text) and (text[end].isalnum() or text[end] in "_-"):
        end += 1
    return text[column - 1 : end]
