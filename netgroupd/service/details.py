# SPDX-License-Identifier: GPL-2.0-or-later
"""The shapes of what goes over the bus, for those who need not load the engine.

An error becomes everything it knows: files and lines, objects, the kernel's sentences.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from netgroupd.errors import ConfigError, KernelError, NetgroupError, Problem, UsageError

Answer: TypeAlias = dict[str, Any]
Options: TypeAlias = Mapping[str, Any]
Progress: TypeAlias = Callable[[int, int], None]

BY_LINE = ("problems", "warnings")  # where in an answer there may be what is said of lines of files

_LONGEST_S = 86_400
_GENERATIONS = 1 << 32


def checked(options: Options) -> Options:
    """The options of a change.

    Raises:
        UsageError: A number is none that there can be, and perhaps none that the bus can carry.
    """
    seconds, generation = options.get("confirm"), options.get("generation")
    if seconds is not None and (wrong := objection_to_wait(seconds)):
        raise UsageError(f"confirm: {wrong}")
    if generation is not None and not 0 <= generation < _GENERATIONS:
        raise UsageError(f"there is no generation {generation}")
    return options


def objection_to_wait(seconds: int) -> str:
    """Why a change cannot wait so long to be confirmed; "" if it can."""
    return "" if 1 <= seconds <= _LONGEST_S else f"expected 1 to {_LONGEST_S} seconds, not {seconds}"


def error_answer(error: NetgroupError) -> Answer:
    """The name, the sentence, and each problem or refusal."""
    answer: Answer = {"error": error.dbus_name, "message": str(error)}
    if isinstance(error, ConfigError):
        answer["problems"] = problems_answer(error.problems)
    if isinstance(error, KernelError):
        answer["refusals"] = [refusal._asdict() for refusal in error.refusals]
    return answer


def problems_answer(problems: Iterable[Problem]) -> list[Answer]:
    """What there is to say of lines of files."""
    return [problem._asdict() for problem in problems]
