# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order rules of traffic control are written, and which classes together."""

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.model.state import Attrs, Object, State

CARD = Object("link", ("v0",), {"kind": "", "up": True})


def _rules(kind: str, *places: tuple[int, Attrs]) -> str:
    """What is captured of rules in these chains that match this, when the kernel tells of them in this order."""
    clsact = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "hooks": ("ingress",)})
    keys = [("v0", "ingress", chain, 5, tuple(match.items())) for chain, match in places]
    rules = [Object("filter", key, {"kind": kind, "protocol": "ip"}) for key in keys]
    return captured(State((CARD, clsact, *rules)), {}, {})


def test_chains_and_hash_tables_are_in_order() -> None:
    matches: list[Attrs] = [{"divisor": 4 * number, "table": number} for number in (2, 1)]
    matches.append({"bucket": 1, "match": ("1/1 at 0",), "table": 1})
    places = [(chain, match) for match in matches for chain in (7, 1)]
    assert _rules("u32", *reversed(places)) == _rules("u32", *places)


def test_rules_of_one_mask_are_in_the_same_order_however_the_kernel_numbers_them() -> None:
    wide, *whole = ((0, {"dst_ip": address}) for address in ("172.16.0.0/12", "192.0.2.1", "10.0.0.7"))
    text = _rules("flower", wide, *whole)
    assert text == _rules("flower", wide, *reversed(whole))
    assert text.index("172.16.0.0/12") < text.index("10.0.0.7") < text.index("192.0.2.1")


@pytest.mark.parametrize("kind", ["basic", "bpf", "flow"])
def test_rules_are_in_the_order_in_which_they_came(kind: str) -> None:
    text = _rules(kind, (0, {"match": "two"}), (0, {"match": "one"}))
    assert text.index("two") < text.index("one")


@pytest.mark.parametrize(
    ("marks", "want"),
    [((1, 2, 3), "[1-3]"), ((2, 1), "2)"), ((1, 3, 2), "3)")],
    ids=["up", "down", "mixed"],
)
def test_rules_that_are_asked_in_turn_are_a_range_where_they_count_up(marks: tuple[int, ...], want: str) -> None:
    text = _rules("basic", *((0, {"match": f"meta(fwmark eq {mark})"}) for mark in marks))
    assert text.count("pref: 5") == (1 if want == "[1-3]" else len(marks))
    assert want in text


@pytest.mark.parametrize(
    ("below", "want"),
    [("hfsc", ['{classid: "[1,15]:5"}']), ("drr", ['{classid: "1:5", kind: hfsc}', '{classid: "15:5", kind: drr}'])],
)
def test_classes_of_several_queues_are_a_range_where_these_are_of_one_kind(below: str, want: list[str]) -> None:
    found: list[Object] = []
    for parent, handle, kind in (("root", "1:", "hfsc"), ("1:5", "15:", below)):
        found.append(Object("qdisc", ("v0", parent), {"kind": kind, "handle": handle}))
        found.append(Object("tclass", ("v0", f"{handle}5"), {"kind": kind, "parent": handle}))
    assert f"classes: [{', '.join(want)}]\n" in captured(State((CARD, *found)), {}, {})
