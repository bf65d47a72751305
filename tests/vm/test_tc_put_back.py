# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that are deleted by a change which is refused behind that: what the kernel told of them, it takes."""

import json
import time

import pytest

from netgroupd.errors import KernelError
from netgroupd.plan import present
from tests.vm.hosts import EngineIn, here
from tests.vm.tc_action_cases import ACTION_CASES
from tests.vm.tc_flower_cases import Raw

_REFUSED = {"pref": 9, "protocol": "ip", "flower": {"dst_ip": "10.3.0.1"}, "skip_sw": True, "action": "drop"}
_EARLY = ", min: 5000, max: 30000"
_LINKS = "links: {v0: {kind: veth, peer: v1, up: true}, v2: {kind: dummy, up: true}}\n"


def _text(*rules: object) -> str:
    lines = "".join(f"      - {json.dumps(rule)}\n" for rule in rules)
    return f"{_LINKS}tc:\n  v0:\n    egress:\n{lines}"


def _comes_back(engine_in: EngineIn, text: str) -> None:
    engine_in("here", text).apply()
    with pytest.raises(KernelError) as caught:
        engine_in("here", _text(_REFUSED)).apply()
    assert "put back" not in str(caught.value)
    assert not engine_in("here", text).diff().steps


def _of_u32(pref: int) -> object:
    return {"pref": pref, "protocol": "ip", "u32": {"match": {"ip dst": "10.0.0.[1-3]"}}, "action": "drop"}


def _is_gone_again(engine_in: EngineIn, was: str, then: str, refused: str) -> None:
    """What ``then`` adds is there neither after a refusal nor after a rollback."""
    engine_in("here", was).apply()
    captured = engine_in("here", "{}").capture()
    with pytest.raises(KernelError):
        engine_in("here", refused).apply()
    assert engine_in("here", "{}").capture() == captured
    engine_in("here", then).apply()
    engine_in("here", was).rollback()
    assert engine_in("here", "{}").capture() == captured


def test_curve_that_a_class_of_hfsc_gets_with_one_below_it_is_gone_again(engine_in: EngineIn) -> None:
    one, below = "{classid: '1:1', rt: 1mbit}", "{classid: '1:2', parent: '1:1', rt: 1mbit}"
    tree = "{qdiscs: {kind: hfsc, handle: '1:'}, classes: [%s], egress: [%s]}"
    was, then, refused = (
        f"{_LINKS}tc: {{v0: {tree % said}}}\n"
        for said in ((one, ""), (f"{one}, {below}", ""), (f"{one}, {below}", json.dumps(_REFUSED)))
    )
    _is_gone_again(engine_in, was, then, refused)


def test_early_detection_that_a_fair_queue_gets_is_gone_again(engine_in: EngineIn) -> None:
    queue = f"{_LINKS}tc: {{v0: {{qdiscs: {{kind: sfq, handle: '1:'%s}}, egress: [%s]}}}}\n"
    was, then, refused = queue % ("", ""), queue % (_EARLY, ""), queue % (_EARLY, json.dumps(_REFUSED))
    _is_gone_again(engine_in, was, then, refused)


def test_rules_of_u32_come_back_whatever_tables_their_preferences_had(engine_in: EngineIn) -> None:
    engine_in("here", _text(_of_u32(20))).apply()
    _comes_back(engine_in, _text(_of_u32(10), _of_u32(20)))


@pytest.mark.parametrize("place", [0, 1], ids=["first", "second"])
def test_actions_come_back(engine_in: EngineIn, place: int) -> None:
    actions = (said[place] for said in ACTION_CASES.values())
    text = _text(*({"pref": pref, "matchall": {}, "action": action} for pref, action in enumerate(actions, 1)))
    _comes_back(engine_in, text)
    captured = engine_in("here", text).capture()
    engine_in("there", captured).apply()
    assert engine_in("there", captured).capture() == captured


_ASKED_IN_TURN = {
    "bpf": [{"bytecode": f"1,6 0 0 {number}"} for number in range(3)],
    "basic": [{"match": f"meta(fwmark eq {number})"} for number in range(3)],
    "flow": [{"keys": key, "baseclass": "1:5"} for key in ("src", "dst", "mark")],
}


