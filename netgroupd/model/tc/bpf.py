# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF programs of filters and actions: as bytecode, or by the path where one is pinned.

What is pinned at a path can be replaced, and a filter goes on with what was there
before; whether it is ``CURRENT`` is a fact like others, and no file says it.
"""

from collections.abc import Mapping

from netgroupd.model.value import Type, Value, string

CURRENT = "current"
PROGRAM: Mapping[str, Type] = {
    "bytecode": string(65535, r"\d+(,\d+ \d+ \d+ \d+)+", "instructions as `tcpdump -ddd` gives them, after commas"),
    "pinned": string(255, r"/.+", "the path of a program that is pinned, such as /sys/fs/bpf/guests"),
}


def one_program(said: Value) -> Value:
    """The fields, which must name one program; raises ValueError."""
    assert isinstance(said, Mapping)
    if len(said.keys() & PROGRAM.keys()) != 1:
        raise ValueError("expected either bytecode or pinned")
    return said
