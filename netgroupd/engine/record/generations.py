# SPDX-License-Identifier: GPL-2.0-or-later
"""The configurations that were applied: rendered text, plan, result and times, within a bound.

An index lists them; the text of each is a compressed file beside it, and in another
is what it took the place of, which only going back needs.  The one
that is current and the one before it are never dropped.
"""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from netgroupd.engine.kept.replaced import Replaced
from netgroupd.engine.record.disk import Lasting, read_json, remove, sensible, settle, write_json
from netgroupd.engine.report import Generation
from netgroupd.errors import JournalError, UsageError
from netgroupd.model.state import Key
from netgroupd.plan.serialise import Json, key_from

_MOST = 100
_MOST_BYTES = 64 << 20
_LISTED = "; `netgroupctl history` lists those that are kept"
_MOST_REPLACED = 8 << 20  # of one generation, or it is kept without

Files: TypeAlias = tuple[tuple[str, str, str], ...]
Borrowed: TypeAlias = tuple[tuple[str, int], ...]


class Content(NamedTuple):
    """What brings a generation back: rendered files as (path, name, text), and names that they rely on.

    ``borrowed`` are the links that they describe and others have made, with their indices; what links and ports are
    ``named`` for is written as `plan.named` does.
    ``refused`` are the rules that the kernel refused and that were optional; ``sources``
    is a digest of what the operator wrote, of which the files were rendered.
    """

    files: Files = ()
    known: tuple[str, ...] = ()
    plan: str = ""
    groups: dict[str, int] = {}  # noqa: RUF012  # never modified
    classes: tuple[str, ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()
    away: tuple[tuple[str, str], ...] = ()
    refused: tuple[Key, ...] = ()
    sources: str = ""
    borrowed: Borrowed = ()
    named: str = ""


NOTHING = Content()
APPLIED = "applied"
REPAIRED = "repaired"
UNCONFIRMED = "unconfirmed"
ROLLED_BACK = "rolled back"
FAILED = "failed"
INTERRUPTED = "interrupted"  # by no fault of its own
CUT_OFF = "cut off"  # with the process that made it, which it may have been the end of
UNTOUCHED = Replaced()
_KINDS = ((int,), (int, float), (str,), (str,), (int, float), (int,))  # what each field of a generation is


class Generations:
    """The generations of one network namespace."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "generations"
        self._index = self._directory / "index"

    def _read(self) -> Json:
        if (kept := read_json(self._index)) is None:
            kept = {"current": 0, "last": 0, "generations": []}
        with sensible(self._index):
            index = {"accepted": kept["current"], **kept}  # which older versions did not note
            for number in (index["current"], index["last"], index["accepted"]):
                _expect(number, int)
            _expect(index["generations"], list)
            for generation in _listed(index):
                for value, kinds in zip(generation, _KINDS, strict=True):
                    _expect(value, *kinds)
        return index

    def _path(self, number: int) -> Path:
        return self._directory / f"{number}"

    def _path_of_replaced(self, number: int) -> Path:
        return self._directory / f"{number}.replaced"

    @property
    def current(self) -> int:
        """The number of the generation that is in effect; 0 if there never was one."""
        number: int = self._read()["current"]
        return number

    @property
    def accepted(self) -> int:
        """The generation up to which nothing was decided against.

        What was applied last from files, or what was gone back to since.
        """
        number: int = self._read()["accepted"]
        return number

    def rejected(self) -> tuple[Generation, ...]:
        """Those that were tried since, and did not stay, the newest first.

        What the kernel refused, or what was cut off, is better than nothing, as long as there is nothing else.
        """
        index = self._read()
        since, current = index["accepted"], index["current"]
        tried = (each for each in _listed(index) if each.number > since and each.number != current)
        excused = (INTERRUPTED,) if current else (INTERRUPTED, FAILED, CUT_OFF)
        return tuple(each for each in tried if each.result not in excused)

    def all(self) -> tuple[Generation, ...]:
        """All that are kept, the newest first."""
        return _listed(self._read())

    def get(self, number: int) -> Generation | None:
        """One generation, if it is kept."""
        return next((generation for generation in self.all() if generation.number == number), None)

    def has_ended(self, number: int) -> bool:
        """Whether it is known how generation ``number`` went."""
        generation = self.get(number)
        return generation is not None and generation.result != UNCONFIRMED

    def before(self, number: int) -> int:
        """The last generation before ``number`` that says something else; 0 if there was none.

        A repair says what it repairs, and a host that starts applies what it had once more.
        What is lost cannot be gone back to.
        """
        files = self.content_if_kept(number).files
        while (number := self._applied_below(number)) and (
            not self._path(number).exists() or self.content(number).files == files
        ):
            pass
        return number

    def _repaired_by(self, number: int) -> int:
        """The generation that ``number`` is a repair of; others are their own."""
        generation = self.get(number)
        return self._applied_below(number) if generation and generation.result == REPAIRED else number

    def _applied_below(self, number: int) -> int:
        return next((each.number for each in self.all() if each.number < number and each.result == APPLIED), 0)

    def content(self, number: int) -> Content:
        """What brings generation ``number`` back; 0 is nothing at all.

        Raises:
            UsageError: It is not kept.
        """
        if number == 0:
            return NOTHING
        plain = read_json(self._path(number))
        if plain is None:
            lost = f", for {self._path(number)} is lost; an apply goes on without it"
            raise UsageError(f"there is no generation {number}{lost if self.get(number) else _LISTED}")
        with sensible(self._path(number)):
            return _content(plain)

    def content_if_kept(self, number: int) -> Content:
        """The same; nothing of one that is lost, as where somebody did what is said of a file that makes no sense."""
        with suppress(UsageError):
            return self.content(number)
        return NOTHING

    def replaced(self, number: int) -> Replaced:
        """What generation ``number`` took the place of; of one of an older version nothing is known."""
        plain = read_json(self._path_of_replaced(number))
        with sensible(self._path_of_replaced(number)):
            return Replaced.from_json(plain) if plain else UNTOUCHED

    def keeps(self, number: int, replaced: Replaced) -> bool:
        """Whether all that generation ``number`` took the place of is kept, if it is anything."""
        return not replaced.was or self._path_of_replaced(number).exists()

    def replaced_since(self, number: int) -> Replaced:
        """What the generations after ``number`` took the place of, up to the one in effect; what was first is first.

        Repairs are no part of it: others have brought about what they end.
        """
        found, current = UNTOUCHED, self.current
        for each in sorted(self.all()):
            if number < each.number <= current and each.result == APPLIED:
                found = found.then(self.replaced(each.number))
        return found

    def _keep_replaced(self, number: int, replaced: Replaced, lasting: Lasting) -> int:
        """Keep it if it is anything and not too much; return how many bytes it takes."""
        path = self._path_of_replaced(number)
        size = write_json(path, replaced.to_json(), lasting) if replaced.was else 0
        if size > _MOST_REPLACED or (not size and path.exists()):
            remove(path)
            return 0
        return size

    def open(self, content: Content, time: float, replaced: Replaced = UNTOUCHED) -> Generation:
        """Keep ``content`` as the next generation, which is about to be applied; it is listed from its end on.

        When the power goes what was applied goes with it, so the disk is waited for by ``amend``, before it counts.
        """
        number: int = self._read()["last"] + 1
        size = write_json(self._path(number), content._asdict(), Lasting.NOT_YET)
        size += self._keep_replaced(number, replaced, Lasting.NOT_YET)
        return Generation(number, time, "running", "", 0.0, size)

    def adopt(self, generation: Generation, content: Content) -> None:
        """Keep a generation that another directory has as the one in effect."""
        self.amend(generation.number, content)
        self.finish(generation, generation.result, current=generation.number, accepted=generation.number)

    def amend(self, number: int, content: Content) -> None:
        """Keep what is known by now of generation ``number`` for good: its plan, the rules that were left out of it."""
        settle(self._path_of_replaced(number))
        write_json(self._path(number), content._asdict())

    def finish(
        self,
        generation: Generation,
        result: str,
        took_s: float = 0.0,
        *,
        current: int,
        accepted: int | None = None,
    ) -> None:
        """Note how it went, which generation is in effect from here on and, where that is new, which is accepted."""
        index, number, gone = self._read(), generation.number, tuple[int, ...]()
        if all(each.number != number for each in _listed(index)):
            index["generations"].append(generation)
            index["last"] = number
            gone = self._drop(index)
        index["current"] = current
        index["accepted"] = index["accepted"] if accepted is None else accepted
        for place, plain in enumerate(index["generations"]):
            if (before := Generation(*plain)).number == number:
                summary = before.summary or self._summary(number)
                ended = before._replace(result=result, summary=summary, took_s=took_s or before.took_s)
                index["generations"][place] = ended
            elif before.result == UNCONFIRMED:  # of which the disk did not take that it was put back
                index["generations"][place] = before._replace(result=ROLLED_BACK)
        write_json(self._index, index)
        for each in gone:  # not before, for what is listed is relied on
            remove(self._path(each))
            remove(self._path_of_replaced(each))

    def _summary(self, number: int) -> str:
        with suppress(JournalError, UsageError):  # one that was running when the power went may be lost
            return self.content(number).plan.rpartition("\n")[2]
        return ""

    def _drop(self, index: Json) -> tuple[int, ...]:
        """Take out of ``index`` what is too much, and return it."""
        gone, kept = list[int](), {each.number: each for each in reversed(_listed(index))}
        if _fit(kept):
            return ()
        current = index["current"]
        precious = {current, self._repaired_by(current), self.before(current), index["last"]}
        # Repairs first: there may be one every few minutes, and nobody goes back to them.
        for number in sorted(kept, key=lambda number: (kept[number].result != REPAIRED, number)):
            if _fit(kept) or number in precious:
                continue
            self._hand_on(kept.pop(number), kept)
            gone.append(number)
        index["generations"] = [*kept.values()]
        return tuple(gone)

    def _hand_on(self, gone: Generation, kept: dict[int, Generation]) -> None:
        """Let the next of ``kept`` know what ``gone`` took the place of: who goes back further needs it still."""
        if not self._path_of_replaced(gone.number).exists():
            return
        after = (number for number, each in kept.items() if number > gone.number and each.result == APPLIED)
        if gone.result == APPLIED and (heir := min(after, default=0)):
            before = self.replaced(heir)
            less = self._path_of_replaced(heir).stat().st_size if before.was else 0
            more = self._keep_replaced(heir, self.replaced(gone.number).then(before), Lasting.WHOLE)
            kept[heir] = kept[heir]._replace(size=kept[heir].size - less + more)


def _content(plain: Json) -> Content:
    files = tuple((path, name, text) for path, name, text in map(_strings, plain["files"]))
    hooks = tuple((where, parent) for where, parent in map(_strings, plain["hooks"]))
    groups = {name: _expect(number, int) for name, number in plain["groups"].items()}
    # Of an older version there are none.
    away = tuple((netns, link) for netns, link in map(_strings, plain.get("away", ())))
    refused = tuple(map(key_from, plain.get("refused", ())))
    names, sources = _strings(plain["known"]), _expect(plain.get("sources", ""), str)
    lent = tuple((_expect(name, str), _expect(index, int)) for name, index in plain.get("borrowed", ()))
    borrowed = lent if "borrowed" in plain else tuple((name, 0) for name in names)
    told, named = _expect(plain["plan"], str), _expect(plain.get("named", ""), str)
    classes = _strings(plain["classes"])
    return Content(files, names, told, groups, classes, hooks, away, refused, sources, borrowed, named)


def _strings(plain: Json) -> tuple[str, ...]:
    if not {*map(type, _expect(plain, list))} <= {str}:
        raise TypeError
    return tuple(plain)


def _expect(value: Json, *kinds: type) -> Json:
    if not isinstance(value, kinds):
        raise TypeError
    return value


def _listed(index: Json) -> tuple[Generation, ...]:
    return tuple(Generation(*plain) for plain in reversed(index["generations"]))


def _fit(kept: dict[int, Generation]) -> bool:
    return sum(each.size for each in kept.values()) <= _MOST_BYTES and len(kept) <= _MOST
