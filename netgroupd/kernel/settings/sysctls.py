# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings: files under /proc/sys, opened inside the network namespace that they are of.

Nobody can list the settings that somebody has changed, so a dump brings those
whose paths are asked for.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from netgroupd.kernel.netlink.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.netns import entered
from netgroupd.kernel.rows import single
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, Op

_ROOT = Path("/proc/sys")
_OF_LINKS = re.compile(r"(net/[^/]+/(?:conf|neigh)/)(?!(?:all|default)/)[^/]+(/.+)")
_PAGE, _MOST = 1 << 12, 1 << 20
_EVERY_NAMESPACE_HAS = "lo"


def dump(context: Context, selection: Selection) -> list[Object]:
    """The settings asked for that exist; one that cannot be read is as if there were none."""
    found = []
    with entered(context.netns):
        for path in sorted(selection.settings):
            try:
                value = read(f"{_ROOT}/{path}")
            except OSError:
                continue
            found.append(Object("sysctl", (path,), {"value": value}))
    return found


def read(path: str) -> str:
    """The setting in a file, with single blanks; there may be a hundred for each link.

    Raises:
        OSError: There is none, or it cannot be read.
    """
    # Any object for the file costs more than reading it does, and asks the kernel what kind of file that is.
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        told = os.read(file, _PAGE)
        if len(told) == _PAGE:  # the kernel tells a long list of numbers at once or not whole
            told = os.pread(file, _MOST, 0)
    finally:
        os.close(file)
    return " ".join(told.decode(errors="replace").split())


def unknown(context: Context, paths: Iterable[str]) -> dict[str, str]:
    """Those of ``paths`` that are no settings, each with the name beside it that is most like its own, "" for none.

    A link that is not there, or that has not this protocol yet, will have the settings that every link has.
    """
    found, asked = dict[str, str](), dict[str, str | None]()
    with entered(context.netns):
        for path in paths:
            if (_ROOT / path).is_file():
                continue
            of_any = _OF_LINKS.sub(rf"\1{_EVERY_NAMESPACE_HAS}\2", path)
            if of_any not in asked:
                asked[of_any] = None if (_ROOT / of_any).is_file() else _nearest(_ROOT / of_any)
            if (near := asked[of_any]) is not None:
                found[path] = near
    return found


def _nearest(missing: Path) -> str:
    """The name that is most like the first part of a path that is not there."""
    from difflib import get_close_matches  # noqa: PLC0415  # takes milliseconds to load; only mistakes need it

    while not missing.parent.is_dir():
        missing = missing.parent
    near = get_close_matches(missing.name, [each.name for each in missing.parent.iterdir()], n=1)
    return near[0] if near else ""


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
