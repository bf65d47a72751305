# SPDX-License-Identifier: GPL-2.0-or-later
"""Files whose rules the kernel refuses: it is told which line, and what was there before is there still."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Attrs, Key
from netgroupd.model.tc.chain import chain_of
from netgroupd.plan.step import Step
from netgroupd.plan.tc.hooks import ON_QDISCS

_SPACE = "bad"
_BEFORE = """
links: {d: {kind: dummy, up: true}}
tc:
  d:
    ingress:
      - {pref: 5, protocol: ip, flower: {dst_ip: "10.9.0.[1-9]"}, action: drop}
"""
_MANY = """
      - {pref: 1, protocol: ip, flower: {dst_ip: "10.1.[0-7].[0-255]"}, action: drop}
"""
_BAD = "      - {pref: 2, protocol: ip, flower: {dst_ip: 10.3.0.1}, skip_sw: true, action: drop}"
_MORE = """
      - {pref: 3, protocol: ip, flower: {dst_ip: "10.2.[0-1].[0-255]"}, action: drop}
"""
_BAD_LINE = len(f"{_BEFORE}{_MANY}".splitlines()) + 1


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    subprocess.run(["ip", "netns", "add", _SPACE], check=True)
    yield tmp_path / "rules.yaml"
    subprocess.run(["ip", "netns", "del", _SPACE], check=True)


def _engine(file: Path) -> Engine:
    return Engine(Paths((file,), file.parent / "state", file.parent / "group"), netns=_SPACE)


def _there() -> dict[Key, Attrs]:
    """All that there is of the rules, and their handles."""
    with Kernels(_SPACE) as kernel:
        found = kernel.dump(Selection(classes=ON_QDISCS, hooks=frozenset({("d", "ingress")})))
    return {key: rule.attrs for key, rule in found.of("filter").items()}


@pytest.mark.vm(cpus=2)  # where packets go by threads
def test_one_rule_that_is_refused_among_thousands_is_told_by_its_line_and_none_stays(file: Path) -> None:
    file.write_text(_BEFORE)
    _engine(file).apply()
    before = _there()
    assert len(before) == 9
    file.write_text(f"{_BEFORE}{_MANY}{_BAD}{_MORE}")
    with pytest.raises(KernelError) as caught:
        _engine(file).apply()
    assert [refusal.origin for refusal in caught.value.refusals] == [f"{file}:{_BAD_LINE}"]
    assert _there() == before
    file.write_text(f"{_BEFORE}{_MANY}{_MORE}")
    _engine(file).apply()
    assert len(_there()) == 9 + 10 * 256


_PLACES = """
links: {d: {kind: dummy, up: true}}
tc:
  d:
"""
_CHAINS = {"plain": "", "atomic": "    chains: {parent: ingress, chain: 0, atomic: true}\n"}
_HAD = """\
    ingress:
      - {pref: 5, protocol: ip, flower: {dst_ip: "10.8.[0-3].[0-255]"}, action: pass}
"""
_WANTED = """\
    ingress:
      - {pref: 5, protocol: ip, flower: {dst_ip: "10.9.[0-1].[0-255]"}, action: drop}
      - {pref: 6, protocol: ip, flower: {dst_ip: 10.3.0.1}, skip_sw: true, action: drop}
      - {pref: 7, protocol: ip, flower: {dst_ip: "10.9.[2-3].[0-255]"}, action: drop}
