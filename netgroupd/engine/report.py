# SPDX-License-Identifier: GPL-2.0-or-later
"""What the engine answers with: plain values for the command line, the bus and files."""

from typing import NamedTuple

from netgroupd.errors import NetgroupError, Refusal
from netgroupd.plan.step import Plan


class Line(NamedTuple):
    """A line that a template gave, and the line that it is from."""

    file: str
    line: int
    text: str


class Generation(NamedTuple):
    """One configuration that was applied: its number, when, and how it went.

    ``result`` is "applied", "repaired", "unconfirmed", "rolled back", "failed", "interrupted",
    "cut off" or, until it has ended, "running"; ``summary`` the count line of its plan, once it is done,
    and which generation it went back to; ``size`` what it takes on disk in bytes.
    """

    number: int
    time: float
    result: str
    summary: str
    took_s: float = 0.0
    size: int = 0


class Pending(NamedTuple):
    """A change that is undone unless somebody confirms it in time."""

    generation: int
    seconds_left: float


class Result(NamedTuple):
    """What an apply or a rollback did; ``pending`` if it waits to be confirmed.

    ``generation`` is 0 where nothing had to change, and where the first of all is undone;
    ``refused`` is of optional rules, which were left out; ``trouble`` says what just after
    boot was not done as the files ask for, and why.  It may be ``back_to`` an earlier generation.
    """

    plan: Plan
    generation: int = 0
    took_s: float = 0.0
    pending: Pending | None = None
    refused: tuple[Refusal, ...] = ()
    trouble: NetgroupError | None = None
    back_to: int | None = None


class Status(NamedTuple):
    """Where things stand; ``differences`` is what drifted from what was applied, "" if nothing did.

    A change without an end was ``interrupted`` where nobody is at it any more, and else is ``changing`` things,
    ``changed_by`` a process in words, if it is known.
    """

    netns: str
    generation: Generation | None
    pending: Pending | None
    interrupted: bool
    owned: dict[str, int]
    differences: str = ""
    features: tuple[str, ...] = ()
    changing: bool = False
    changed_by: str = ""


class Cost(NamedTuple):
    """What the links of one kind cost: how many, kernel memory in bytes, and where the figure is from."""

    kind: str
    links: int
    bytes: int
    source: str


class Estimate(NamedTuple):
    """What the configuration will cost, what of that is not there yet, and what would cost less."""

    costs: tuple[Cost, ...]
    objects: dict[str, int]
    bytes: int
    seconds: float
    rate: str
    advice: tuple[str, ...]
    bytes_to_add: int
    seconds_to_add: float
