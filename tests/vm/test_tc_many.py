# SPDX-License-Identifier: GPL-2.0-or-later
"""Many rules of one line, of which few are to change: what is looked at for that, and what comes back."""

import json
import re
import subprocess

import pytest

from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.step import Step
from tests.vm.hosts import EngineIn, here

_LINE = '{pref: 5, protocol: ip, flower: {dst_ip: "10.0.[%s].[0-255]"}, action: drop}'
_ONE = '{pref: 5, protocol: ip, flower: {dst_ip: "10.9.0.1"}, action: %s}'
_NET = '{pref: 5, protocol: ip, flower: {dst_ip: "10.8.0.0/16"}, action: drop}'
_REFUSED = '{pref: 6, protocol: ip, flower: {dst_ip: "10.3.0.1"}, skip_sw: true, action: drop}'


class _Counting(Kernels):
    """Notes how often rules are read."""

    dumps = 0

    def dump(self, selection: Selection) -> State:
        _Counting.dumps += "filter" in selection.classes
        return super().dump(selection)


def _text(*rules: str) -> str:
    return "links: {d: {kind: dummy}}\ntc:\n  d:\n    ingress:\n" + "".join(f"      - {rule}\n" for rule in rules)


_LINES = (_LINE % "0-1", _NET, _LINE % "2-3")
_OTHERS = {
    "changed": (*_LINES, _ONE % "pass"),
    "deleted": _LINES,
    "new": (*_LINES, _ONE % "drop", _ONE.replace("9", "7") % "drop"),
}


@pytest.mark.parametrize("then", _OTHERS.values(), ids=_OTHERS)
def test_rules_are_read_once_before_one_of_them_changes_and_once_after(
    engine_in: EngineIn, then: tuple[str, ...]
) -> None:
    engine_in("here", _text(*_LINES, _ONE % "drop")).apply()
    engine = engine_in("here", _text(*then), connect=_Counting)
    _Counting.dumps = 0
    assert len(engine.apply().plan.steps) == 1
    assert _Counting.dumps == 2


@pytest.mark.parametrize("left", [_LINES[::2], (_NET,), ()], ids=["one_mask", "many", "all"])
def test_rules_have_the_handles_that_they_had_after_a_refused_change(
    engine_in: EngineIn, left: tuple[str, ...]
) -> None:
    engine_in("here", _text(*_LINES, _ONE % "drop")).apply()
    was = here("tc filter show dev d ingress")
    with pytest.raises(KernelError) as caught:
        engine_in("here", _text(*left, _REFUSED)).apply()
    assert "put back" not in str(caught.value)
    assert sorted(here("tc filter show dev d ingress").split("filter")) == sorted(was.split("filter"))


@pytest.mark.parametrize("then", [(), (_NET.replace("8", "0"),)], ids=["deleted", "changed"])
def test_masks_are_asked_in_the_same_order_after_a_refused_change_of_the_first(
    engine_in: EngineIn, then: tuple[str, ...]
) -> None:
    first = '{pref: 5, protocol: ip, flower: {dst_ip: "10.0.0.0/16"}, action: pass}'
    text = "links: {d: {kind: dummy, up: true, addresses: [10.0.9.1/16]}}\ntc:\n  d:\n    egress:\n      - %s\n"
    lines = [_LINE % "0-1", _LINE % "2-3"]
    engine_in("here", text % "\n      - ".join([first, *lines])).apply()
    with pytest.raises(KernelError):
        engine_in("here", text % "\n      - ".join([*then, *lines, _REFUSED])).apply()
    subprocess.run(["ip", "netns", "exec", "here", "bash", "-c", "echo > /dev/udp/10.0.0.7/9"], check=False)
    rules = [rule["options"] for rule in json.loads(here("tc -s -j filter show dev d egress")) if "options" in rule]
    asked = [rule["keys"]["dst_ip"] for rule in rules if rule["actions"][0]["stats"]["packets"]]
    assert asked == ["10.0.0.0/16"]


