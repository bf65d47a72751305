# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which rules come and go: what packets meet meanwhile, and past how many rules the kernel has to go."""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from ipaddress import ip_address, ip_network
from itertools import product

import pytest

from netgroupd.model.rule import key
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.rules import arranged
from netgroupd.plan.step import Op, Step

_CHOICES: dict[str, tuple[Value, ...]] = {
    "from": ("10.0.0.0/8", "10.1.0.0/16", "10.2.0.0/16", "10.1.1.0/24", "10.1.2.0/24"),
    "iif": ("a", "b"),
    "fwmark": ("0x1", "0x2", "0x1/0x1", "0x2/0x2", "0x0/0x1"),
    "dport": ("80", "80-90", "85-99", "100"),
    "not": (True,),
}
_PACKETS = tuple(product(("10.1.1.1", "10.1.2.1", "10.2.0.1", "10.3.0.1"), "abc", (0, 1, 2, 3), (80, 88, 95, 100)))


def _rule(pref: int, selectors: Mapping[str, Value]) -> Object:
    return Object("rule", key("inet", pref, selectors), {**selectors, "lookup": 5})


@cache
def _holds(network: str, source: str) -> bool:
    return ip_address(source) in ip_network(network)


def _takes(rule: Object, packet: tuple[str, str, int, int]) -> bool:
    source, iif, mark, port = packet
    said = dict(rule.key[2])  # type: ignore[arg-type]
    matches = _holds(said.get("from", "0.0.0.0/0"), source)
    matches = matches and said.get("iif", iif) == iif
    value, _, mask = str(said.get("fwmark", "0/0")).partition("/")
    matches = matches and mark & int(mask or "0xffffffff", 0) == int(value, 0)
    first, _, last = str(said.get("dport", port)).partition("-")
    return (matches and int(first) <= port <= int(last or first)) != bool(said.get("not"))


class _Kernel:
    """The rules in the order in which they are asked, and how many were passed to find the places of all steps."""

    def __init__(self, rules: Sequence[Object]) -> None:
        self.rules = list(rules)
        self.passed = 0

    def takes(self, step: Step) -> None:
        rule = step.object
        place = sum(other.key[1] <= rule.key[1] for other in self.rules)  # type: ignore[operator]
        if step.op is Op.DELETE:
            place = self.rules.index(rule)
            del self.rules[place]
        else:
            self.rules.insert(place, rule)
        self.passed += place

    def leads(self) -> list[Object | None]:
        return [next((rule for rule in self.rules if _takes(rule, packet)), None) for packet in _PACKETS]


def _ordered(rules: Sequence[Object], op: Op) -> list[Step]:
    """The steps of rules that files list so, or that stand so."""
    by_key = {rule.key: rule for rule in rules}
    if op is Op.DELETE:
        return arranged([Step(op, rule, None) for rule in reversed(rules)], {}, by_key)
    return arranged([Step(op, None, rule, rule.attrs) for rule in rules], by_key, {})


def _standing(rules: Sequence[Object]) -> list[Object]:
    return sorted(rules, key=lambda rule: rule.key[1])  # type: ignore[arg-type,return-value]


def _drawn(seed: int) -> tuple[list[Object], list[Object]]:
    """Some rules that stay and some that come, in any order; several of a preference, and many alike."""
    draw = random.Random(seed)
    names = draw.sample(sorted(_CHOICES), draw.randint(1, 3))
    found: dict[object, Object] = {}
    for _ in range(draw.randint(2, 9)):
        said = {name: draw.choice(_CHOICES[name]) for name in names if name != "not" and draw.random() < 0.8}
        said |= {"not": True} if said and draw.random() < 0.1 else {}
        rule = _rule(draw.randint(1, 9), said)
        found[rule.key] = rule
    rules = list(found.values())
    return [rule for rule in rules if rule.key[1] in (3, 6)], [rule for rule in rules if rule.key[1] not in (3, 6)]


def _leads(kernel: _Kernel, steps: Sequence[Step]) -> Iterator[list[Object | None]]:
    yield kernel.leads()
    for step in steps:
        kernel.takes(step)
        yield kernel.leads()


@pytest.mark.parametrize("op", [Op.CREATE, Op.DELETE])
@pytest.mark.parametrize("seed", range(60))
def test_packets_are_led_as_before_or_as_afterwards(seed: int, op: Op) -> None:
    staying, others = _drawn(seed)
    there = staying if op is Op.CREATE else [*staying, *others]
    steps = _ordered(others if op is Op.CREATE else _standing(others), op)
    seen = list(_leads(_Kernel(_standing(there)), steps))
    for leads in seen:
        assert all(led in ends for led, *ends in zip(leads, seen[0], seen[-1], strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_rules_of_one_preference_stand_as_the_files_list_them(seed: int) -> None:
    staying, coming = _drawn(seed)
    kernel = _Kernel(())
    for step in _ordered([*staying, *coming], Op.CREATE):
        kernel.takes(step)
    assert kernel.rules == _standing([*staying, *coming])


_MANY: dict[str, list[Mapping[str, Value]]] = {
    "networks": [{"from": f"10.{number}.0.0/16"} for number in range(200)],
    "lengths": [{"from": f"10.{number}.0.0/{16 + number % 16}"} for number in range(200)],
    "links": [{"iif": f"eth{number}"} for number in range(200)],
    "marks": [{"fwmark": hex(number + 1)} for number in range(200)],
    "ports": [{"ipproto": "tcp", "dport": f"{number}-{number + 8}"} for number in range(1, 2001, 10)],
    "exceptions": [
        said
        for number in range(100)
        for said in ({"from": f"10.{number}.0.0/16", "to": "10.0.0.0/8"}, {"from": f"10.{number}.0.0/16"})
    ],
    "a_rest": [*({"to": f"10.{number}.0.0/16"} for number in range(199)), {}],
    "two_kinds": [*({"iif": f"eth{number}"} for number in range(100)), *({"oif": f"eth{n}"} for n in range(100))],
}


@pytest.mark.parametrize("op", [Op.CREATE, Op.DELETE])
@pytest.mark.parametrize("selectors", _MANY.values(), ids=_MANY)
def test_the_kernel_passes_few_rules_for_each(selectors: list[Mapping[str, Value]], op: Op) -> None:
    rules = [_rule(1000 + pref, said) for pref, said in enumerate(selectors)]
    kernel = _Kernel(rules if op is Op.DELETE else ())
    for step in _ordered(rules, op):
        kernel.takes(step)
    most = 50 if "oif" in selectors[-1] else 1  # one kind stands before the other
    assert kernel.passed <= most * len(rules)


@pytest.mark.parametrize("selectors", [_MANY["networks"], _MANY["links"]])
def test_the_kernel_passes_none_for_those_of_one_preference_that_go(selectors: list[Mapping[str, Value]]) -> None:
    rules = [_rule(1000, said) for said in selectors]
    kernel = _Kernel(rules)
    for step in _ordered(rules, Op.DELETE):
        kernel.takes(step)
    assert not kernel.passed
