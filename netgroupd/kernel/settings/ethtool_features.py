# SPDX-License-Identifier: GPL-2.0-or-later
"""Features of links: what they have of those asked for, and how they get what is wanted.

A feature is wanted, and active: the kernel leaves one off as long as another that it
depends on is.  What is active counts; where it is not what somebody wanted, both are told,
as ``ethtool -k`` does: ``off [requested on]``.  Of words that are several features one is on
if all of them are, and the list of those that are stands for anything in between.
"""

import errno
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from netgroupd.kernel.netlink import bitset
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import attributes, nest, u32, walk
from netgroupd.model.ethtool import FAMILIES, FEATURES, PARTS
from netgroupd.model.state import Attrs
from netgroupd.model.value import Value

FAMILY = "ethtool"
_HEADER = 1
_INDEX, _FLAGS = 1, 3
COMPACT = 1
_STRINGS_GET, _STRING_SETS, _SET, _ID, _TEXTS, _TEXT, _TEXT_INDEX, _TEXT_VALUE = 1, 2, 1, 1, 3, 1, 1, 2
_OF_FEATURES = 4
_HARDWARE, _WANTED, _ACTIVE, _FIXED = 2, 3, 4, 5
_REQUESTED = " [requested "
_ON, _OFF = "on", "off"

_known: WeakKeyDictionary[Generic, Mapping[str, int]] = WeakKeyDictionary()


class Features(NamedTuple):
    """Those of one link, as bits: what can be changed, what is wanted and what is active."""

    changeable: int
    wanted: int
    active: int

    @classmethod
    def told(cls, told: Mapping[int, memoryview]) -> "Features":
        """What a message of the kernel says."""
        bits = {kind: bitset.unpack_compact(told[kind])[0] for kind in (_HARDWARE, _WANTED, _ACTIVE, _FIXED)}
        return cls(bits[_HARDWARE] & ~bits[_FIXED], bits[_WANTED], bits[_ACTIVE])


def places(generic: Generic) -> Mapping[str, int]:
    """The number of each feature that the kernel knows, asked once."""
    if (found := _known.get(generic)) is None:
        wanted = nest(_STRING_SETS, nest(_SET, u32(_ID, _OF_FEATURES)))
        of_no_link = nest(_HEADER)
        read = generic.read(
            FAMILY, _STRINGS_GET, lambda _kind, payload: dict(_texts(payload)), of_no_link, wanted, dump=False
        )
        found = _known[generic] = read[0] if read else {}
    return found


def _texts(payload: memoryview) -> Iterator[tuple[str, int]]:
    (sets,) = (attributes(payload, 4)[kind] for kind in (_STRING_SETS,))
    for _, start, end in walk(sets):
        texts = attributes(sets, start, end)[_TEXTS]
        for _, first, last in walk(texts):
            told = attributes(texts, first, last)
            name = bytes(told[_TEXT_VALUE]).rstrip(b"\0").decode(errors="replace")
            yield name, int.from_bytes(told[_TEXT_INDEX], "little")


def features_of(generic: Generic) -> Mapping[int, Features]:
    """The features of all links, by index."""
    known: dict[bytes, Features] = {}  # most links have those of others

    def decode(_kind: int, payload: memoryview) -> tuple[int, Features]:
        told = attributes(payload, 4)
        said = said_in(told)
        if said not in known:
            known[said] = Features.told(told)
        return int.from_bytes(attributes(told[_HEADER])[_INDEX], "little"), known[said]

    return dict(generic.read(FAMILY, PARTS[FEATURES].get, decode, nest(_HEADER, u32(_FLAGS, COMPACT))))


def said_in(told: Mapping[int, memoryview]) -> bytes:
    """What a message says of a link, whichever that is."""
    return b"".join(value for number, value in told.items() if number != _HEADER)


def changed(features: Features, usual: Features, numbers: Mapping[str, int]) -> dict[str, Value]:
    """What somebody has asked for and got, and is otherwise with a link like this; by words for several if it fits."""
    can = features.changeable & usual.changeable & ~(features.wanted ^ features.active)
    bits = (features.wanted ^ usual.wanted) & can
    found: dict[str, Value] = {}
    for name in (*FAMILIES, *numbers) if bits else ():
        members = _joined(_members(name, features, numbers))
        if members & bits and not members & ~bits and members & features.wanted in (0, members):
            found[name] = bool(members & features.wanted)
            bits &= ~members
    return found


def values(features: Features, names: Iterable[str], numbers: Mapping[str, int]) -> dict[str, Value]:
    """What a link has of the features asked for; nothing of those that the kernel does not know."""
    return {name: _value(features, _members(name, features, numbers)) for name in names if _is_known(name, numbers)}


def _is_known(name: str, numbers: Mapping[str, int]) -> bool:
    return name in numbers or (name in FAMILIES and any(member in numbers for member in FAMILIES[name]))