@pytest.mark.vm("stock")  # the patched one leaves none out
def test_rules_of_matchall_that_the_kernel_leaves_out_of_a_dump_are_seen(engine_in: EngineIn) -> None:
    text = _text(*(f"{{pref: {pref}, matchall: {{}}, action: drop}}" for pref in range(1, 601)))
    engine_in("here", text).apply()
    assert here("tc filter show dev d ingress").count("handle") < 600  # where packets of the dump ended
    assert not engine_in("here", text).diff().steps
    assert len(engine_in("here", "links: {d: {kind: dummy}}\ntc: {d: {ingress: []}}").apply().plan.steps) == 600


def test_rule_that_others_change_on_one_of_many_links_is_seen_there_and_nowhere_else(engine_in: EngineIn) -> None:
    """Rules of all these links are told alike but for where they hang, and are read by what was read of the first."""
    rule = '{pref: 5, protocol: ip, flower: {dst_ip: "10.0.0.[1-40]"}, action: drop}'
    hooks = "\n".join(f"    {hook}:\n      - {rule}" for hook in ("ingress", "egress"))
    engine = engine_in("here", f"links: {{'d[1-4]': {{kind: dummy}}}}\ntc:\n  d[1-4]:\n{hooks}\n")
    engine.apply()
    assert engine.diff().steps == ()
    told = here("tc -j filter show dev d3 egress")
    handle = next(one["options"]["handle"] for one in json.loads(told) if "10.0.0.7" in str(one))
    match = f"pref 5 handle {handle} protocol ip flower dst_ip 10.0.0.7"
    here(f"tc filter change dev d3 egress {match} action pass")
    (step,) = engine.diff().steps
    assert isinstance(step, Step)
    assert step.object.key == ("d3", "egress", 0, 5, (("dst_ip", "10.0.0.7"),))
    engine.apply()
    assert engine.diff().steps == ()


_OF_A_RULE = '{pref: 5, protocol: ip, flower: {dst_ip: "10.0.[a=0-1].[b=0-149]"}, action: %s}'
_OWN = {
    "nat": ('{nat: {direction: ingress, old: "10.0.{a}.{b}", new: "192.%d.{a}.{b}"}}', r"192\.169\.([01]\.\d+)"),
    "skbedit": ('{skbedit: {ptype: host, mark: "{a*256+b+%d}"}}', r"mark (\d+)"),
    "police": ('{police: {rate: "{(a*256+b+%d)*125000}", burst: 10k}}', r"rate (\S+)"),
    "pedit": ('{pedit: {munge: {ip src: "172.16.{a}.{b}", ip ttl: "%d"}}}', r"val ac10(\w+)"),
}


@pytest.mark.parametrize(("action", "told"), _OWN.values(), ids=_OWN)
def test_many_rules_that_have_each_an_action_of_its_own_change_at_once(
    engine_in: EngineIn, action: str, told: str
) -> None:
    for number in (168, 169):
        text = _text(_OF_A_RULE % (action % number))
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
    found = here("tc filter show dev d ingress").split("filter ")
    pairs = [(re.search(r"dst_ip 10\.0\.(\S+)", rule), re.search(told, rule)) for rule in found]
    own = {where[1]: said[1] for where, said in pairs if where and said}
    assert len(own) == len({*own.values()}) == 300
    if told.startswith("192"):
        assert all(where == said for where, said in own.items())


def test_rules_with_actions_of_their_own_have_these_again_after_a_refused_change(engine_in: EngineIn) -> None:
    action = _OWN["nat"][0]
    engine_in("here", _text(_OF_A_RULE % (action % 168))).apply()
    was = here("tc filter show dev d ingress")
    with pytest.raises(KernelError) as caught:
        engine_in("here", _text(_OF_A_RULE % (action % 169), _REFUSED)).apply()
    assert "put back" not in str(caught.value)
    now = here("tc filter show dev d ingress")
    assert re.findall(r"handle \S+|192\S+", now) == re.findall(r"handle \S+|192\S+", was)