"""


@pytest.mark.parametrize("chains", _CHAINS.values(), ids=_CHAINS)
def test_thousands_of_rules_are_as_they_were_when_one_of_those_in_their_place_is_refused(
    file: Path, chains: str
) -> None:
    file.write_text(_PLACES + chains + _HAD)
    _engine(file).apply()
    before = _there()
    file.write_text(text := _PLACES + chains + _WANTED)
    with pytest.raises(KernelError) as caught:
        _engine(file).apply()
    line = 1 + next(number for number, line in enumerate(text.splitlines()) if "skip_sw" in line)
    (refusal,) = caught.value.refusals
    assert (refusal.origin, refusal.what) == (f"{file}:{line}", "create filter d ingress pref 6 dst_ip 10.3.0.1")
    assert _there() == before
    assert not _engine(file).drift().steps


@pytest.mark.parametrize("whole", ["chain: 0, ", ""], ids=["chain", "hook"])
def test_rule_that_is_refused_and_optional_is_all_that_is_tried_again(file: Path, whole: str) -> None:
    chains = f"    chains: {{parent: ingress, {whole}atomic: true}}\n"
    file.write_text(text := _PLACES + chains + _WANTED.replace("skip_sw: true", "skip_sw: true, optional: true"))
    _engine(file).apply()
    before = _there()
    plan = _engine(file).diff()
    assert [str(step.object.key[3]) for step in plan.steps if isinstance(step, Step)] == ["6"]
    (refusal,) = _engine(file).apply().refused
    assert refusal.what == "create filter d ingress pref 6 dst_ip 10.3.0.1"
    assert _there() == before
    file.write_text(text.replace("skip_sw: true", "skip_sw: false"))
    assert not _engine(file).apply().refused
    assert len(_there()) == len(before) + 1
    assert not _engine(file).diff().steps


_REFUSED = "skip_sw: true, optional: true"
_SEVERAL = """\
      - {pref: 8, protocol: ip, flower: {dst_ip: 10.3.0.2}, skip_sw: true, optional: true, action: drop}
      - {pref: 8, protocol: ip, flower: {dst_ip: 10.3.0.3}, skip_sw: true, optional: true, action: pass}
"""


@pytest.mark.parametrize("whole", ["chain: 0, ", ""], ids=["chain", "hook"])
def test_of_rules_that_are_refused_and_optional_none_is_met_without_those_that_are_taken(
    file: Path, whole: str
) -> None:
    chains = f"    chains: {{parent: ingress, {whole}atomic: true}}\n"
    file.write_text(text := _PLACES + chains + _WANTED.replace("skip_sw: true", _REFUSED) + _SEVERAL)
    assert len(_engine(file).apply().refused) == 3
    before = _there()
    plan = _engine(file).diff()
    assert [str(step.object.key[3]) for step in plan.steps if isinstance(step, Step)] == ["6", "8", "8"]
    assert len(_engine(file).apply().refused) == 3
    assert _there() == before
    file.write_text(text.replace("skip_sw: true", "skip_sw: false", 2))
    (refusal,) = _engine(file).apply().refused
    assert refusal.what == "create filter d ingress pref 8 dst_ip 10.3.0.3"
    after = _there()
    assert len(after) == len(before) + 2
    assert [chain_of(key) for key in after.keys() & before.keys()] == [0]  # all but the rule that leads there is new
    assert [str(step.object.key[3]) for step in _engine(file).diff().steps if isinstance(step, Step)] == ["8"]


def test_line_of_which_all_is_refused_is_told_by_its_first_rule(file: Path) -> None:
    file.write_text(_BEFORE)
    _engine(file).apply()
    before = _there()
    file.write_text(_BEFORE + _MANY.replace("action", "skip_sw: true, action"))
    with pytest.raises(KernelError) as caught:
        _engine(file).apply()
    (refusal,) = caught.value.refusals
    assert refusal.origin == f"{file}:{len(_BEFORE.splitlines()) + 2}"
    assert refusal.what == "create filter d ingress pref 1 dst_ip 10.1.0.0"
    assert refusal.sentence.endswith(" more of this line)")
    assert _there() == before


def test_as_many_actions_as_the_kernel_takes_are_taken(file: Path) -> None:
    file.write_text(f"{_BEFORE}      - {{pref: 1, matchall: {{}}, action: [{', '.join(['pipe'] * 31)}, drop]}}\n")
    engine = _engine(file)
    engine.apply()
    assert not engine.diff().steps
