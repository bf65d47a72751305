# SPDX-License-Identifier: GPL-2.0-or-later
"""Rewriting that `tc` has made without `ex`, or at places that depend on the packet: read, and put back as it was."""

import subprocess

from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.hooks import hooks_of
from netgroupd.plan.step import Op, Step
from tests.vm.tc_cases import CLSACT, SETUP

_THEIRS = (
    "pref 5 flower action pedit munge offset 12 u32 set 0x0a000001 munge offset 8 u8 set 64",
    "pref 6 flower action pedit munge offset 20 u32 at 0 0f 2 set 0x00350035",
    "pref 7 flower action pedit ex munge ip ttl add 255",
)
_WANTED = Selection(classes=frozenset({"filter"}), hooks=hooks_of(State((CLSACT,))))


def _keys() -> list[str]:
    """The words, with no header where it is that of the network, as the old kind tells none."""
    shown = subprocess.run(["tc", "filter", "show", "dev", "v0", "ingress"], capture_output=True, check=True, text=True)
    return [line.strip().replace("ipv4+", "") for line in shown.stdout.splitlines() if " key #" in line]


def test_rewriting_that_others_have_made_is_read_and_made_as_it_was() -> None:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    subprocess.run(["tc", "qdisc", "add", "dev", "v0", "clsact"], check=True)
    for said in _THEIRS:
        subprocess.run(["tc", *f"filter add dev v0 ingress protocol ip {said}".split()], check=True)
    before = _keys()
    with Kernels() as kernel:
        there = kernel.dump(_WANTED).of("filter")
        assert len(there) == len(_THEIRS)
        assert not kernel.apply([Step(Op.DELETE, rule, None) for rule in there.values()])
        assert not _keys()
        assert not kernel.apply([Step(Op.CREATE, None, rule, rule.attrs) for rule in there.values()])
        assert kernel.dump(_WANTED).of("filter").keys() == there.keys()
    assert _keys() == before
