# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF programs of filters and actions: as bytecode, or by the path where one is pinned.

What is pinned at a path can be replaced, and a filter goes on with what was there
before; whether it is ``CURRENT`` is a fact like others, and no file says it.
"""

from collections.abc import Mapping

from netgroupd.model.value import Type, Value, string

CURRENT = "current"
_BYTECODE = string(
    65535, r"[0-9]{1,10}(,[0-9]{1,10}( [0-9]{1,10}){3})+", "instructions as `tcpdump -ddd` gives them, after commas"
)
_FIELDS = (0xFFFF, 0xFF, 0xFF, 0xFFFFFFFF)  # the most of code, jumps if true and false, operand
_MOST = 3900  # the kernel takes 196 more, but does not tell of what holds them


def _parse_bytecode(raw: object) -> Value:
    count, *lines = str(_BYTECODE.parse(raw)).split(",")
    if int(count) != len(lines) or len(lines) > _MOST:
        raise ValueError(f"expected {_BYTECODE.expected}: as many as the number before them says, up to {_MOST}")
    code = [[int(number) for number in line.split()] for line in lines]
    if any(number > most for line in code for number, most in zip(line, _FIELDS, strict=True)):
        raise ValueError(f"expected {_BYTECODE.expected}, of numbers up to {', '.join(map(str, _FIELDS))}")
    return ",".join((str(len(code)), *(" ".join(map(str, line)) for line in code)))


PROGRAM: Mapping[str, Type] = {
    "bytecode": _BYTECODE._replace(parse=_parse_bytecode),
    "pinned": string(255, r"/.+", "the path of a program that is pinned, such as /sys/fs/bpf/guests"),
}


def one_program(said: Value) -> Value:
    """The fields, which must name one program; raises ValueError."""
    assert isinstance(said, Mapping)
    if len(said.keys() & PROGRAM.keys()) != 1:
        raise ValueError("expected either bytecode or pinned")
    return said
