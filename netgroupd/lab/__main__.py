# SPDX-License-Identifier: GPL-2.0-or-later
"""python -m netgroupd.lab: build kernels, run a command in a fresh guest, open a shell in one."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from netgroupd.errors import LabError, NetgroupError
from netgroupd.lab import demo as demonstration
from netgroupd.lab.boot import Guest
from netgroupd.lab.channel import Kind
from netgroupd.lab.kernel import CHECKOUT, FLAVOURS, Arch, find_image
from netgroupd.lab.machine import Machine, Process
from netgroupd.lab.terminal import interact
from netgroupd.lab.ways import image_for

_MIB = {"M": 1, "G": 1024}
_SIGNAL_BASE = 128


def open_machine(arguments: argparse.Namespace) -> Machine:
    """Return a machine as the command line asks for it, not yet booted."""
    guest = Guest(
        python_path=CHECKOUT,
        cpus=arguments.cpus,
        memory_mib=arguments.memory,
        systemd=arguments.systemd,
    )
    return Machine(guest, image_for(arguments.kernel, guest), lifetime_s=arguments.timeout)


def kernel(arguments: argparse.Namespace) -> int:
    """Build the kernels that are not in the cache, and print where they are."""
    for name in arguments.flavours or ("stock", "patched"):
        print(f"{name}={find_image(name)}")
    for name in () if arguments.flavours else ("stock", "patched"):
        print(f"{name} as a process={find_image(name, arch=Arch.USER_MODE)}")
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Run a command from this directory in a fresh guest."""
    if unset := [name for name in arguments.env if name not in os.environ]:
        raise LabError(f"--env: not set here: {', '.join(unset)}")
    with open_machine(arguments) as machine:
        environment = {name: os.environ[name] for name in arguments.env}
        process = machine.start(arguments.command, cwd=Path.cwd(), env=environment)
        _show(process, arguments.timeout)
        machine.check()
    status = process.status
    assert status is not None
    return status if status >= 0 else _SIGNAL_BASE - status


def _show(process: Process, timeout_s: float) -> None:
    streams = {Kind.STDOUT: sys.stdout.buffer, Kind.STDERR: sys.stderr.buffer}
    for frame in process.output(timeout_s):
        streams[frame.kind].write(frame.payload)
        streams[frame.kind].flush()


def shell(arguments: argparse.Namespace) -> int:
    """Open a shell in a fresh guest."""
    if not sys.stdin.isatty():
        raise LabError("a shell needs a terminal; use 'run' for a command")
    print("lab: booting, a few seconds; leave with Ctrl-D", flush=True)
    with open_machine(arguments) as machine:
        return interact(machine, ["bash", "-l"], cwd=Path.cwd())


def demo(arguments: argparse.Namespace) -> int:
    """Show netgroupd at work in a fresh guest, then open a shell in it."""
    print("demo: booting a guest with systemd", flush=True)
    arguments.systemd = True
    with open_machine(arguments) as machine:
        print(f"demo: booted in {machine.boot_s:.0f} s", flush=True)
        return demonstration.run(machine, CHECKOUT)


def _memory(text: str) -> int:
    number, unit = text[:-1], text[-1:].upper()
    if unit not in _MIB or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 512M or 2G")
    return int(number) * _MIB[unit]


def parser() -> argparse.ArgumentParser:
    """Return the command line of the lab."""
    top = argparse.ArgumentParser(prog="python -m netgroupd.lab", description=__doc__)
    verbs = top.add_subparsers(required=True, metavar="VERB")
    build = verbs.add_parser("kernel", help=kernel.__doc__)
    build.add_argument("flavours", nargs="*", metavar="FLAVOUR", help=", ".join(FLAVOURS))
    build.set_defaults(verb=kernel)
    for verb, lifetime_s, cpus in ((run, 300.0, 2), (shell, 86400.0, 1), (demo, 86400.0, 1)):
        sub = verbs.add_parser(verb.__name__, help=verb.__doc__)
        sub.add_argument("--kernel", default="patched", choices=FLAVOURS)
        sub.add_argument("--memory", default="2G", type=_memory, metavar="SIZE")
        sub.add_argument("--cpus", default=cpus, type=int, metavar="N", help="with 1 it is quick without KVM, too")
        sub.add_argument("--systemd", action="store_true", help="systemd as process 1, with a system bus")
        sub.add_argument("--timeout", default=lifetime_s, type=float, metavar="SECONDS", help="hard limit")
        sub.set_defaults(verb=verb)
        if verb is run:
            sub.add_argument("--env", action="append", default=[], metavar="NAME", help="pass this variable on")
            sub.add_argument("command", nargs="+", metavar="COMMAND")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit status."""
    arguments = parser().parse_args(argv)
    # As Ctrl-C does: end the guest, and leave nothing in /tmp.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(_SIGNAL_BASE + number))
    try:
        status: int = arguments.verb(arguments)
    except NetgroupError as error:
        print(f"lab: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return _SIGNAL_BASE + 2
    return status


if __name__ == "__main__":
    sys.exit(main())
