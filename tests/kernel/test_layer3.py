# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said to the kernel about an object of layer 3 reads back as that object."""

import struct
from collections.abc import Callable
from itertools import permutations
from typing import Any, TypeAlias

import pytest

from netgroupd.engine.capture.names import nameable
from netgroupd.kernel import unsaid
from netgroupd.kernel.features import Features
from netgroupd.kernel.layer3 import addresses, encap, neighbours, nexthops, routes, rules
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import (
    HEADER_LEN,
    NLM_F_APPEND,
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    attr,
    attributes,
)
from netgroupd.kernel.netlink.request import Context, Selection
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.registry import codec
from netgroupd.model.owner import PROTO
from netgroupd.model.route import BEHIND
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED, differing
from netgroupd.plan.step import GroupStep, Op, Step
from tests.vm.l3_cases import CASES, Case

_DECODERS: dict[str, Callable[[memoryview, Names], Object | None]] = {
    "address": addresses._Decoder(PROTO, everything=False),
    "route": routes._decode,
    "rule": lambda payload, names: rules._decode(payload, names, foreign=False),
    "neighbour": lambda payload, names: neighbours._decode(payload, names, PROTO, foreign=False),
    "nexthop": lambda payload, names: nexthops._decode(payload, names, foreign=False),
}
_LIFETIMES = frozenset({"valid_lft", "preferred_lft"})  # compared on a kernel, which knows the time
_Take: TypeAlias = Callable[[int, bytes], bytes]


@pytest.fixture
def context() -> Context:
    """A namespace that has the links of the cases, and no socket to it."""
    names = Names()
    for index, name in enumerate(("lo", "d0", "d1", "red", "br0", "p0", "vx0", "vx1"), 1):
        names.note(name, index)
    return Context(Socket.__new__(Socket), names, Features(), None, Generic.__new__(Generic))


def _message(context: Context, step: Step | GroupStep) -> bytes:
    (request,) = codec(step.steps[0].object.cls if isinstance(step, GroupStep) else step.object.cls).encode(
        step, context
    )
    assert isinstance(request, bytes)
    return request


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.cls in _DECODERS and case.name not in _LIFETIMES], ids=lambda case: case.id
)
def test_object_survives_the_way_there_and_back(context: Context, case: Case) -> None:
    want = case.object(case.first)
    request = _message(context, Step(Op.CREATE, None, want, want.attrs))
    if case.cls == "address" and not _LIFETIMES & want.attrs.keys():
        request += addresses._lifetimes({})  # the kernel always tells them
    got = _DECODERS[case.cls](memoryview(request)[HEADER_LEN:], context.names)
    assert got is not None
    assert (got.cls, got.key) == (want.cls, want.key)
    assert differing(want, got) == {}


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param((100,), "00064100", id="one_label_is_the_last"),
        pytest.param((100, 200), "00064000000c8100", id="only_the_last_of_several_is"),
    ],
)
def test_label_stack_marks_its_end(labels: tuple[int, ...], want: str) -> None:
    assert encap.pack_labels(labels).hex() == want
    assert encap.unpack_labels(bytes.fromhex(want)) == labels


def test_inline_segment_header_keeps_a_place_for_the_destination() -> None:
    header = encap._header(("2001:db8::5",), inline=True)
    assert header[1] == 4  # in units of 8 bytes: two segments
    assert header[8:24] == bytes(16)
    assert encap._segments(header, inline=True) == ("2001:db8::5",)


@pytest.mark.parametrize(
    ("header", "want"),
    [
        pytest.param(bytes((0, 2, 4, 0, 0, 0, 0, 0)) + bytes(16), True, id="segments"),
        pytest.param(bytes((0, 7, 4, 0, 0, 8, 0, 0)) + bytes(16 + 40), False, id="hmac"),
        pytest.param(bytes((0, 2, 4, 0, 0, 0, 0, 5)) + bytes(16), False, id="tag"),
    ],
)
def test_segment_header_that_has_more_than_segments_is_not_all_said(header: bytes, *, want: bool) -> None:
    for kind, found in ((5, attr(1, bytes(4) + header)), (7, attr(1, struct.pack("=I", 10)) + attr(2, header))):
        assert encap.says_all(memoryview(struct.pack("=H", kind)), memoryview(found)) is want


