# SPDX-License-Identifier: GPL-2.0-or-later
"""Show netgroupd at work in a guest: what an operator types, and what comes back."""

import shutil
import sys
import time
from pathlib import Path

from netgroupd.errors import LabError
from netgroupd.lab.channel import Kind
from netgroupd.lab.machine import Machine
from netgroupd.lab.product import install
from netgroupd.lab.terminal import interact

_LIMIT_S = 300.0
_TEMPLATE = "/etc/netgroup/10-tenants.mako"
_BRIDGES = """\
<%
  ports = "swp[1-6]"
  vlans = "1000-1099"
%>
groups:
  tenants: {mtu: 9000}

links:
  ${ports}: {up: true, mtu: 9216}

  br-[v=${vlans}]:
    kind: bridge
    ports: ${ports}.{v}          # VLAN v of every port, made when absent
    group: tenants
    addresses: ["10.{v//256}.{v%256}.1/24"]
    up: true
"""
_DIFFERENT = 2


class _Show:
    """Types commands into the guest, for somebody who watches."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._terminal = sys.stdout.isatty()

    def say(self, text: str) -> None:
        """Tell what comes next."""
        print(f"\n--- {text}", flush=True)

    def type(self, command: str, *, expect: int = 0) -> None:
        """Run a command and show what it prints, as it prints it.

        Raises:
            LabError: It ended in another way than the demonstration says.
        """
        prompt = f"# {command}"
        print(f"\n\033[1m{prompt}\033[0m" if self._terminal else f"\n{prompt}", flush=True)
        started = time.monotonic()
        size = shutil.get_terminal_size()
        terminal = (size.lines, size.columns) if self._terminal else None
        process = self._machine.start(["sh", "-c", command], terminal=terminal)
        for frame in process.output(_LIMIT_S):
            stream = sys.stderr if frame.kind is Kind.STDERR else sys.stdout
            stream.buffer.write(frame.payload)
            stream.flush()
        if process.status != expect:
            raise LabError(f"{command!r} ended with {process.status} and not {expect}")
        print(f"  ({time.monotonic() - started:.1f} s)", flush=True)


def demonstrate(machine: Machine, checkout: Path) -> None:
    """Go through the life of a configuration.

    Raises:
        LabError: A command failed.
    """
    print("demo: installing netgroupd in the guest (a few seconds)", flush=True)
    install(machine, checkout)
    machine.put(_TEMPLATE, _BRIDGES.encode())
    show = _Show(machine)
    ports = "for n in 1 2 3 4 5 6; do ip link add swp$n type dummy; done"
    show.say("a host with six ports, and netgroupd under systemd")
    show.type(ports)
    show.say("the template: 100 VLANs on six ports, a bridge with an address for each")
    show.type(f"cat {_TEMPLATE}")
    show.say("what it would do, before it does anything")
    show.type("netgroupctl diff --offline", expect=_DIFFERENT)
    show.type("systemctl start netgroupd")
    show.say("seven hundred links later")
    show.type("netgroupctl status")
    show.type("ip -br address show dev br-1042; bridge link show | grep -c 'master br-1042 '")
    show.say("an edit: ten VLANs fewer, and smaller packets for all the others")
    show.type(f"sed -i 's/1000-1099/1000-1089/; s/mtu: 9000/mtu: 1500/' {_TEMPLATE}")
    show.type("netgroupctl diff", expect=_DIFFERENT)
    show.type("netgroupctl apply")
    show.say("and once more, by way of systemd")
    show.type(f"sed -i 's/1000-1089/1000-1091/' {_TEMPLATE}")
    show.type("netgroupctl diff", expect=_DIFFERENT)
    show.type("systemctl reload netgroupd")
    show.type("netgroupctl diff")
    machine.check()


def run(machine: Machine, checkout: Path) -> int:
    """Demonstrate; with a terminal, leave the watcher in the guest to try more."""
    demonstrate(machine, checkout)
    if not sys.stdin.isatty():
        return 0
    print("\n--- a shell in this guest; leave with Ctrl-D, and nothing of it remains", flush=True)
    return interact(machine, ["bash", "-l"])
