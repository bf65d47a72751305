# SPDX-License-Identifier: GPL-2.0-or-later
"""What the engine answers, in the one form that the bus, ``--json`` and text are made from.

Every answer is a text or a mapping that ``json`` can write.  The daemon and the
command both answer through this module, and so say the same.
"""

import json
from collections.abc import Iterable

from netgroupd.engine.engine import Engine
from netgroupd.engine.refusals import SHOWN, by_line
from netgroupd.engine.report import Result
from netgroupd.errors import UsageError
from netgroupd.plan import present
from netgroupd.plan.step import Plan
from netgroupd.service.details import BY_LINE, Answer, Options, Progress, checked, problems_answer
from netgroupd.service.file_answers import FileAnswers

FORMATS = ("json", "text")


def plan_answer(plan: Plan, form: str) -> Answer:
    """A plan: whether it does anything, its count line, and its lines or its steps."""
    text = present.text(plan) if form == "text" else ""
    summary = text.rpartition("\n")[2] if text else present.summary(plan)
    answer: Answer = {"differs": bool(plan.steps), "summary": summary, "warnings": list(plan.warnings)}
    answer["problems"] = problems_answer(plan.doubts)
    return answer | ({"text": text} if text else {"steps": present.as_json(plan)})


def result_answer(result: Result) -> Answer:
    """What a change did."""
    pending = result.pending._asdict() if result.pending else None
    refused = by_line(result.refused)
    more = len(refused) - SHOWN
    told = [f"{refusal}; left out, being optional" for refusal in refused[:SHOWN]]
    told += [f"{more:,} more lines of optional rules were refused"] if more > 0 else []
    return {
        "generation": result.generation,
        "summary": present.summary(result.plan),
        "warnings": [*result.plan.warnings, *told],
        "problems": problems_answer(result.plan.doubts),
        "refused": len(result.refused),
        "took_s": round(result.took_s, 3),
        "pending": pending,
        "back_to": result.back_to,
    }


def ended(answer: Answer) -> str:
    """What a change that is done has come to, in words."""
    told = str(answer["summary"])
    if answer["generation"]:
        told += f", generation {answer['generation']}"
    if answer["back_to"] is not None:
        told += f", back to generation {answer['back_to']}"
    if answer["pending"]:
        told += f"; it is put back in {answer['pending']['seconds_left']:.0f} s unless it is confirmed"
    return told


class Answers(FileAnswers):
    """The engine's answers; ``options`` are those of the bus method with the same name."""

    keeps_deadlines = False  # of unconfirmed changes: nobody is left to when the process ends

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._engine = engine

    def capture(self) -> str:
        """A configuration for what is there."""
        return self._engine.capture()

    def diff(self, options: Options) -> Answer:
        """What apply would do."""
        return plan_answer(self._engine.diff(), form_of(options))

    def estimate(self) -> Answer:
        """What the configuration will cost."""
        estimate = self._engine.estimate()
        return estimate._asdict() | {"costs": [cost._asdict() for cost in estimate.costs]}

    def status(self) -> Answer:
        """Where things stand."""
        status = self._engine.status()
        return status._asdict() | {
            "generation": status.generation._asdict() if status.generation else None,
            "pending": status.pending._asdict() if status.pending else None,
        }

    def apply(self, options: Options, progress: Progress | None = None) -> Answer:
        """Apply the configuration."""
        checked(options)
        result = self._engine.apply(
            confirm_s=options.get("confirm"), allow=frozenset(options.get("allow") or ()), progress=progress
        )
        return result_answer(result)

    def rollback(self, options: Options, progress: Progress | None = None) -> Answer:
        """Apply an earlier generation."""
        checked(options)
        result = self._engine.rollback(
            options.get("generation"),
            confirm_s=options.get("confirm"),
            allow=frozenset(options.get("allow") or ()),
            progress=progress,
        )
        return result_answer(result)

    def repair(self, links: frozenset[str], progress: Progress | None = None) -> Answer:
        """Bring links back to what was applied."""
        return result_answer(self._engine.repair(links, progress))

    def confirm(self) -> Answer:
        """Keep the change that waits."""
        return {"generation": self._engine.confirm()}


def form_of(options: Options) -> str:
    """The format that ``options`` ask for.

    Raises:
        UsageError: There is no such format.
    """
    form = options.get("format", "json")
    if form not in FORMATS:
        raise UsageError(f"format: expected one of {', '.join(FORMATS)}, not {form!r}")
    return str(form)


def encode(answer: Answer | str) -> str:
    """An answer as text for the bus, without the lines of files: they may hold keys, and anybody may ask."""
    if isinstance(answer, str):
        return answer
    told = {name: _without_lines(value) if name in BY_LINE else value for name, value in answer.items()}
    return json.dumps(told, separators=(",", ":"))


def _without_lines(told: Iterable[Answer | str]) -> list[Answer | str]:
    return [one if isinstance(one, str) else one | {"text": ""} for one in told]