def test_table_past_255_leaves_the_header_empty(context: Context) -> None:
    route = Object("route", ("inet", 1000, "10.0.0.0/8", 0, 0), {"type": "blackhole"})
    request = _message(context, Step(Op.CREATE, None, route))
    assert request[HEADER_LEN + 4] == 0
    assert bytes(attributes(memoryview(request), HEADER_LEN + 12)[15]) == struct.pack("=I", 1000)


def test_route_is_deleted_whatever_its_next_hop(context: Context) -> None:
    route = Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"type": "unicast", "via": "192.0.2.9", "dev": "gone"})
    found = attributes(memoryview(_message(context, Step(Op.DELETE, route, None))), HEADER_LEN + 12)
    assert set(found) == {1, 15}


def _flags(request: object) -> tuple[int, int]:
    """The type of a message, and how it is meant."""
    assert isinstance(request, bytes)
    kind, flags = struct.unpack_from("=HH", request, 4)
    return kind, flags & ~1


@pytest.mark.parametrize(("first", "flags"), [(True, NLM_F_CREATE), (False, NLM_F_CREATE | NLM_F_APPEND)])
def test_route_beside_others_comes_in_place_of_ours_alone(context: Context, *, first: bool, flags: int) -> None:
    have, want = _route("192.0.2.9"), _route("192.0.2.8")
    step = Step(Op.CHANGE, have, want, {"via": "192.0.2.8"})
    assert _flags(_message(context, step)) == (24, NLM_F_CREATE | NLM_F_REPLACE)
    deletion, creation = codec("route").encode(step, context._replace(beside={have.key: first}))
    assert isinstance(deletion, bytes)
    assert (_flags(deletion)[0], deletion[HEADER_LEN + 5]) == (25, PROTO)
    assert _flags(creation) == (24, flags)


@pytest.mark.parametrize(
    ("route", "flags"),
    [
        pytest.param(("inet", {}), 0, id="of_ipv4_before_what_has_come"),
        pytest.param(("inet", {BEHIND: True}), NLM_F_APPEND, id="of_ipv4_where_it_was"),
        pytest.param(("inet", {UNOWNED: 2}), NLM_F_EXCL, id="of_others"),
        pytest.param(("inet6", {}), NLM_F_EXCL, id="of_ipv6"),
    ],
)
def test_new_route_takes_the_place_of_none(context: Context, route: tuple[str, dict[str, Value]], flags: int) -> None:
    family, more = route
    key = (family, 254, "10.0.0.0/8" if family == "inet" else "2001:db8::/32", 0, 0)
    made = Object("route", key, {"dev": "d0", **more})
    assert _flags(_message(context, Step(Op.CREATE, None, made, made.attrs))) == (24, NLM_F_CREATE | flags)


def test_route_by_way_of_a_nexthop_that_is_a_blackhole_is_none_itself(context: Context) -> None:
    route = Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"type": "blackhole", "nhid": 1})
    got = routes._decode(
        memoryview(_message(context, Step(Op.CREATE, None, route, route.attrs)))[HEADER_LEN:], context.names
    )
    assert got is not None
    assert got.attrs["type"] == "unicast"
    assert _message(context, Step(Op.DELETE, got, None))[HEADER_LEN + 7] == 0  # of whatever type


WAYS: list[dict[str, Value]] = [
    {"via": "192.0.2.9", "dev": "d0", "onlink": True, "encap": {"type": "mpls", "labels": (100,)}},
    {"blackhole": True},
    {"dev": "d1"},
]


@pytest.mark.parametrize(("old", "new"), [*permutations(WAYS, 2)])
def test_nexthop_that_changes_keeps_nothing_of_its_old_way(
    context: Context, old: dict[str, Value], new: dict[str, Value]
) -> None:
    usual: dict[str, Value] = {"family": "inet", "fdb": False, "blackhole": False, "onlink": False}
    have, want = Object("nexthop", (3,), {**usual, **old}), Object("nexthop", (3,), new)
    request = _message(context, Step(Op.CHANGE, have, want, differing(want, have)))
    got = nexthops._decode(memoryview(request)[HEADER_LEN:], context.names, foreign=False)
    assert got is not None
    assert got.attrs == {**usual, **new}