@pytest.mark.parametrize("kind", _ASKED_IN_TURN)
def test_rules_that_are_asked_in_turn_come_back_in_their_order(engine_in: EngineIn, kind: str) -> None:
    text = _text(*({"pref": 5, kind: match, "action": "pass"} for match in _ASKED_IN_TURN[kind]))
    engine_in("here", text).apply()
    captured = engine_in("here", text).capture()
    _comes_back(engine_in, text)
    assert engine_in("here", text).capture() == captured


def test_what_an_earlier_generation_did_not_say_of_a_rule_is_given_back(engine_in: EngineIn) -> None:
    rule: dict[str, object] = {"pref": 1, "protocol": "ip", "u32": {"match": {"ip dst": "10.0.0.1"}}}
    engine_in("here", _text(rule)).apply()
    captured = engine_in("here", "{}").capture()
    engine_in("here", _text({**rule, "skip_hw": True, "action": "drop", "classid": "1:1"})).apply()
    engine_in("here", _text(rule)).rollback()
    assert engine_in("here", "{}").capture() == captured


def test_rule_in_software_alone_is_in_both_when_it_takes_a_shared_action(engine_in: EngineIn) -> None:
    rule: dict[str, object] = {"pref": 1, "protocol": "ip", "flower": {"dst_ip": "10.0.0.1"}}
    engine_in("here", _text({**rule, "skip_hw": True, "action": "drop"})).apply()
    shared = "actions: {gact 7: drop}\n" + _text({**rule, "action": "gact 7"})
    engine_in("here", shared).apply()
    assert not engine_in("here", shared).diff().steps
    assert "skip_hw" not in engine_in("here", shared).capture()


@pytest.mark.parametrize("match", [{"bpf": {"bytecode": "1,6 0 0 7"}}, {"u32": {"match": {"ip dst": "10.0.0.7"}}}])
def test_rule_in_software_alone_gets_into_hardware_and_back_among_others(engine_in: EngineIn, match: Raw) -> None:
    (kind,) = match
    others = [{"bpf": {"bytecode": f"1,6 0 0 {number}"}} for number in (1, 2)] if kind == "bpf" else [{"matchall": {}}]
    behind = [{"pref": 5 if kind == "bpf" else 6, **other, "action": "pass"} for other in others]
    mine = {"pref": 5, "protocol": "all" if kind == "bpf" else "ip", **match}
    engine_in("here", _text({**mine, "skip_hw": True, "action": "drop"}, *behind)).apply()
    captured = engine_in("here", "{}").capture()
    shared = "actions: {gact 7: drop}\n" + _text({**mine, "action": "gact 7"}, *behind)
    for text in (_text({**mine, "skip_hw": False, "action": "drop"}, *behind), shared):
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
        assert "skip_hw: true" not in engine_in("here", text).capture()
        engine_in("here", text).rollback()
        assert engine_in("here", "{}").capture() == captured


@pytest.mark.parametrize(
    ("was", "more"),
    [
        ("qdiscs: {kind: hfsc, handle: '1:'}, classes: {classid: '1:1', rt: 1mbit%s}", ", ls: 1mbit, ul: 2mbit"),
        ("qdiscs: {kind: fq_codel, handle: '1:'%s}", ", ce_threshold: 1ms, ce_threshold_selector: 1"),
        (
            "qdiscs: {kind: tbf, handle: '1:', rate: 10gbit, burst: 10240, limit: 20000%s}",
            ", rate: 1mbit, peakrate: 2mbit, mtu: 2000",
        ),
    ],
    ids=["hfsc", "fq_codel", "tbf"],
)
def test_option_that_ends_with_its_object_alone_is_gone_again(engine_in: EngineIn, was: str, more: str) -> None:
    texts = [f"{_LINKS}tc: {{v0: {{{was % said}}}}}\n" for said in ("", more)]
    texts[1] = texts[1].replace("rate: 10gbit, ", "")
    engine_in("here", texts[0]).apply()
    captured = engine_in("here", "{}").capture()
    engine_in("here", texts[1]).apply()
    engine_in("here", texts[0]).rollback()
    assert engine_in("here", "{}").capture() == captured


