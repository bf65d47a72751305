# SPDX-License-Identifier: GPL-2.0-or-later
"""An engine that has no kernel: what it answers, how long it takes and what it refuses is up to the test."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self

from netgroupd.engine.engine import Engine
from netgroupd.engine.questions import Standing
from netgroupd.engine.report import Generation, Line, Pending, Result, Status
from netgroupd.engine.session import Session
from netgroupd.errors import JournalError, NetgroupError, Problem, RejectedError, UsageError
from netgroupd.kernel.monitor import Monitor
from netgroupd.model.state import Group, Object, State
from netgroupd.plan.step import Op, Plan, Step
from tests.waiting import eventually

LINK = Object("link", ("br-1",), {"kind": "bridge", "group": 7})
PLAN = Plan((Step(Op.CREATE, None, LINK, LINK.attrs),))
_CAME = Object("link", ("swp1",), {"group": 8})
_ABOVE = Object("link", ("swp1.5",), {"kind": "vlan", "link": "swp1", "id": 5, "group": 8})
HARDWARE_CAME = Plan(
    (
        Step(Op.CREATE, None, LINK, LINK.attrs),
        Step(Op.CHANGE, _CAME._replace(attrs={"kind": "dummy", "group": 0}), _CAME, _CAME.attrs),
        Step(Op.CREATE, None, _ABOVE, _ABOVE.attrs),
    )
)


class News:
    """Notifications: ``tell`` makes one, which is gone when somebody has listened to it."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK)

    def fileno(self) -> int:
        return self._read

    def tell(self) -> None:
        os.write(self._write, b"!")

    def __enter__(self) -> Self:
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeEngine(Engine):
    """Counts what is asked of it; ``gate`` holds a change until it is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.error: NetgroupError | None = None
        self.applied_times = 0
        self.applied_again_times = 0
        self.spare: Path | None = None
        self.rejected: RejectedError | None = None
        self.generation = 0
        self.netns: str | None = None
        self.confirm_s: float | None = None
        self.sessions: list[Session] = []
        self.waits: Pending | None = None
        self.due = 0.0
        self.text = "links: {}\n"
        self.expired = 0
        self.begun = False
        self.interrupted = False
        self.broken = False
        self.unreadable = False
        self.policy = "repair"
        self.doubts: tuple[Problem, ...] = ()
        self.drifted = Plan()
        self.repaired: list[frozenset[str]] = []
        self.news = News()
        self.looks = 0  # that have begun

    def check(self) -> tuple[int, tuple[Problem, ...]]:
        if self.error:
            raise self.error
        return 1, self.doubts

    def render(self) -> str:
        return self.text

    def render_lines(self) -> Iterator[Line]:
        yield Line("a.mako", 3, self.text.rstrip())

    def capture(self) -> str:
        return self.text

    def applied(self) -> State:
        return State([LINK, _CAME, _ABOVE], {"tenants": Group("tenants", 7, {}, ("edge",), self.policy)})

    def drift(self) -> Plan:
        self.looks += 1
        return self.drifted

    def differ(self, drifted: Plan) -> None:
        """Have ``drifted`` seen: when this returns, somebody has looked since."""
        self.drifted = drifted
        looks = self.looks
        self.news.tell()
        eventually(lambda: self.looks > looks)

    def repair(self, links: frozenset[str], progress: Callable[[int, int], None] | None = None) -> Result:
        if progress:
            progress(1, 1)
        self.drifted = Plan()
        self.repaired.append(links)  # whoever waits for this may have it drift again at once
        return Result(PLAN, self.generation)

    def watch_away(self, classes: Iterable[str]) -> list[Monitor]:
        """Nothing lives in another network namespace."""
        return []

    def watch(self, classes: Iterable[str], *, own: bool = False) -> Monitor:
        return self.news  # type: ignore[return-value]  # it has a fileno, which is all that is asked

    def diff(self) -> Plan:
        return PLAN._replace(doubts=self.doubts)

    def apply(
        self,
        plan: Plan | None = None,
        *,
        confirm_s: float | None = None,
        allow: frozenset[str] = frozenset(),
        progress: Callable[[int, int], None] | None = None,
        in_part: bool = False,
    ) -> Result:
        if progress:
            progress(1, 2)
        self.gate.wait()
        if self.error:
            raise self.error
        self.applied_times += 1
        self.generation += 1
        self.confirm_s = confirm_s
        self.waits = Pending(self.generation, confirm_s) if confirm_s else None
        self.due = time.monotonic() + confirm_s if confirm_s else 0.0
        return Result(self.diff(), self.generation, 0.5, self.waits)

    def apply_again(self, *, progress: Callable[[int, int], None] | None = None) -> Result:
        self.applied_again_times += 1
        return Result(PLAN, self.generation)

    def forget_attempt(self) -> None:
        """Nothing is written down here."""

    def in_effect_if_known(self) -> Generation | None:
        return self.in_effect()

    def apart(self, state: Path) -> Engine:
        self.spare = state
        apart = FakeEngine()
        apart.generation = self.generation
        return apart

    def decided_against(self) -> RejectedError | None:
        return self.rejected

    def pending(self) -> Pending | None:
        if self.unreadable:
            raise JournalError("cannot read the journal: Too many open files")
        return self.waits

    def has_begun(self) -> bool:
        return self.begun

    def changed_by(self) -> str:
        return ""

    def confirm(self) -> int:
        if self.waits is None:
            raise UsageError("no change waits to be confirmed")
        self.waits = None
        return self.generation

    def expire(self) -> str | None:
        self.expired += 1
        if self.waits and self.waits.seconds_left >= 1 and time.monotonic() < self.due:
            return None
        self.waits = None
        return "generation 2 was not confirmed in time; what was before is back"

    def rollback(
        self,
        generation: int | None = None,
        *,
        confirm_s: float | None = None,
        allow: frozenset[str] = frozenset(),
        progress: Callable[[int, int], None] | None = None,
    ) -> Result:
        if generation is not None and generation > self.generation:
            raise UsageError(f"there is no generation {generation}")
        self.generation = generation or self.generation - 1
        return Result(PLAN, self.generation)

    def recover(self) -> str | None:
        return None

    def in_effect(self) -> Generation | None:
        number = self.generation - (self.waits is not None)  # what waits does not count yet
        return Generation(number, 1.0, "applied", "1 to create") if number else None

    def status(self) -> Status:
        if self.broken:
            raise ZeroDivisionError
        return Status("", self.in_effect(), self.waits, self.interrupted, {"link": 1}, "", ("light",))

    def standing(self) -> Standing:
        return Standing(self.status(), self.applied(), self.drift(), {})

    def history(self) -> tuple[Generation, ...]:
        return tuple(Generation(number, 1.0, "applied", "") for number in range(self.generation, 0, -1))