PLACES: list[dict[str, Value]] = [
    {"dev": "d0"},
    {"via": "192.0.2.9"},
    {"type": "blackhole"},
    {"type": "local", "dev": "lo"},
    {"nhid": 1, "type": "unicast"},
    {"nexthops": ({"via": "192.0.2.9"}, {"via": "192.0.2.8"}), "type": "unicast"},
]


@pytest.mark.parametrize(("old", "new"), [*permutations(PLACES, 2)])
def test_route_that_comes_to_lead_elsewhere_is_as_if_it_had_been_made_so(
    context: Context, old: dict[str, Value], new: dict[str, Value]
) -> None:
    key = ("inet", 254, "10.0.0.0/8", 0, 0)
    want = Object("route", key, {"type": "unicast", **new} if old.get("type") == "local" else new)

    def read(step: Step) -> Object:
        got = routes._decode(memoryview(_message(context, step))[HEADER_LEN:], context.names)
        assert got is not None
        return got

    have = read(Step(Op.CREATE, None, Object("route", key, {"type": "unicast", **old})))
    made = read(Step(Op.CREATE, None, want))
    assert read(Step(Op.CHANGE, have, want, differing(want, have))) == made


@pytest.mark.parametrize("said", [{"mtu": 1400}, {"dev": "d0"}], ids=["changed", "made_netgroupds"])
def test_route_that_leads_where_it_did_keeps_its_scope(context: Context, said: dict[str, Value]) -> None:
    key = ("inet", 254, "10.0.0.0/8", 0, 0)
    have = Object("route", key, {"type": "unicast", "dev": "d0", "scope": "host"})
    request = _message(context, Step(Op.CHANGE, have, Object("route", key, said), said))
    assert request[HEADER_LEN + 6] == 254


def test_each_of_several_next_hops_has_a_realm_of_its_own(context: Context) -> None:
    key = ("inet", 254, "10.0.0.0/8", 0, 0)
    hops = tuple({"via": f"192.0.2.{number}", "dev": "d0", "realm": realm} for number, realm in ((9, "5"), (8, "3/4")))
    want = Object("route", key, {"nexthops": hops})
    have = Object("route", key, {"type": "unicast", "scope": "global", "via": "192.0.2.9", "realm": "7"})
    got = routes._decode(
        memoryview(_message(context, Step(Op.CHANGE, have, want, want.attrs)))[HEADER_LEN:], context.names
    )
    assert got is not None
    assert differing(want, got) == {}
    assert "realm" not in got.attrs  # the kernel refuses another one beside them


def test_object_on_an_unknown_link_is_refused_by_name(context: Context) -> None:
    address = Object("address", ("nosuch", "10.0.0.1/24", None), {})
    with pytest.raises(UnknownLinkError, match="nosuch"):
        _message(context, Step(Op.CREATE, None, address))


def test_group_address_carries_the_distance_to_the_next_member(context: Context) -> None:
    members = tuple(
        Step(Op.CREATE, None, Object("address", (f"d{number}", f"10.0.{number}.1/24", None), {}))
        for number in (0, 1, 2)
    )
    request = _message(context, GroupStep(Op.CREATE, 7, {}, members))
    found = attributes(memoryview(request), HEADER_LEN + 8)
    assert request[HEADER_LEN + 4 : HEADER_LEN + 8] == bytes(4)  # of no link
    assert bytes(found[32]) == struct.pack("=I", 7)
    assert bytes(found[34]) == bytes((0, 0, 1, 0))


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param((8, 2), "mtu", id="metric_in_its_nest"),
        pytest.param((22, 1), "encap", id="part_of_a_record_is_the_record"),
        pytest.param((99,), "", id="not_ours"),
    ],
)
def test_attribute_the_kernel_points_at_has_its_name(path: tuple[int, ...], want: str) -> None:
    route = Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {})
    assert codec("route").blame(Step(Op.CREATE, None, route), path) == want


def _route(gateway: str, **more: Value) -> Object:
    attrs: dict[str, Value] = {"type": "unicast", "scope": "global", "via": gateway, "dev": "d0", "onlink": False}
    return Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), attrs | more)


