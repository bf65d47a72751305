# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that `tc` has made in ways that no file takes: read, and put back as they were."""

import subprocess
from collections.abc import Iterable

from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.hooks import hooks_of
from tests.vm.tc_cases import CLSACT, SETUP

_MASKED = (
    "pref 5 flower dst_ip 10.0.0.5/24 src_mac 02:00:00:00:00:05/ff:ff:ff:00:00:00 action drop",
    "pref 6 flower ip_proto tcp dst_port 81/0xfff0 action drop",
    "pref 7 matchall action skbedit mark 0xff/0x0f",
    "pref 8 matchall action ct mark 0xff/0x0f",
)
_MATCHED = [
    (("dst_ip", "10.0.0.0/24"), ("src_mac", "02:00:00:00:00:00/ff:ff:ff:00:00:00")),
    (("dst_port", "0x50/0xfff0"), ("ip_proto", "tcp")),
]
_MARKS = ("'mark': '0xf/0xf'", "'mark': '0xff/0xff'")
_REWRITTEN = (
    "pref 5 flower action pedit munge offset 12 u32 set 0x0a000001 munge offset 8 u8 set 64",
    "pref 6 flower action pedit munge offset 20 u32 at 0 0f 2 set 0x00350035",
    "pref 7 flower action pedit ex munge ip ttl add 255",
)
_WANTED = Selection(classes=frozenset({"filter"}), hooks=hooks_of(State((CLSACT,))))


def _keys() -> list[str]:
    """The words, with no header where it is that of the network, as the old kind tells none."""
    shown = subprocess.run(["tc", "filter", "show", "dev", "v0", "ingress"], capture_output=True, check=True, text=True)
    return [line.strip().replace("ipv4+", "") for line in shown.stdout.splitlines() if " key #" in line]


def _made(said: Iterable[str]) -> None:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    subprocess.run(["tc", "qdisc", "add", "dev", "v0", "clsact"], check=True)
    for rule in said:
        subprocess.run(["tc", *f"filter add dev v0 ingress protocol ip {rule}".split()], check=True)


def _made_again() -> list[Object]:
    """Delete all that is there, and make it again; what it is."""
    with Kernels() as kernel:
        there = kernel.dump(_WANTED).of("filter")
        assert not kernel.apply([Step(Op.DELETE, rule, None) for rule in there.values()])
        assert not kernel.dump(_WANTED).of("filter")
        assert not kernel.apply([Step(Op.CREATE, None, rule, rule.attrs) for rule in there.values()])
        assert kernel.dump(_WANTED).of("filter").keys() == there.keys()
    return list(there.values())


def test_values_with_bits_that_their_masks_leave_out_are_told_without_them() -> None:
    _made(_MASKED)
    first, second, *marking = _made_again()
    assert [first.key[4], second.key[4]] == _MATCHED
    assert [mark in str(rule.attrs) for mark, rule in zip(_MARKS, marking, strict=True)] == [True, True]


def test_rewriting_that_others_have_made_is_read_and_made_as_it_was() -> None:
    _made(_REWRITTEN)
    before = _keys()
    assert len(_made_again()) == len(_REWRITTEN)
    assert _keys() == before
