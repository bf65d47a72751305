# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of numbers that links have, of VLANs and of VNIs: each message of a dump is about one link and many of them."""

import errno
import struct
from collections.abc import Callable, Iterable, Mapping

from netgroupd.errors import KernelError
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.request import Context, Selection
from netgroupd.kernel.rows import single
from netgroupd.model.family import BRIDGE
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, RangeStep, Step

_HEADER = struct.Struct("=BBHI")  # family, -, -, ifindex

BODY = _HEADER.size


def header(index: int) -> bytes:
    """What every message about such a list begins with; 0 is all links."""
    return _HEADER.pack(BRIDGE, 0, 0, index)


def numbers(found: Mapping[int, memoryview], first: int, last: int) -> range:
    """Those from attribute ``first`` to ``last``, or the one alone."""
    start = int.from_bytes(found[first], "little")
    return range(start, 1 + (int.from_bytes(found[last], "little") if last in found else start))


def ends(step: AnyStep) -> tuple[Step, int, int]:
    """The step that one or a range begins with, and the numbers that it begins and ends with."""
    steps = step.steps if isinstance(step, RangeStep) else (single(step),)
    first, last = (side.object.key[1] for side in (steps[0], steps[-1]))
    assert isinstance(first, int)
    assert isinstance(last, int)
    return steps[0], first, last


def dump_lists(
    context: Context,
    selection: Selection,
    kind: int,
    decode: Callable[[memoryview, str], Iterable[Object]],
    what: str,
    *,
    said: bytes = b"",
    index: int = 0,
) -> list[Object]:
    """What the selected links have on their lists; nothing where the kernel knows no such lists.

    ``said`` is what the request says besides; with an ``index`` it is about that link alone.
    """
    asked = message.request(kind, message.NLM_F_DUMP, header(index), said)
    try:
        payloads = context.socket.dump(asked, lambda _kind, payload: bytes(payload), what)
    except KernelError as error:
        if error.refusals[0].errno == errno.EOPNOTSUPP:
            return []
        raise
    found: list[Object] = []
    for payload in payloads:
        try:
            link = context.names.name(_HEADER.unpack_from(payload)[3])
        except UnknownLinkError:
            continue
        if selection.everything or link in selection.links:
            found += decode(memoryview(payload), link)
    return found
