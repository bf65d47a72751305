# SPDX-License-Identifier: GPL-2.0-or-later
"""The pieces a template wrote -> its text, and the origin of each line of it.

A line belongs to the first piece that put something visible into it: an
``<%include>`` that is indented belongs to the included file's line.
"""

from array import array

from netgroupd.config.worker.template import Piece


class UnprintableError(Exception):
    """A template wrote something that is not text; ``origin`` says where."""

    def __init__(self, origin: int, kind: str) -> None:
        self.origin = origin
        super().__init__(f"this expression gives {kind}, not text")


class Trace:
    """The buffer that Mako writes to."""

    def __init__(self, file: int) -> None:
        self._start = Piece.at("", file, 1).origin
        self._written: list[str] = []
        self.write = self._written.append

    def getvalue(self) -> str:
        """Join what was written."""
        return "".join(self._written)

    def size(self) -> int:
        """Count the characters without joining them."""
        return sum(map(len, self._written))

    def origins(self) -> "array[int]":
        """Tell the origin of each line.

        Raises:
            UnprintableError: Something in the list is not text.
        """
        found: list[int] = []
        here = self._start  # where the writing is
        line = 0  # where the line being written began, once it has
        visible = False  # whether that line has anything but white space yet
        for item in self._written:
            if type(item) is Piece:
                here = item.origin
                if not visible and item and (not item.blank or not line):
                    line, visible = here, not item.blank
                if item.inner:
                    found.append(line)
                    found.extend(item.inner[:-1])
                    here = item.inner[-1]
                    line, visible = (here, item.ends_visible) if item[-1] != "\n" else (0, False)
            elif type(item) is not str:
                raise UnprintableError(here, f"a {type(item).__name__}")
            else:
                if not visible and item and not (line and item.isspace()):
                    line, visible = here, not item.isspace()
                if "\n" in item:
                    found.append(line)
                    found.extend([here] * (item.count("\n") - 1))
                    line, visible = here, bool(item.rpartition("\n")[2].strip())
        found.append(line or here)
        return array("Q", found)