@pytest.mark.parametrize("models", [("loss_gemodel", "loss_state"), ("loss_state", "loss_gemodel")], ids="_to_".join)
def test_another_model_of_loss_takes_the_place_of_the_first(engine_in: EngineIn, models: tuple[str, str]) -> None:
    shares = {"loss_gemodel": [1, 2, 3, 4], "loss_state": [1, 2, 3, 4, 5]}
    netem = f"{_LINKS}tc: {{v0: {{qdiscs: {{kind: netem, handle: '1:', %s: %s}}, egress: [%s]}}}}\n"
    was, then = (netem % (model, shares[model], "") for model in models)
    _is_gone_again(engine_in, was, then, netem % (models[1], shares[models[1]], json.dumps(_REFUSED)))


def test_red_of_a_burst_that_is_made_anew_is_what_it_was(engine_in: EngineIn) -> None:
    red = f"{_LINKS}tc: {{v0: {{qdiscs: {{kind: red, handle: '1:', limit: 400kb, avpkt: 1000, burst: 55%s}}}}}}\n"
    engine_in("here", red % "").apply()
    before = here("tc qdisc show dev v0")
    engine_in("here", red % ", ecn: true, nodrop: true").apply()
    engine_in("here", red % "").rollback(1)
    assert here("tc qdisc show dev v0") == before


def test_red_that_marks_nothing_any_more_drops_again(engine_in: EngineIn) -> None:
    red = "{kind: red, handle: '1:', limit: 100000, min: 5000, max: 30000, ecn: %s}"
    was, then = (f"{_LINKS}tc: {{v0: {{qdiscs: {red % said}}}}}\n" for said in ("true, nodrop: true", "false"))
    engine_in("here", was).apply()
    engine_in("here", then).apply()
    assert not engine_in("here", then).diff().steps
    assert "nodrop: false" in engine_in("here", then).capture()


def test_probability_that_red_adapted_is_what_it_was_when_it_adapts_no_more(engine_in: EngineIn) -> None:
    red = "{kind: red, handle: '1:', limit: 100000, min: 5000, max: 30000%s}"
    was, then, refused = (
        f"{_LINKS}tc: {{v0: {{qdiscs: {red % said}, egress: [{rule}]}}}}\n"
        for said, rule in (("", ""), (", adaptive: true", ""), (", adaptive: false", json.dumps(_REFUSED)))
    )
    engine_in("here", was).apply()
    captured = engine_in("here", "{}").capture()
    engine_in("here", then).apply()
    time.sleep(1)  # every half a second it adapts
    with pytest.raises(KernelError) as caught:
        engine_in("here", refused).apply()
    assert "put back" not in str(caught.value)
    engine_in("here", was).rollback()
    assert engine_in("here", "{}").capture() == captured


def test_qdisc_of_another_kind_in_a_class_that_is_made_anew_has_nothing_of_the_last(engine_in: EngineIn) -> None:
    tree = "{qdiscs: [{kind: hfsc, handle: '1:'}, {parent: '1:2', handle: '2:', kind: %s}], classes: [%s]}"
    one, two = "{classid: '1:1', ls: 1mbit}", "{classid: '1:2', parent: '%s', ls: 1mbit}"
    was, then = (
        f"{_LINKS}tc: {{v0: {tree % said}}}\n"
        for said in (("pfifo, limit: 10", f"{one}, {two % '1:1'}"), ("fq", two % "1:"))
    )
    engine_in("here", was).apply()
    engine_in("here", then).apply()
    assert '{parent: "1:2", kind: fq, handle: "2:"}' in engine_in("here", "{}").capture()


