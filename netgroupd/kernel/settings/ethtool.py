# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers are told of their devices, by generic netlink: a message reads a part of a link or of all, one sets it.

A part that a link does not have is as if it were not there; setting it says so.
"""

import errno
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from netgroupd.errors import KernelError, Refusal
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink import bitset
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import attr, attributes, nest, u32
from netgroupd.kernel.netlink.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.rows import single
from netgroupd.kernel.settings.ethtool_features import COMPACT, FAMILY, Features, configure, places, values
from netgroupd.model.ethtool import FEATURES, FLAGS, PARTS
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op

HEADER = 1
_INDEX, _FLAGS = 1, 3
_OF_FLAGS = 2
_LINK_MODES = "link_modes"
# Of these all that is wanted is said, for the kernel takes what is not said from what there happens to be.
_WHOLE = frozenset({FEATURES, _LINK_MODES})
_UNKNOWN: Mapping[str, frozenset[Value]] = {"speed": frozenset({0, 0xFFFFFFFF}), "duplex": frozenset({0xFF})}
_MISSING = frozenset({errno.EOPNOTSUPP, errno.ENODEV})  # the link has no such part, or has gone
_MODES = {"fec": {"off": "None", "rs": "RS", "baser": "BASER", "llrs": "LLRS"}}
"""Names of bits that are others here."""


def dump(context: Context, selection: Selection) -> list[Object]:
    """The parts asked for, of the links that have them."""
    asked: dict[str, dict[int, tuple[str, frozenset[str]]]] = defaultdict(dict)
    for (link, part), names in selection.ethtool.items():
        with suppress(UnknownLinkError):
            asked[str(part)][context.names.index(str(link))] = str(link), names
    found: list[Object] = []
    for part, links in asked.items():
        for index, told in read_part(context, part, links):
            name, names = links[index]
            attrs = unpack(part, told, names, context.generic)
            found.append(Object("ethtool", (name, part), attrs))
    return found


def read_part(context: Context, part: str, indices: Iterable[int]) -> Iterator[tuple[int, Mapping[int, memoryview]]]:
    """What the kernel tells of a part of some links: of each, or of all where that is less."""
    wanted = frozenset(indices)
    asking = partial(_ask, context.generic, part)
    if len(wanted) > 1 and 2 * len(wanted) >= len(context.names):
        payloads = asking(_header(part), dump=True)
    else:
        payloads = [payload for index in wanted for payload in asking(_header(part, index))]
    for payload in payloads:
        told = attributes(memoryview(payload), 4)
        index = int.from_bytes(attributes(told[HEADER])[_INDEX], "little")
        if index in wanted:
            yield index, told


def _header(part: str, index: int = 0) -> bytes:
    flags = u32(_FLAGS, COMPACT) if part == FEATURES else b""
    return nest(HEADER, u32(_INDEX, index) if index else b"", flags)


def _ask(generic: Generic, part: str, header: bytes, *, dump: bool = False) -> list[bytes]:
    try:
        return generic.read(FAMILY, PARTS[part].get, lambda _kind, payload: bytes(payload), header, dump=dump)
    except KernelError as error:
        if error.refusals[0].errno in _MISSING:
            return []
        raise


def unpack(part: str, told: Mapping[int, memoryview], names: Iterable[str], generic: Generic) -> Attrs:
    """What a message says of a part; of features those of these names."""
    if part == FEATURES:
        return values(Features.told(told), names, places(generic))
    if part == FLAGS:
        return dict(bitset.unpack_named(told[_OF_FLAGS]))
    attrs: dict[str, Value] = {}
    for name, row in PARTS[part].attrs.items():
        if (payload := told.get(row.wire)) is None:
            continue
        value = row.type.unpack(bytes(payload)) if row.type.unpack else _modes(part, payload)
        if value not in _UNKNOWN.get(name, ()):
            attrs[name] = value
    if part == "fec" and not (attrs.get("modes") or attrs.get("auto")):
        attrs.pop("modes", None)  # nothing is chosen yet, which nobody can ask for
    return attrs


def _modes(part: str, payload: memoryview) -> Value:
    here = {other: name for name, other in _MODES.get(part, {}).items()}
    return tuple(sorted(here.get(name, name) for name, on in bitset.unpack_named(payload).items() if on))


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """Setting the part; what no file speaks of any more stays as it is."""
    one = single(step)
    if one.op is Op.DELETE:
        return
    link, part = map(str, one.object.key)
    whole = {name: value for name, value in one.object.attrs.items() if name != "optional"}
    attrs = {**whole, **one.attrs} if part in _WHOLE else one.attrs
    strict = whole.keys() == one.object.attrs.keys()
    yield Call(partial(_set, context.generic, context.names.index(link), link, part, attrs, strict=strict))


def _set(generic: Generic, index: int, link: str, part: str, attrs: Attrs, *, strict: bool) -> None:
    """Have the driver take ``attrs``; unless ``strict`` a feature may wait for what it depends on.

    Raises:
        OSError: It does not, with the reason, and the most there is of what is too much.
    """
    try:
        if part == FEATURES:
            configure(generic, _header(part, index), link, attrs, strict=strict)
        else:
            generic.tell(FAMILY, PARTS[part].set, _header(part, index), *_packed(part, attrs))
    except KernelError as error:
        told = error.refusals[0]
        raise OSError(told.errno, _why(generic, index, link, part, attrs, told)) from error
    except OSError as error:
        told = Refusal("", error.errno or 0, error.strerror or str(error))
        raise OSError(error.errno, _why(generic, index, link, part, attrs, told)) from error


def _packed(part: str, attrs: Attrs) -> Iterator[bytes]:
    if part == FLAGS:
        yield bitset.changed(_OF_FLAGS, {name: bool(value) for name, value in attrs.items()})
        return
    for name, value in attrs.items():
        row = PARTS[part].attrs[name]
        if row.type.pack:
            yield attr(row.wire, row.type.pack(value))
        elif isinstance(value, tuple):
            there = _MODES.get(part, {})
            yield bitset.exactly(row.wire, (there.get(str(mode), str(mode)) for mode in value))


def _why(generic: Generic, index: int, link: str, part: str, attrs: Attrs, refusal: Refusal) -> str:
    """What the kernel says, or what is the matter where it says nothing, and the limits that are passed."""
    described = PARTS[part]
    try:
        generic.family(FAMILY)
    except OSError as error:
        return error.strerror or str(error)
    if refusal.errno == errno.EOPNOTSUPP and not generic.knows(FAMILY, described.set):
        return f"this kernel cannot set {described.noun} by netlink"
    told = [attributes(memoryview(payload), 4) for payload in _ask(generic, part, _header(part, index))]
    if refusal.sentence == os.strerror(errno.EOPNOTSUPP):
        return f"the driver of {link} has no {described.noun} that can be set"
    passed = []
    for name, wire in described.most.items():
        most = int.from_bytes(told[0][wire], "little") if told and wire in told[0] else 0
        value = attrs.get(name)
        if isinstance(value, int) and value > most:
            passed.append(f"{name} is at most {most}")
    return "; ".join([refusal.sentence, *passed])


CODEC = Codec(dump, encode)
