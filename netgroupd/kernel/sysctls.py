# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings: files under /proc/sys, opened inside the network namespace that they are of.

Nobody can list the settings that somebody has changed, so a dump brings those
whose paths are asked for.
"""

from collections.abc import Iterator
from pathlib import Path

from netgroupd.kernel.netns import entered
from netgroupd.kernel.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.rows import single
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, Op

_ROOT = Path("/proc/sys")


def dump(context: Context, selection: Selection) -> list[Object]:
    """The settings asked for that exist; one that cannot be read is as if there were none."""
    found = []
    with entered(context.netns):
        for path in sorted(selection.settings):
            try:
                text = (_ROOT / path).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            found.append(Object("sysctl", (path,), {"value": " ".join(text.split())}))
    return found


def _write(path: str, value: str, netns: str | None) -> None:
    with entered(netns), (_ROOT / path).open("w", encoding="utf-8") as file:
        file.write(f"{value}\n")  # without the end of a line an empty value would not be written at all


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """Writing the setting; one that no file names any more keeps its value."""
    one = single(step)
    if one.op is not Op.DELETE:
        path, value = str(one.object.key[0]), str(one.object.attrs["value"])
        yield Call(lambda: _write(path, value, context.netns))


CODEC = Codec(dump, encode)
