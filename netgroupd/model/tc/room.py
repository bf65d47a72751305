# SPDX-License-Identifier: GPL-2.0-or-later
"""How many bytes a rule takes, as it is sent and as the kernel tells it.

An attribute has room for 64 KiB, and a dump for 32 KiB at a time: of a rule that is
larger the kernel never tells, though it is there.  What can be so large are the
words of pedit, the code of programs, and on their way there the tables of rates.
"""

from collections.abc import Mapping

from netgroupd.model.state import Attrs, records
from netgroupd.model.value import Value

MOST_SENT = 65_400
MOST_TOLD = 32_000
_MATCH, _KEY = 64, 40  # of what a classifier says, and of each thing that it matches
_ACTION, _COUNTS = 84, 200  # what an action takes at least, and what it has counted
_FIELD, _WORD, _INSTRUCTION = 24, 44, 8
_TABLE, _WIDE = 1028, 12  # of a rate, and of one that takes more than 32 bits
_RATES = frozenset({"rate", "peakrate"})
_IN_ACTION = _RATES | {"kind", "control", "burst", "mtu", "overhead", "mpu", "linklayer"}


def taken(match: Mapping[str, Value], attrs: Attrs) -> tuple[int, int]:
    """The bytes of the message that makes a rule, and those that it takes in a dump, at most."""
    actions = records(attrs, "actions")
    said = _match(match) + sum([_ACTION + _body(action) for action in actions])
    return said + sum(map(_tables, actions)), said + _COUNTS * len(actions)


def _match(match: Mapping[str, Value]) -> int:
    if "bytecode" in match:
        return _MATCH + _code(match)
    return _MATCH + sum(_KEY + 4 * len(str(value)) for value in match.values())


def _body(action: Mapping[str, Value]) -> int:
    letter = 0 if "bytecode" in action else 2
    size = 0 if letter else _code(action)
    for value in map(action.get, action.keys() - _IN_ACTION):
        size += _FIELD
        if isinstance(value, str):
            size += letter * len(value)
        elif isinstance(value, tuple):
            size += _WORD * len(value)
    return size


def _code(said: Mapping[str, Value]) -> int:
    return _INSTRUCTION * str(said["bytecode"]).count(",")


def _tables(action: Mapping[str, Value]) -> int:
    if action["kind"] != "police":
        return 0
    rates = [action[name] for name in _RATES & action.keys()]
    return sum(_TABLE + (_WIDE if isinstance(rate, int) and rate >> 32 else 0) for rate in rates)