@pytest.mark.parametrize("then", ["{new}", "{new}, {old}"], ids=["alone", "with_the_old"])
@pytest.mark.parametrize("match", ["flower: {dst_ip: 10.0.0.%d}", "basic: {match: meta(fwmark eq %d)}"])
def test_rule_comes_back_whose_handle_another_has(engine_in: EngineIn, match: str, then: str) -> None:
    tree = "{qdiscs: {kind: hfsc, handle: '1:'}, classes: [%s], filters: [%s], egress: [%s]}"
    classes = "{classid: '1:1', ls: 1mbit}, {classid: '1:3', ls: 1mbit}, {classid: '1:2', parent: '%s', ls: 1mbit}"
    rule = "{parent: '1:', pref: 5, protocol: ip, %s, classid: '1:%d'}"
    old, new = rule % (match % 1, 2), rule % (match % 2, 3)
    was, refused = (
        f"{_LINKS}tc: {{v0: {tree % said}}}\n"
        for said in (
            (classes % "1:", old, ""),
            (classes % "1:1", then.replace("{old}", old).replace("{new}", new), json.dumps(_REFUSED)),
        )
    )
    engine_in("here", was).apply()
    captured = engine_in("here", "{}").capture()
    with pytest.raises(KernelError) as caught:
        engine_in("here", refused).apply()
    assert "put back" not in str(caught.value)
    assert engine_in("here", "{}").capture() == captured


def test_new_rule_of_a_qdisc_that_is_made_anew_stays_beside_the_old(engine_in: EngineIn) -> None:
    root = "{qdiscs: {kind: %s, handle: '1:'}, filters: [%s{%s}]}"
    old, new = (f"parent: '1:', pref: 5, basic: {{match: meta(fwmark eq {number})}}" for number in (1, 2))
    for tree in (root % ("prio", "", f"{old}, classid: '1:1'"), root % ("htb", f"{{{new}, classid: '1:2'}}, ", old)):
        text = f"{_LINKS}tc: {{v0: {tree}}}\n"
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps


def test_atomic_chain_without_rules_needs_nothing_more(engine_in: EngineIn) -> None:
    text = f"{_LINKS}tc: {{v0: {{egress: [], chains: {{parent: egress, chain: 3, atomic: true}}}}}}\n"
    engine_in("here", text).apply()
    assert not engine_in("here", text).diff().steps


@pytest.mark.vm("stock")
@pytest.mark.parametrize("stays", ["lo: {up: true}", "v0: {kind: veth, peer: v1, up: true}"], ids=["link_goes", "hook"])
def test_rules_of_a_block_go_before_the_last_that_is_in_it(engine_in: EngineIn, stays: str) -> None:
    rule = "{pref: 9, chain: %d, matchall: {}, action: %s}"
    block = f"block 7: {{filters: [{rule % (3, 'drop')}, {rule % (0, 'goto chain 3')}]}}"
    text = f"{_LINKS}tc: {{v0: {{ingress_block: 7}}, v2: {{egress_block: 7}}, {block}}}\n"
    engine_in("here", text).apply()
    engine_in("here", f"links: {{{stays}}}\n").apply()
    assert "block 7" not in engine_in("here", "{}").capture()
    engine_in("here", text).rollback(1)
    assert not engine_in("here", text).diff().steps


@pytest.mark.vm("stock")
def test_rules_of_a_block_are_there_when_one_in_it_goes_with_its_link_and_the_last_is_made_anew(
    engine_in: EngineIn,
) -> None:
    links = "links: {v0: {kind: dummy}%s}\n"
    blocks = "block 7: {filters: {pref: 9, matchall: {}, action: drop}}, block 8: {filters: [%s]}"
    before = (
        links % ", w0: {kind: dummy}" + f"tc: {{v0: {{egress_block: 7}}, w0: {{egress_block: 7}}, {blocks % ''}}}\n"
    )
    after = links % "" + f"tc: {{v0: {{egress_block: 7, ingress_block: 8}}, {blocks}}}\n"
    engine_in("here", before).apply()
    with pytest.raises(KernelError):
        engine_in("here", after % json.dumps(_REFUSED)).apply()
    assert not engine_in("here", before).diff().steps
    assert "block 7" in present.text(engine_in("here", after % "").diff())


