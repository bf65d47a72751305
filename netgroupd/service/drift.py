# SPDX-License-Identifier: GPL-2.0-or-later
"""notifications -> a picture of what is owned, kept current at a bounded cost.

Notifications only say that something changed; what did is found by comparing
again.  So a storm of them costs no more than one comparison at a time, an
overrun of the socket loses nothing, and memory does not grow.  Comparisons are
spaced by their own duration, and further while what changes is not ours.
"""

import os
import select
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Generic, TypeVar

from netgroupd.engine.engine import Engine
from netgroupd.engine.spoken import spoken_of
from netgroupd.errors import JournalError, NetgroupError
from netgroupd.service.journal import LOG, defect
from netgroupd.service.picture import NOTHING_YET, Picture, take
from netgroupd.service.work import in_main_loop, later, start_thread

News = TypeVar("News")

_SETTLE_S = 0.2  # changes come in bursts
_LONGEST_S = 10.0
_MOST_KNOWN = 64  # news, of which each is a text
_CALM_S = 30.0  # with no news for so long, the spacing starts anew


def _ready(*descriptors: int, limit_s: float | None = None) -> frozenset[int]:
    """Wait for the first of ``descriptors``; those that can be read.  With select() no number could be over 1023."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return frozenset(number for number, _ in poll.poll(None if limit_s is None else limit_s * 1000))


class Spacing:
    """How long to wait before the next picture."""

    def __init__(self) -> None:
        self._factor = 1.0

    def after(self, cost_s: float, calm_s: float, *, news_were_ours: bool) -> float:
        """Seconds to wait; they double while nothing of ours changes."""
        if news_were_ours or calm_s > _CALM_S:
            self._factor = 1.0
        else:
            self._factor = min(self._factor * 2, _LONGEST_S / _SETTLE_S)
        return min(max(_SETTLE_S, cost_s) * self._factor, max(_LONGEST_S, cost_s))


class Damping:
    """When the next repair may be made: each that follows another closely makes the next wait twice as long."""

    def __init__(self) -> None:
        self._next = 0.0
        self._pause_s = 1.0

    def wait_s(self, now: float) -> float:
        """How long to wait still; 0 where the repair is made, and counted, now."""
        if now < self._next:
            return self._next - now
        calm = now - self._next > 2 * self._pause_s
        self._pause_s = 1.0 if calm else min(self._pause_s * 2, 600.0)
        self._next = now + self._pause_s
        return 0.0


class Recurring(Generic[News]):
    """News that comes at once, and where it comes again and again, how often it has, ever more seldom."""

    def __init__(self, tell: Callable[[News, int], None]) -> None:
        """``tell`` is given how often the news has come since it was told, 0 for the first time."""
        self._tell = tell
        self._dampings: dict[News, Damping] = {}
        self._untold: dict[News, int] = {}

    def come(self, news: News) -> None:
        """Tell ``news``, or count it."""
        if news in self._untold:
            self._untold[news] += 1
            return
        if news not in self._dampings and len(self._dampings) >= _MOST_KNOWN:
            self._dampings.pop(next(iter(self._dampings)))
        wait_s = self._dampings.setdefault(news, Damping()).wait_s(time.monotonic())
        if wait_s:
            self._untold[news] = 1
            later(int(wait_s * 1000) + 1, lambda: self._sum_up(news))
        else:
            self._tell(news, 0)

    def _sum_up(self, news: News) -> None:
        self._dampings.setdefault(news, Damping()).wait_s(time.monotonic())
        self._tell(news, self._untold.pop(news))


class Drift:
    """A thread that takes a picture whenever something changed or ``renew`` is called.

    While ``busy`` says that a change runs there is nothing to compare; its end renews.
    """

    def __init__(
        self, engine: Engine, busy: Callable[[], bool], see: Callable[[Picture], None], blinded: Callable[[str], None]
    ) -> None:
        """``blinded`` is told why there is no picture, where that stays so until somebody comes."""
        self._engine = engine
        self._busy = busy
        self._see = see
        self._blinded = blinded
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._spacing = Spacing()
        self._last: Picture | None = None
        self._wishes = 0
        self._trouble = ""

    def start(self, *, configured: bool) -> None:
        """Begin, if the system lets it; the host may have been ``configured`` just now, at its start."""
        self._last = NOTHING_YET if configured else None
        try:
            start_thread("drift", self._run)
        except OSError as error:
            trouble = f"cannot look for drift: {error.strerror}"
            LOG.error("%s", trouble)
            self._blinded(trouble)

    def renew(self) -> None:
        """Take a picture soon, without any news; one that is being taken is of no use any more."""
        self._wishes += 1
        with suppress(BlockingIOError):  # it is full of wishes already
            os.write(self._waker, b"!")

    def _run(self) -> None:
        while True:
            try:
                wait_s = self._once()
            except (NetgroupError, OSError, MemoryError) as error:
                self._complain(error)
                wait_s = _LONGEST_S
            except Exception:  # the thread must live on, or drift is never seen again
                defect()
                wait_s = _LONGEST_S
            if wait_s and _ready(self._woken, limit_s=wait_s):
                os.read(self._woken, 4096)

    def _once(self) -> float:
        """Listen, look, and wait for news: what comes while looking is not lost."""
        if self._busy():  # its end is news; whoever listens meanwhile makes the kernel tell of every rule
            _ready(self._woken)
            os.read(self._woken, 4096)
            return 0.0
        classes = {"link", *spoken_of(self._engine.applied()).classes}
        # What others do to their links must not make us look at ours later than what is done to ours.
        with (
            self._engine.watch(classes) as news,
            self._engine.watch({"link"}, own=True) as own_news,
            ExitStack() as others,
        ):
            away = [others.enter_context(each).fileno() for each in self._engine.watch_away(classes)]
            started = time.monotonic()
            picture, ours = self._look()
            cost_s = time.monotonic() - started
            # Of the end of somebody else's change, after which another generation counts, there is no news.
            limit_s = _LONGEST_S if picture.unfinished else None
            ready = _ready(news.fileno(), own_news.fileno(), *away, self._woken, limit_s=limit_s)
            ours = ours or bool(_ready(own_news.fileno(), limit_s=0))
        calm_s = time.monotonic() - started
        if self._woken in ready:
            os.read(self._woken, 4096)
            return 0.0
        return self._spacing.after(cost_s, calm_s, news_were_ours=ours)

    def _look(self) -> tuple[Picture, bool]:
        """Take a picture and show it; say whether it is another than the last."""
        wishes, last = self._wishes, self._last
        picture = take(self._engine, last)
        new = picture != last or bool(self._trouble)
        if new or picture.broken:  # a repair may have had to wait
            in_main_loop(lambda: self._show(picture, wishes, last))
        self._trouble = ""
        return picture, new

    def _show(self, picture: Picture, wishes: int, last: Picture | None) -> None:
        """Show a picture, unless a change has begun or ended since it was begun: it has both old and new.

        What is new in one that was taken before the one before it was shown, is in both.
        """
        if self._busy() or wishes != self._wishes:
            return
        if last is not self._last:
            self.renew()
            return
        self._last = picture
        self._see(picture)

    def _complain(self, error: Exception) -> None:
        trouble = f"cannot look for drift: {str(error) or 'out of memory'}"
        if trouble != self._trouble:
            LOG.error("%s", trouble)
            if isinstance(error, JournalError):
                in_main_loop(lambda: self._blinded(trouble))
        self._trouble = trouble
