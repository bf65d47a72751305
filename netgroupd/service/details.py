# SPDX-License-Identifier: GPL-2.0-or-later
"""The shapes of what goes over the bus, for those who need not load the engine.

An error becomes everything it knows: files and lines, objects, the kernel's sentences.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from netgroupd.errors import ConfigError, KernelError, NetgroupError

Answer: TypeAlias = dict[str, Any]
Options: TypeAlias = Mapping[str, Any]
Progress: TypeAlias = Callable[[int, int], None]


def error_answer(error: NetgroupError) -> Answer:
    """The name, the sentence, and each problem or refusal."""
    answer: Answer = {"error": error.dbus_name, "message": str(error)}
    if isinstance(error, ConfigError):
        answer["problems"] = [problem._asdict() for problem in error.problems]
    if isinstance(error, KernelError):
        answer["refusals"] = [refusal._asdict() for refusal in error.refusals]
    return answer
