# SPDX-License-Identifier: GPL-2.0-or-later
"""The template worker is confined by these kernels too, with nothing but the kernel to refuse."""

import pytest

from netgroupd.config import process
from netgroupd.config.facts import Facts
from netgroupd.config.render import Limits, render
from netgroupd.config.sources import ROOT, Source

# An emulated guest on a busy host gets little done in a second.
_PATIENT = Limits(cpu_s=200, wall_s=250)

ATTEMPTS = (
    "os.open('/etc/shadow', os.O_RDONLY)",
    "os.open('/new', os.O_CREAT | os.O_WRONLY)",
    "os.mkdir('/new')",
    "os.fork()",
    "os.setuid(0)",
    "os.kill(os.getppid(), 0)",
    "libc.socket(2, 1, 0)",
    "libc.socket(16, 3, 0)",
    "libc.ptrace(16, os.getppid(), 0, 0)",
    "libc.unshare(0x40000000)",
    "libc.prctl(38, 0, 0, 0, 0)",
)
TEMPLATE = """<%
import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
def attempt(call):
    try:
        return f"{call()} {ctypes.get_errno()}"
    except OSError as error:
        return f"-1 {error.errno}"
%>\\
"""


def test_kernel_refuses_everything_to_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    start = "import netgroupd.config.worker.manners as m; m.teach = lambda: None; from netgroupd"
    monkeypatch.setattr(process, "BOOT", process.BOOT.replace("from netgroupd", start, 1))
    text = TEMPLATE + "".join(f"${{attempt(lambda: {call})}}\n" for call in ATTEMPTS)
    source = Source("/t/10-a.mako", "10-a.mako", text)
    [rendered], problems = render([source], facts=Facts, templates=(), limits=_PATIENT, trust=ROOT)
    assert problems == ()
    assert rendered.text.splitlines() == ["-1 13"] * len(ATTEMPTS)


def test_endless_template_is_ended_at_its_line() -> None:
    source = Source("/t/10-a.mako", "10-a.mako", "a: 1\n<%\nwhile True: pass\n%>\n")
    rendered, [problem] = render([source], facts=Facts, templates=(), limits=Limits(cpu_s=1, wall_s=60), trust=ROOT)
    assert rendered == ()
    assert problem.line == 3
    assert problem.message.endswith("time than it is given")
