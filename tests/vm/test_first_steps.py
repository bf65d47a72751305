# SPDX-License-Identifier: GPL-2.0-or-later
"""What the pages for beginners show is typed, and what comes back is what they show."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.installed import ETC, Fresh, run

pytestmark = pytest.mark.vm_systemd("stock")

_TOP = Path(__file__).parents[2]
_PAGES = {
    "README.md": "for n in 1 2 3 4 5 6; do ip link add swp$n type dummy; done",
    "docs/first-steps.md": "ip link add vmbr0 up type bridge; for n in $(seq 30); do"
    " ip tuntap add tap$n mode tap; ip link set tap$n master vmbr0 up; done",
}
_BLOCK = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d+\.\d\d s|  +")


def _typed(page: str) -> Iterator[tuple[str, str]]:
    """Each command that the page shows, with what comes back."""
    for block in _BLOCK.findall((_TOP / page).read_text()):
        for step in re.split(r"^    # ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            yield command, re.sub(r"^    ", "", shown, flags=re.MULTILINE).strip("\n")


@pytest.fixture
def host(package: Fresh, request: pytest.FixtureRequest) -> Iterator[str]:
    """A page, on a host that has the links it tells of, and nothing of netgroupd's yet."""
    _forget()
    subprocess.run(["sh", "-ec", _PAGES[request.param]], check=True)
    yield request.param
    run("netgroupctl", "rollback", "0")
    _forget()


def _forget() -> None:
    run("systemctl", "stop", "netgroupd")
    for path in Path("/sys/class/net").iterdir():  # the bridges of the tests before, too
        run("ip", "link", "delete", path.name)  # of hardware there is no such thing
    for path in ETC.iterdir():
        path.unlink()
    shutil.rmtree("/var/lib/netgroup", ignore_errors=True)


@pytest.mark.parametrize("host", _PAGES, indirect=True)
def test_commands_give_what_the_page_shows(host: str) -> None:
    for command, shown in _typed(host):
        if command.startswith("cat /etc/netgroup/"):
            Path(command.removeprefix("cat ")).write_text(shown + "\n")
        elif command.startswith("netgroupctl check") and "20-typo" in shown:
            (ETC / "20-typo.yaml").write_text(shown.splitlines()[1].strip() + "\n")
            assert _said(command) == _plain(shown)
        else:
            assert _said(command) == _plain(shown), command


def _said(command: str) -> str:
    return _plain(subprocess.run(["sh", "-c", f"{command} 2>&1"], capture_output=True, text=True, check=False).stdout)


def _plain(text: str) -> str:
    """Without what differs each time, and the columns that are as wide as that."""
    return _TIME.sub(lambda match: "…" if match[0].strip() else " ", text).strip()
