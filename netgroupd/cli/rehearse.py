# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl rehearse``: the configuration applied to a copy of this host inside a virtual machine.

The copy has a dummy link for each piece of hardware, or a simulated card where files
speak of its virtual functions, and, by ``capture``, what
this host has on top of it.  Templates run here, for they ask what this host is and has.
Nothing outside of the virtual machine is touched.
"""

import json
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from netgroupd.cli.command import CommandLineError
from netgroupd.cli.target import engine_of
from netgroupd.cli.terminal import Terminal, size
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import shipped
from netgroupd.engine.record.generations import Generations
from netgroupd.engine.report import Line
from netgroupd.errors import LabError
from netgroupd.lab.boot import Guest
from netgroupd.lab.machine import Machine
from netgroupd.lab.ways import image_for
from netgroupd.model.state import Object, State
from netgroupd.plan import present
from netgroupd.service.details import problems_answer

_PACKAGE = Path(__file__).parents[2]
_COPY, _WANTED = "/run/rehearsal/copy", "/run/rehearsal/wanted"
_GENERATIONS = "/var/lib/netgroup/generations"
_LIMIT_S = 1800.0
_SIMULATED = "/sys/bus/netdevsim"
_FIRST_CARD = 0x8000  # its number, which no file asks for
_FUNCTIONS = 256  # the most that a card of the copy can have
_GIVEN = re.compile(rf"{_WANTED}/([0-9]+)\.yaml:([0-9]+)")
_UNITS = {"M": 1, "G": 1024}


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Rehearse, and say how it went."""
    memory_mib = _memory(arguments.memory or "2G")
    engine = engine_of(arguments)
    plan, actual, copy, texts = engine.diff(), engine.actual(), engine.capture(), tuple(engine.render_files())
    if not terminal.as_json:
        for doubt in plan.doubts:
            terminal.problem(doubt)
    if not plan.steps:
        if terminal.as_json:
            terminal.answer({"summary": present.summary(plan), "verified": True})
        else:
            terminal.say("nothing to rehearse: there is no difference")
        return 0
    with redirect_stdout(sys.stderr):  # the first time the kernel is built, which tells how far it is
        guest = Guest(python_path=_PACKAGE, cpus=1, memory_mib=memory_mib)
        image = image_for(arguments.kernel or "stock", guest, shipped())
    terminal.note("starting a virtual machine")
    with Machine(guest, image, lifetime_s=2 * _LIMIT_S) as machine:
        _prepare(machine, engine, actual, copy)
        for number, lines in enumerate(texts):
            machine.put(f"{_WANTED}/{number:04}.yaml", "".join(f"{line.text}\n" for line in lines).encode())
        terminal.note("applying the configuration to the copy")
        before = _available(machine)
        applied = _ask(machine, "apply", texts=texts)
        used = max(0, before - _available(machine))  # the guest may free more than a few links take
        left = _ask(machine, "diff")
    doubts = {} if "error" in applied else {"problems": problems_answer(plan.doubts)}  # by the files of this host
    report = {**applied, **doubts, "memory": used, "verified": "error" not in applied and not left.get("differs", True)}
    _tell(report, terminal)
    return 0 if report["verified"] else 1


def _tell(report: dict[str, Any], terminal: Terminal) -> None:
    if terminal.as_json:
        terminal.answer(report)
    elif "error" in report:
        terminal.note(f"{terminal.paint('the copy refused it:', 'red')}\n{report['message']}")
    else:
        terminal.say(f"{report['summary']} in {report['took_s']:.2f} s of the virtual machine's time")
        terminal.say(f"kernel memory: {size(report['memory']) if report['memory'] else 'too little to be measured'}")
        terminal.say("the result is as asked" if report["verified"] else "the result is not as asked")