@pytest.fixture
def told(context: Context, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has the kernel tell of some objects, whatever it is asked for."""

    def tell(*there: Object) -> None:
        payloads = [_message(context, Step(Op.CREATE, None, obj))[HEADER_LEN:] for obj in there]

        def dump(_socket: Socket, _asked: bytes, take: _Take, *_: Any, **__: Any) -> list[bytes]:
            return [take(24, payload) for payload in payloads]

        monkeypatch.setattr(Socket, "dump", dump)

    return tell


def test_a_route_is_there_once_where_the_kernel_lacks_a_family(context: Context, told: Callable[..., None]) -> None:
    route = _route("192.0.2.9")
    told(route)
    assert routes.dump(context, Selection()) == [route]


@pytest.mark.parametrize("first", [PROTO, 4, 11], ids=["ours", "somebody's", "another_programs"])
def test_route_behind_another_is_no_way_of_that(context: Context, told: Callable[..., None], first: int) -> None:
    told(_route("192.0.2.9", **{UNOWNED: first}), _route("192.0.2.8", **{UNOWNED: 4}))
    found = routes.dump(context, Selection(everything=True))
    behind = "10.0.0.0/8 via 192.0.2.8 dev d0"
    assert [(route.key[2], route.attrs.get("via")) for route in found] == [
        *([("10.0.0.0/8", "192.0.2.9")] if first != 11 else []),
        (behind, None),
    ]


@pytest.mark.parametrize("ours_first", [True, False])
def test_ipv6_route_beside_another_programs_is_not_there_alone(
    context: Context, told: Callable[..., None], *, ours_first: bool
) -> None:
    key = ("inet6", 254, "2001:db8::/64", 0, 256)
    mine = Object("route", key, {"via": "2001:db8::9", "dev": "d0", UNOWNED: 4})
    by_kernel = Object("route", key, {"dev": "d0", UNOWNED: 2})
    told(*((mine, by_kernel, by_kernel) if ours_first else (by_kernel, by_kernel, mine)))
    (found,) = routes.dump(context, Selection(everything=True))
    assert nameable(State((found,)))[1] == [
        "# left out (no configuration has several IPv6 routes of one metric, unless each has a gateway): "
        "2001:db8::/64 table 254\n"
    ]


@pytest.mark.parametrize(
    ("more", "want"),
    [
        pytest.param(b"", False, id="nothing"),
        pytest.param(attr(29, b"\xff\xff"), False, id="mask_of_a_whole_port"),
        pytest.param(attr(29, b"\xff\xfe"), True, id="mask_of_a_part_of_a_port"),
        pytest.param(attr(26, b"\xff\xff"), True, id="flow_label"),
    ],
)
def test_rule_that_newer_kernels_tell_more_of(context: Context, more: bytes, *, want: bool) -> None:
    rule = Object("rule", ("inet", 9, (("dport", "443"),)), {"lookup": 100, "dport": "443"})
    payload = _message(context, Step(Op.CREATE, None, rule))[HEADER_LEN:] + more
    assert unsaid.of_rule(attributes(memoryview(payload), rules._HEADER.size)) is want


def test_rules_of_the_kernel_that_somebody_took_away_are_told(context: Context, told: Callable[..., None]) -> None:
    by_kernel = [
        Object("rule", ("inet", pref, ()), {"lookup": table, UNOWNED: 2}) for pref, table in ((0, 255), (32767, 253))
    ]
    told(*by_kernel)
    found = State(rule for rule in rules.dump(context, Selection(everything=True)) if rule.key[0] == "inet")
    assert nameable(found)[1] == [
        "# left out (somebody has taken these away from the kernel's own, which no configuration does): "
        "rule 32766 inet lookup 254\n"
    ]
    assert not rules.dump(context, Selection())


_AGE_ROUND = 1 << 32  # hundredths of a second, which the kernel counts the age of addresses in


@pytest.mark.parametrize("now", [1000, _AGE_ROUND + 1000, 3 * _AGE_ROUND + 1000], ids=["at_first", "497_days", "years"])
@pytest.mark.parametrize("age", [0, 1, 400 * 86400], ids=["new", "a_second", "400_days"])
def test_lifetime_is_what_was_given_however_long_the_host_is_up(now: int, age: int) -> None:
    uptime = now + age * 100
    assert addresses._lifetime(7200, now % _AGE_ROUND, uptime) == 7200 + age


def test_lifetime_that_was_given_while_it_was_read_is_that() -> None:
    assert addresses._lifetime(7200, 1007, 1000) == 7200
