# SPDX-License-Identifier: GPL-2.0-or-later
"""The classifiers: what each matches as attributes, and under which numbers it has what all of them have."""

import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from netgroupd.kernel.netlink.message import u32
from netgroupd.kernel.tc import ematches, flower, programs
from netgroupd.kernel.tc import u32 as words
from netgroupd.kernel.tc.programs import Numbers
from netgroupd.model.rule import mark_text, split_mark
from netgroupd.model.tc.filter import FLOW_KEYS
from netgroupd.model.tc.handle import handle_number, handle_text
from netgroupd.model.value import Value

SKIP_HW, SKIP_SW = 1, 2
BPF_FLAGS = 8

Match = tuple[tuple[str, Value], ...]
Found = Mapping[int, memoryview]


class Classifier(NamedTuple):
    """One kind: the numbers of its actions, class and flags, and both ways of what it matches.

    ``handle`` is given where the kernel does not choose one itself.  ``police`` is the number
    of a policer in the place of actions, as rules had it before there were any.
    """

    actions: int
    classid: int
    flags: int
    pack: Callable[[Match], bytes]
    unpack: Callable[[Found, int], dict[str, Value]]
    handle: Callable[[Match], int] = lambda _match: 0
    police: int = 0


_FW_MASK = 5


def _pack_fw(match: Match) -> bytes:
    mask = split_mark(str(dict(match)["mark"]))[1]
    return u32(_FW_MASK, mask)


def _unpack_fw(found: Found, handle: int) -> dict[str, Value]:
    mask = int.from_bytes(found[_FW_MASK], "little") if _FW_MASK in found else 0xFFFFFFFF
    return {"mark": mark_text(handle, mask)}


def _pack_basic(match: Match) -> bytes:
    said = dict(match).get("match")
    return ematches.pack(str(said)) if said else b""


def _unpack_basic(found: Found, _handle: int) -> dict[str, Value]:
    # Without conditions the kernel shows a tree with none.
    text = ematches.unpack(found[ematches.TREE]) if ematches.TREE in found else ""
    return {"match": text} if text else {}


PROGRAM = Numbers(4, 5, 6, 7, 11)


def _pack_bpf(match: Match) -> bytes:
    return programs.pack(dict(match), PROGRAM)


def _unpack_bpf(found: Found, _handle: int) -> dict[str, Value]:
    return programs.unpack(found, PROGRAM)


_FLOW = {"mode": 2, "baseclass": 3, "rshift": 4, "addend": 5, "mask": 6, "xor": 7, "divisor": 8, "perturb": 12}
_ALL_BITS = 0xFFFFFFFF
_FLOW_KEYS = 1
_FLOW_NUMBERS = ("divisor", "perturb", "xor", "rshift", "addend")
_FLOW_MODES = ("map", "hash")


def _pack_flow(match: Match) -> bytes:
    said = dict(match)
    keys = said.get("keys", ())
    assert isinstance(keys, tuple)
    parts = [u32(_FLOW_KEYS, sum(1 << FLOW_KEYS.index(str(name)) for name in keys))]
    for name, number in _FLOW.items():
        value = said.get(name)
        if name == "mode" and value is not None:
            value = _FLOW_MODES.index(str(value))
        elif name == "baseclass" and value is not None:
            value = handle_number(str(value))
        parts += [u32(number, value)] if isinstance(value, int) else []
    return b"".join(parts)


def _unpack_flow(found: Found, _handle: int) -> dict[str, Value]:
    numbers = {name: int.from_bytes(found[number], "little") for name, number in _FLOW.items() if number in found}
    bits = int.from_bytes(found[_FLOW_KEYS], "little")
    match: dict[str, Value] = {"keys": tuple(name for place, name in enumerate(FLOW_KEYS) if bits >> place & 1)}
    match["mode"] = _FLOW_MODES[numbers.get("mode", 0)]
    if numbers.get("baseclass", 1) & 0xFFFF != 1:  # the first class is what the kernel takes by itself
        match["baseclass"] = handle_text(numbers["baseclass"])
    if numbers.get("mask", _ALL_BITS) != _ALL_BITS:
        match["mask"] = numbers["mask"]
    return match | {name: numbers[name] for name in _FLOW_NUMBERS if numbers.get(name)}


CLASSIFIERS: Mapping[str, Classifier] = {
    "flower": Classifier(3, 1, 22, flower.pack, lambda found, _handle: flower.unpack(found)),
    "matchall": Classifier(2, 1, 3, lambda _match: b"", lambda _found, _handle: {}),
    "u32": Classifier(7, 1, 11, words.pack, words.unpack, words.handle, police=6),
    "fw": Classifier(4, 1, 0, _pack_fw, _unpack_fw, lambda match: split_mark(str(dict(match)["mark"]))[0], police=2),
    "basic": Classifier(3, 1, 0, _pack_basic, _unpack_basic, police=4),
    "bpf": Classifier(1, 3, 9, _pack_bpf, _unpack_bpf, police=2),
    "flow": Classifier(
        9, 0, 0, _pack_flow, _unpack_flow, lambda match: zlib.crc32(repr(match).encode()) & 0x7FFFFFFF | 1, police=10
    ),
}
