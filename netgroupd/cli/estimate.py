# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl estimate``: what the configuration will cost."""

from argparse import Namespace

from netgroupd.cli.target import reader
from netgroupd.cli.terminal import Terminal, counted, size
from netgroupd.model.state import called
from netgroupd.service.details import Answer

_LEAST_S = 0.1


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the costs, and what would cost less."""
    answer = reader(arguments).estimate()
    if terminal.as_json:
        terminal.answer(answer)
        return 0
    rows = [
        (called(cost["kind"]), cost["links"], size(cost["bytes"]), _each(cost), cost["source"])
        for cost in answer["costs"]
    ]
    if rows:
        terminal.table(("KIND", "LINKS", "MEMORY", "EACH", "MEASURED"), rows)
    counts = ", ".join(counted(count, cls) for cls, count in answer["objects"].items()) or "nothing"
    terminal.say(f"{counts}: {size(answer['bytes'])} of kernel memory, {_time(answer['seconds'])} to make")
    if 0 < answer["bytes_to_add"] < answer["bytes"]:
        terminal.say(f"of that is not there yet: {size(answer['bytes_to_add'])}, {_time(answer['seconds_to_add'])}")
    elif answer["bytes"] and not answer["bytes_to_add"]:
        terminal.say("all of that is there already")
    terminal.say(f"time: {answer['rate']}")
    for advice in answer["advice"]:
        terminal.say(f"{terminal.paint('cheaper:', 'yellow')} {advice}")
    return 0


def _each(cost: Answer) -> str:
    return size(cost["bytes"] / max(cost["links"], 1))


def _time(seconds: float) -> str:
    return f"about {seconds:.1f} s" if seconds >= _LEAST_S else f"under {_LEAST_S} s"