def _members(name: str, features: Features, numbers: Mapping[str, int]) -> dict[str, int]:
    """The bits that a word stands for: of several those that can change, or, if none can, those that are active."""
    if name not in FAMILIES:
        return {name: 1 << numbers[name]}
    bits = {member: 1 << numbers[member] for member in FAMILIES[name] if member in numbers}
    own = {member: bit for member, bit in bits.items() if bit & features.changeable}
    return own or {member: bit for member, bit in bits.items() if bit & features.active}


def _value(features: Features, members: Mapping[str, int]) -> Value:
    """On or off where that is what was wanted, else a text that says all."""
    mask = _joined(members)
    differs = (features.active ^ features.wanted) & mask & features.changeable
    active = features.active & mask
    if not differs and active in (0, mask):
        return bool(active)
    said = _listed(active, members)
    return f"{said}{_REQUESTED}{_listed(features.wanted, members)}]" if differs else said


def _joined(members: Mapping[str, int]) -> int:
    return sum(members.values())


def _listed(bits: int, members: Mapping[str, int]) -> str:
    found = [name for name, bit in members.items() if bit & bits]
    if len(found) == len(members):
        return _ON
    return ",".join(found) or _OFF


def _asked(value: Value, members: Mapping[str, int]) -> int:
    """The bits that a value wants to be on."""
    if isinstance(value, str):
        said = value.partition(_REQUESTED)[2].removesuffix("]") or value
        if said not in (_ON, _OFF):
            return _joined({name: bit for name, bit in members.items() if name in said.split(",")})
        value = said == _ON
    return _joined(members) if value else 0


def configure(generic: Generic, link: bytes, name: str, attrs: Attrs, *, strict: bool = True) -> None:
    """Give the link, whose header is ``link``, the features in ``attrs``; ``strict``, all of them at once.

    Raises:
        OSError: There is no such feature, it cannot change there, or the kernel leaves it as it is.
    """
    generic.family(FAMILY)
    numbers = places(generic)
    for feature in attrs:
        if not _is_known(feature, numbers):
            raise OSError(errno.EOPNOTSUPP, _unknown(feature, numbers))
    part = PARTS[FEATURES]
    decoded = generic.read(
        FAMILY, part.get, lambda _kind, payload: Features.told(attributes(payload, 4)), link, dump=False
    )
    before = decoded[0]
    value, mask, at_once = _wanted(attrs, before, numbers)
    if fixed := (value ^ before.active) & mask & ~before.changeable:
        told, state = _named(fixed, attrs, before, numbers), _ON if before.active & fixed else _OFF
        raise OSError(errno.EOPNOTSUPP, f"{told} of {name} cannot be changed: it is fixed {state}")
    size = max(numbers.values()) + 1
    mask &= before.changeable
    unmet = _set(generic, link, size, value, mask) & (at_once if strict else 0)
    if unmet:
        _set(generic, link, size, before.wanted, mask)
        told, state = _named(unmet, attrs, before, numbers), _OFF if value & unmet else _ON
        raise OSError(errno.EINVAL, f"{told} of {name} stays {state}: it depends on other features of it")


def _wanted(attrs: Attrs, features: Features, numbers: Mapping[str, int]) -> tuple[int, int, int]:
    """The bits to set, those that are spoken of, and those of them that are to be so at once."""
    value = mask = strict = 0
    for name, wanted in attrs.items():
        members = _meant(name, features, numbers) if wanted else _members(name, features, numbers)
        bits = _joined(members)
        value |= _asked(wanted, members)
        mask |= bits
        strict |= bits if isinstance(wanted, bool) else 0
    return value, mask, strict


def _meant(name: str, features: Features, numbers: Mapping[str, int]) -> dict[str, int]:
    """The bits that a word stands for, also where the link has none of them at all."""
    found = _members(name, features, numbers)
    return found or {each: 1 << numbers[each] for each in FAMILIES[name] if each in numbers}


def _named(bits: int, attrs: Attrs, features: Features, numbers: Mapping[str, int]) -> str:
    """The first of ``attrs`` that speaks of one of ``bits``."""
    for name in attrs:
        if _joined(_meant(name, features, numbers)) & bits:
            return repr(name)
    return "it"


def _set(generic: Generic, link: bytes, size: int, value: int, mask: int) -> int:
    """Want these; the bits that are not as wanted."""
    said = bitset.compact(_WANTED, size, value & mask, mask)

    def decode(_kind: int, payload: memoryview) -> int:
        return bitset.unpack_compact(attributes(payload, 4)[_WANTED])[1]

    return sum(generic.answered(FAMILY, PARTS[FEATURES].set, decode, link, said))


def _unknown(feature: str, numbers: Mapping[str, int]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # takes milliseconds to load; only mistakes need it

    near = get_close_matches(feature, [*numbers, *FAMILIES], n=1)
    return f"this kernel knows no feature {feature!r}" + (f"; did you mean {near[0]!r}?" if near else "")
