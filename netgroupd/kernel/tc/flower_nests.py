# SPDX-License-Identifier: GPL-2.0-or-later
"""What flower matches in nests of attributes, as attributes and back."""

from collections.abc import Mapping

from netgroupd.kernel.netlink.message import attr, attributes, nest, u8, u32, walk
from netgroupd.model.tc.options import (
    CFM,
    LSE,
    TUNNELS,
    Geneve,
    fields_text,
    geneve_text,
    ones,
    read_fields,
    read_geneve,
    read_words,
    words_text,
)
from netgroupd.model.value import Value

_OPTS, _OPTS_MASK = 84, 85
_GENEVE = 1
_STACK, _ENTRY, _LABEL = 99, 1, 5
_CFM = 107
NUMBERS = frozenset({_OPTS, _OPTS_MASK, _STACK, _CFM})
"""The attributes that are read."""
_LSE_NUMBERS = {name: number for number, name in enumerate(LSE, 1)}
_CFM_NUMBERS = {name: number for number, name in enumerate(CFM, 1)}
_TUNNELS = {fields.number: name for name, fields in TUNNELS.items()}


def pack(name: str, value: Value) -> bytes:
    """The attributes for one key."""
    if name == "mpls_lse":
        assert isinstance(value, tuple)
        return nest(_STACK, *(nest(_ENTRY, _pack_words(str(entry), LSE, _LSE_NUMBERS)) for entry in value))
    if name == "cfm":
        return nest(_CFM, _pack_words(str(value), CFM, _CFM_NUMBERS))
    if name == "geneve_opts":
        masks = [nest(_GENEVE, *_pack_geneve(one.mask)) for one in read_geneve(str(value))]
        return nest(_OPTS, options(name, value)) + nest(_OPTS_MASK, *masks)
    number = TUNNELS[name].number
    found = read_fields(name, str(value))
    # What cannot be masked has its value in the mask too.
    halves = ((field, said if field.exact else mask) for field, said, mask in found)
    masked = b"".join(attr(field.number, mask.to_bytes(field.size, field.order)) for field, mask in halves)  # type: ignore[arg-type]
    return nest(_OPTS, options(name, value)) + nest(_OPTS_MASK, nest(number, masked))


def options(name: str, value: Value) -> bytes:
    """The options of a tunnel themselves, which the action tunnel_key sets as flower matches them."""
    if name == "geneve_opts":
        return b"".join(nest(_GENEVE, *_pack_geneve(one.value)) for one in read_geneve(str(value)))
    found = read_fields(name, str(value))
    packed = b"".join(attr(field.number, said.to_bytes(field.size, field.order)) for field, said, _ in found)  # type: ignore[arg-type]
    return nest(TUNNELS[name].number, packed)


def unpack(found: Mapping[int, memoryview]) -> dict[str, Value]:
    """What a rule matches in nests, out of the attributes of its options."""
    match: dict[str, Value] = {}
    if _STACK in found:
        entries = [found[_STACK][start:end] for _, start, end in walk(found[_STACK])]
        match["mpls_lse"] = tuple(_unpack_words(entry, _LSE_NUMBERS) for entry in entries)
    if _CFM in found:
        match["cfm"] = _unpack_words(found[_CFM], _CFM_NUMBERS)
    if _OPTS in found:
        match |= unpack_options(found[_OPTS], found[_OPTS_MASK])
    return match


def _pack_words(text: str, known: Mapping[str, tuple[int, int]], numbers: Mapping[str, int]) -> bytes:
    said = read_words(text, known)
    return b"".join((u32 if name == "label" else u8)(numbers[name], value) for name, value in said.items())


def _unpack_words(payload: memoryview, numbers: Mapping[str, int]) -> str:
    found = attributes(payload)
    return words_text({name: int.from_bytes(found[at], "little") for name, at in numbers.items() if at in found})


def _pack_geneve(parts: tuple[bytes, bytes, bytes]) -> list[bytes]:
    return [attr(number, part) for number, part in enumerate(parts, 1)]


def unpack_options(payload: memoryview, mask: memoryview | None = None) -> dict[str, Value]:
    """The options of a tunnel; without a mask all of their bits count."""
    number, start, end = next(walk(payload))
    if number == _GENEVE:
        parts = _geneve_parts(payload)
        masked = _geneve_parts(mask) if mask else [ones(one) for one in parts]
        return {"geneve_opts": geneve_text([Geneve(*pair) for pair in zip(parts, masked, strict=True)])}
    if number not in _TUNNELS:
        return {}
    name = _TUNNELS[number]
    values = attributes(payload, start, end)
    masks: Mapping[int, memoryview] = {}
    if mask:  # where the kernel aligns numbers of 64 bits, either may be padded without the other
        _, start, end = next(walk(mask))
        masks = attributes(mask, start, end)
    fields = TUNNELS[name].of(values[1][0])
    said = [int.from_bytes(values[field.number], field.order) for field in fields]  # type: ignore[arg-type]
    kept = [
        field.full if field.exact or not mask else int.from_bytes(masks[field.number], field.order)  # type: ignore[arg-type]
        for field in fields
    ]
    return {name: fields_text(tuple(zip(fields, said, kept, strict=True)))}


def _geneve_parts(payload: memoryview) -> list[tuple[bytes, bytes, bytes]]:
    """The options, whether each is in a nest of its own, as they are sent, or all in one, as they come back."""
    parts = [
        bytes(payload[first:last]) for _, start, end in walk(payload) for _, first, last in walk(payload, start, end)
    ]
    return list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
