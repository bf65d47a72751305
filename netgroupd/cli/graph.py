# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl graph``: the topology as a picture."""

import os
from argparse import Namespace
from pathlib import Path
from tempfile import NamedTemporaryFile

from netgroupd.cli.command import CommandLineError
from netgroupd.cli.drawing import draw
from netgroupd.cli.target import engine_of
from netgroupd.cli.terminal import Terminal, counted
from netgroupd.cli.topology import WAITS, Topology, fold, signs_of
from netgroupd.errors import NetgroupError
from netgroupd.model.state import State

_PAINTER = "rsvg-convert"


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Draw what there is and what will change, or what is configured."""
    if arguments.output is not None and Path(arguments.output).suffix not in (".svg", ".png"):
        raise CommandLineError(f"--output: expected a name that ends in .svg or .png, not {arguments.output!r}")
    engine = engine_of(arguments)
    desired = engine.desired()
    plan = engine.diff()
    actual = engine.actual()
    state = desired if arguments.desired else _both(actual, desired)
    # Wanted, not there, and no step for it: it stands on hardware that is to come.
    waiting = {str(name): WAITS for (name,) in desired.of("link").keys() - actual.of("link").keys()}
    names = {group.id: group.name for group in desired.groups.values()}
    topology = fold(state, {**waiting, **signs_of(plan)}, {**plan.group_names, **names})
    if terminal.as_json:
        terminal.answer(_plain(topology))
        return 0
    _write(draw(topology, title(topology)), arguments.output, terminal)
    return 0


def title(topology: Topology) -> str:
    """How much the picture has in how little."""
    links, boxes = sum(node.size for node in topology.nodes), len(topology.nodes)
    return f"{counted(links, 'link')}, folded into {boxes} {'box' if boxes == 1 else 'boxes'}"


def _both(actual: State, desired: State) -> State:
    """What there is, with what is still to be made."""
    both = State(desired.of("link").values())
    for link in actual.of("link").values():
        wanted = desired.link(link.name)
        both.add(link.having(wanted.attrs) if wanted else link)
    return both


def _write(picture: str, output: str | None, terminal: Terminal) -> None:
    if output is None:
        terminal.write(picture)
        return
    path = Path(output)
    try:
        if path.suffix == ".svg":
            _keep(picture, path)
        else:
            with NamedTemporaryFile(suffix=".svg") as drawn:
                _keep(picture, Path(drawn.name))
                _paint(drawn.name, output)
    except OSError as error:
        raise NetgroupError(f"cannot write {output}: {error.strerror}") from error


def _keep(picture: str, path: Path) -> None:
    path.write_text(picture, encoding="utf-8", errors="replace")  # the kernel's names may be any bytes


def _paint(drawn: str, output: str) -> None:
    try:
        painter = os.posix_spawnp(_PAINTER, [_PAINTER, "--output", output, drawn], os.environ)
    except FileNotFoundError:
        raise NetgroupError(f"PNG needs {_PAINTER} of the package librsvg2-bin; SVG needs nothing") from None
    if os.waitpid(painter, 0)[1]:
        raise NetgroupError(f"{_PAINTER} failed; the picture is not written")


def _plain(topology: Topology) -> dict[str, object]:
    return {
        "nodes": [node._asdict() for node in topology.nodes],
        "edges": [edge._asdict() for edge in topology.edges],
    }
