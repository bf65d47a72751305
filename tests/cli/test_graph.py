# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that a picture goes to, and no other."""

import stat
import sys
from pathlib import Path

import pytest

from netgroupd.cli import graph
from netgroupd.cli.terminal import Terminal
from netgroupd.errors import NetgroupError

_PAINTER = "#!/bin/sh\ncp $3 $2\n"


@pytest.fixture
def painter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of the one that draws PNG."""
    path = tmp_path / "bin" / graph._PAINTER
    path.parent.mkdir()
    path.write_text(_PAINTER)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}:/bin:/usr/bin")
    return path


def _write(output: Path, picture: str = "<svg/>") -> None:
    graph._write(picture, str(output), Terminal(sys.stdout, sys.stderr))


def test_png_leaves_the_svg_beside_it_alone(tmp_path: Path, painter: Path) -> None:
    (tmp_path / "net.svg").write_text("precious")
    _write(tmp_path / "net.png")
    assert (tmp_path / "net.png").read_text() == "<svg/>"
    painter.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(NetgroupError, match="the picture is not written"):
        _write(tmp_path / "net.png")
    assert (tmp_path / "net.svg").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "net.png", "net.svg"]


def test_svg_takes_names_of_any_bytes(tmp_path: Path) -> None:
    _write(tmp_path / "net.svg", "<svg>d\udcff</svg>")
    assert (tmp_path / "net.svg").read_text() == "<svg>d?</svg>"
    with pytest.raises(NetgroupError, match="No such file or directory"):
        _write(tmp_path / "no/net.svg")
