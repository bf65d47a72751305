# SPDX-License-Identifier: GPL-2.0-or-later
"""Engines in namespaces that exist only for a test, and what somebody does there by hand."""

import json
import shlex
import subprocess
from collections.abc import Callable
from ipaddress import ip_interface
from pathlib import Path
from typing import Protocol, TypeAlias

from netgroupd.engine.engine import Engine
from netgroupd.engine.observe import Connection
from netgroupd.engine.paths import Paths
from netgroupd.kernel.kernels import Kernels

Connect: TypeAlias = Callable[[str | None], Connection]


class EngineIn(Protocol):
    """Makes the engine of a namespace, which has a file that says a text."""

    def __call__(self, netns: str, text: str, connect: Connect = Kernels) -> Engine: ...


def here(command: str, netns: str = "here") -> str:
    """What a command says in the namespace of the host that is captured."""
    program, *words = shlex.split(command)
    return subprocess.run([program, "-n", netns, *words], check=True, capture_output=True, text=True).stdout


def leaving_with(netns: str) -> dict[tuple[str, str], tuple[frozenset[str], str]]:
    """The addresses of each subnet of each link, and the one that packets leave with; the kernel tells that first."""
    found: dict[tuple[str, str], tuple[frozenset[str], str]] = {}
    for link in json.loads(here("ip -j address", netns)):
        for address in link.get("addr_info", ()):
            if address["scope"] != "link" and "address" not in address:
                local = address["local"]
                place = link["ifname"], str(ip_interface(f"{local}/{address['prefixlen']}").network)
                others, first = found.get(place, (frozenset(), local))
                found[place] = others | {local}, first
    return found


class Hosts:
    """An engine in each of some namespaces, with a configuration."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._made: set[str] = set()

    def engine(self, netns: str, text: str, connect: Connect = Kernels) -> Engine:
        """The engine of one, which has a file that says ``text``."""
        if netns not in self._made:
            subprocess.run(["ip", "netns", "add", netns], check=True)
            self._made.add(netns)
        config = self._directory / netns
        config.mkdir(exist_ok=True)
        (config / "all.yaml").write_text(text)
        paths = Paths((config,), self._directory / "state", self._directory / "group")
        return Engine(paths, netns=netns, connect=connect)

    def forget(self, netns: str) -> None:
        """Delete a namespace, so that its engine begins in an empty one."""
        self._made.remove(netns)
        subprocess.run(["ip", "netns", "del", netns], check=True)

    def close(self) -> None:
        """Delete the namespaces."""
        for netns in tuple(self._made):
            self.forget(netns)