@pytest.mark.vm("stock")
@pytest.mark.parametrize("said", ["egress: []", "egress: [{pref: 1, matchall: {}, action: drop}]", "egress_block: 8"])
def test_hook_that_was_in_no_block_is_in_none_again(engine_in: EngineIn, said: str) -> None:
    text = f"{_LINKS}tc: {{v0: {{{said}%s}}, v2: {{ingress_block: 8}}, %s}}\n"
    rules = "{filters: [{pref: 9, matchall: {}}]}"
    engine = engine_in("here", text % ("", f"block 8: {rules}"))
    engine.apply()
    before = engine_in("here", "{}").capture()
    engine_in("here", text % (", ingress_block: 7", f"block 7: {rules}, block 8: {rules}")).apply()
    engine.rollback(1)
    assert engine_in("here", "{}").capture() == before


BY_HAND = {
    "for_an_option": ("fq_codel, flows: 64", "fq_codel, flows: 128", "fq_codel limit 50 target 7ms"),
    "for_its_kind": ("fq", "pfifo", "fq limit 50 quantum 3000"),
    "for_its_kind_with_none": ("netem, limit: 10", "fq", "netem limit 10 delay 5ms loss 1%"),
    "beside_what_a_file_says": ("cake, rtt: 50ms", "pfifo", "cake bandwidth 10mbit rtt 50ms"),
}


@pytest.mark.parametrize(("was", "then", "by_hand"), BY_HAND.values(), ids=BY_HAND)
def test_what_no_file_says_of_a_qdisc_that_is_made_anew_comes_back_with_it(
    engine_in: EngineIn, was: str, then: str, by_hand: str
) -> None:
    tree = f"{_LINKS}tc: {{v0: {{qdiscs: [{{handle: '7:', kind: %s}}]}}}}\n"
    engine_in("here", tree % was).apply()
    here(f"tc qdisc change dev v0 root handle 7: {by_hand}")
    before = here("tc qdisc show dev v0")
    with pytest.raises(KernelError):
        engine_in("here", (tree % then).replace("}]}", f"}}], egress: [{json.dumps(_REFUSED)}]}}")).apply()
    assert here("tc qdisc show dev v0") == before
    engine_in("here", tree % then).apply()
    assert not [line for line in engine_in("here", tree % was).rollback(1).plan.warnings if "given back" in line]
    assert here("tc qdisc show dev v0") == before


def test_options_of_a_qdisc_that_go_together_do_not_come_back_beside_what_a_file_says_otherwise(
    engine_in: EngineIn,
) -> None:
    tree = f"{_LINKS}tc: {{v0: {{qdiscs: [{{handle: '7:', kind: %s}}]}}}}\n"
    engine_in("here", tree % "ets, bands: 3").apply()
    here("tc qdisc change dev v0 root handle 7: ets bands 3 strict 1")
    engine_in("here", tree % "pfifo").apply()
    engine = engine_in("here", tree % "ets, bands: 3")
    assert not [line for line in engine.rollback(1).plan.warnings if "given back" in line]
    assert not engine.diff().steps


def test_what_no_file_says_of_what_is_on_a_qdisc_that_is_made_anew_stays(engine_in: EngineIn) -> None:
    leaf, inner = "{kind: fq_codel, parent: '1:1', handle: '2:'}", "{classid: '1:1', rate: 1mbit}"
    tree = f"{_LINKS}tc: {{v0: {{qdiscs: [{{kind: htb, handle: '1:', default: %s}}, {leaf}], classes: [{inner}]}}}}\n"
    engine_in("here", tree % 1).apply()
    here("tc qdisc change dev v0 parent 1:1 handle 2: fq_codel limit 50")
    here("tc class change dev v0 classid 1:1 htb rate 1mbit ceil 3mbit")
    engine_in("here", tree % 2).apply()
    assert "fq_codel 2: parent 1:1 limit 50p" in here("tc qdisc show dev v0")
    assert "rate 1Mbit ceil 3Mbit" in here("tc class show dev v0")
    engine_in("here", (tree % 2).replace("1mbit", "2mbit")).apply()
    assert "rate 2Mbit ceil 2Mbit" in here("tc class show dev v0")


@pytest.mark.vm("stock")
def test_rules_take_the_place_of_all_others_of_their_preference(engine_in: EngineIn) -> None:
    rule = {"pref": 5, "protocol": "ip", "action": "drop"}
    for match in ("dst_ip", "src_ip"):
        text = _text({**rule, "flower": {match: "10.0.0.[1-3]"}})
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