def _memory(text: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]*)([MG])", text)
    if not found:
        raise CommandLineError(f"--memory: expected a size such as 512M or 4G, not {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def _prepare(machine: Machine, engine: Engine, actual: State, copy: str) -> None:
    """Make the hardware, then what stands on it; afterwards nothing of that is netgroupd's."""
    hardware = [link for link in actual.of("link").values() if not link.attrs.get("kind") and link.name != "lo"]
    _shell(machine, ["rm -rf /var/lib/netgroup", f"mkdir -p {_COPY} {_WANTED}"])
    _shell(machine, _made(hardware, {obj.name for state in (engine.desired(), actual) for obj in _functions(state)}))
    links = (*engine.desired().of("link").values(), *actual.of("link").values())
    namespaces = sorted({str(link.attrs["netns"]) for link in links if link.attrs.get("netns")})
    _shell(machine, (f"ip netns add {shlex.quote(netns)}" for netns in namespaces))
    machine.put(f"{_COPY}/host.yaml", copy.encode())
    made = _ask(machine, "apply", _COPY)
    if "error" in made:
        raise LabError(f"this host cannot be copied: {made['message']}")
    owned = [link for link in actual.of("link").values() if link.attrs.get("group")]
    _shell(
        machine,
        [
            "rm -rf /var/lib/netgroup",
            # Behind a slash no file: bonding has one there.
            "cd /sys/class/net; for link in */; do ip link set dev ${link%/} group 0; done",
            *(f"ip link set dev {link.name} group {link.attrs['group']}" for link in owned),
            f"mkdir -p {_GENERATIONS}",
        ],
    )
    # What was applied here tells what is netgroupd's, and so what it would delete.
    here = engine.paths.state / "generations"
    for name in ("index", str(Generations(engine.paths.state).current)):
        if (here / name).exists():
            machine.put(f"{_GENERATIONS}/{name}", (here / name).read_bytes())


def _functions(state: State) -> Iterator[Object]:
    """What a state says of virtual functions."""
    for cls in ("sriov", "vf"):
        yield from state.of(cls).values()


def _made(hardware: Iterable[Object], cards: Container[str]) -> Iterator[str]:
    """The commands that make what stands for hardware; only ``cards`` need functions."""
    yield "mount -t debugfs none /sys/kernel/debug 2>/dev/null || true"  # it may be there
    for number, link in enumerate(hardware, _FIRST_CARD):
        made = f"ip link add {link.name} type dummy"
        if link.name in cards:
            card = f"netdevsim{number}"
            made = (
                f"{{ echo '{number} 1' > {_SIMULATED}/new_device;"
                f" echo {_FUNCTIONS} > /sys/kernel/debug/netdevsim/{card}/max_vfs;"
                f" ip link set dev $(ls {_SIMULATED}/devices/{card}/net) name {link.name}; }}"
            )
        yield f"ip link show {link.name} >/dev/null 2>&1 || {made}"


def _shell(machine: Machine, lines: Iterable[str]) -> None:
    got = machine.run(["sh", "-e"], stdin="\n".join(lines).encode(), timeout_s=_LIMIT_S)
    if got.status:
        raise LabError(f"preparing the copy: {got.stderr.strip()}")


def _ask(machine: Machine, verb: str, config: str = _WANTED, texts: Sequence[Sequence[Line]] = ()) -> dict[str, Any]:
    def origin(found: re.Match[str]) -> str:
        lines = texts[int(found[1])]
        line = lines[min(int(found[2]), len(lines)) - 1]
        return json.dumps(f"{line.file}:{line.line}")[1:-1]

    argv = [sys.executable, "-m", "netgroupd.cli.main", verb, "--json", "--config", config]
    got = machine.run(argv, timeout_s=_LIMIT_S, env={"PYTHONPATH": str(_PACKAGE)})
    try:
        answer: dict[str, Any] = json.loads(_GIVEN.sub(origin, got.stdout) if texts else got.stdout)
    except json.JSONDecodeError:
        raise LabError(f"{verb} in the virtual machine: {got.stderr.strip()}") from None
    return answer


def _available(machine: Machine) -> int:
    """Bytes of memory that the guest has left."""
    found = re.search(r"MemAvailable: +([0-9]+) kB", machine.get("/proc/meminfo").decode())
    assert found
    return int(found[1]) * 1024
