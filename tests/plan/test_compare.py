# SPDX-License-Identifier: GPL-2.0-or-later
"""What of an object is another than wanted, and what it takes to change that: each rule by itself."""

from collections.abc import Mapping

import pytest

from netgroupd.model.attr import Change
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED, differing, ends, expected, group_of, hardest, in_the_end, row_of, same

DROP = {"kind": "gact", "control": "drop"}
WAY = {"via": "10.0.0.1"}


@pytest.mark.parametrize(
    ("name", "want", "have", "alike"),
    [
        ("mtu", 1500, 1500, True),
        ("mtu", 1500, 1499, False),
        ("alias", "a", "b", False),
        ("alias", None, "", False),
        ("alias", "a", None, False),
        ("mtu", None, 1500, False),
        ("mtu", 1500, None, False),
        # what a bridge does not tell for a while, and a link without a carrier
        ("ageing_time", 300, None, True),
        ("ageing_time", None, 300, True),
        ("behind", None, True, True),
        ("speed", 1000, 100, False),
        # lists
        ("altnames", ("a", "b"), ("b", "a"), True),
        ("altnames", ("a", "b"), ("a", "c"), False),
        ("features", ("a", "b"), ("b", "a"), True),
        ("lock", ("a", "b"), ("b", "a"), True),
        ("vlans", (1, 2), (2, 1), False),
        ("vlans", (1, 2), (1, 2, 3), False),
        ("vlans", (), None, True),
        ("vlans", None, (), True),
        ("vlans", (1,), None, False),
        ("vlans", (1,), (), False),
        ("vlans", (1,), 1, False),
        # what the kernel makes of a time: one tick less, up to a jiffy more, what is left of it
        ("forward_delay", 1500, 1499, True),
        ("forward_delay", 1500, 1501, False),
        ("forward_delay", 1500, 1498, False),
        ("refill_delay", 40000, 49999, True),
        ("refill_delay", 40000, 50000, False),
        ("refill_delay", 40000, 39999, False),
        ("refill_delay", 40000, 40001, True),
        ("mtu", 40000, 40001, False),
        ("metric", 600, 601, False),
        ("valid_lft", 600, 595, True),
        ("valid_lft", 600, 605, True),
        ("valid_lft", 600, 594, False),
        ("expires", 600, 3, True),
        # a tunnel that sends from or to any address
        ("local", "::", None, True),
        ("remote", "0.0.0.0", None, True),
        ("local", "10.0.0.1", None, False),
        ("group", "::", None, False),
        # records
        ("port", {"cost": 4}, {"cost": 4, "priority": 8}, True),
        ("port", {"cost": 4}, {"cost": 5, "priority": 8}, False),
        ("port", {"local": "::"}, {}, True),
        ("port", {"cost": 4}, None, False),
        ("port", {}, 4, False),
        ("port", 4, {}, False),
        ("port", None, {}, False),
        # of a way everything is told at once
        ("group", {"id": 1}, {"id": 1, "weight": 1}, True),
        ("group", {"id": 1}, {"id": 1, "weight": 2}, False),
        ("nexthops", WAY, {**WAY, "weight": 1, "onlink": False}, True),
        ("nexthops", WAY, {**WAY, "weight": 2, "onlink": False}, False),
        ("nexthops", WAY, {**WAY, "weight": 1, "onlink": True}, False),
        ("nexthops", WAY, {**WAY, "weight": 1, "onlink": False, "encap": "mpls 7"}, False),
        ("nexthops", WAY, {**WAY, "weight": 1, "onlink": False, "as": "10.0.0.2"}, False),
        ("nexthops", WAY, {**WAY, "weight": 1, "onlink": False, "realm": 7}, False),
        # of an action, too, and of one that stands alone some stays as it is
        ("action", DROP, DROP, True),
        ("action", DROP, {**DROP, "cookie": "ab"}, True),
        ("actions", DROP, {**DROP, "cookie": "ab"}, False),
        ("action", DROP, {**DROP, "control": "pass"}, False),
        ("action", {"kind": "mirred", "dev": "d"}, {"kind": "mirred", "dev": "d", "egress": "redirect"}, True),
        ("action", {"kind": "mirred", "dev": "d"}, {"kind": "mirred", "dev": "d", "egress": "mirror"}, False),
    ],
)
def test_value_is_what_is_wanted(name: str, want: Value, have: Value, alike: bool) -> None:
    assert same(name, want, have) is alike


def test_peer_is_to_have_nothing_that_is_not_said_of_it() -> None:
    assert expected("peers", {"public_key": "k"}, {}).items() > {"public_key": "k"}.items()
    assert expected("port", {"cost": 4}, {"priority": 8}) == {"cost": 4}


def link(**attrs: Value) -> Object:
    return Object("link", ("d",), attrs)


def test_lists_that_are_the_same_values_are_alike_by_what_they_are_of() -> None:
    one, other, third = ("a", "b"), ("b", "a"), ("b", "c")
    assert not differing(link(altnames=one), link(altnames=other))
    assert differing(link(vlans=one), link(vlans=other)) == {"vlans": one}
    assert differing(link(altnames=one), link(altnames=third)) == {"altnames": one}
    assert not differing(link(altnames=one), link(altnames=other))


def test_links_in_a_row_that_are_told_the_same_are_told_one_mapping() -> None:
    wanted: Attrs = {"mtu": 1400, "alias": "a"}
    first = differing(link(**wanted), link(mtu=1500, alias="a"))
    assert first == {"mtu": 1400}
    assert differing(link(**wanted), link(mtu=1501, alias="a", up=True)) is first
    assert differing(link(**wanted), link(mtu=1501, alias="b")) == wanted


@pytest.mark.parametrize(
    ("said", "told", "alike"),
    [("1", "1", True), ("4096\t8192", "4096 8192", True), ("1", "2", False), (None, None, True), ("1", None, False)],
)
def test_setting_is_compared_by_what_it_means(said: Value, told: Value, alike: bool) -> None:
    key = ("net/ipv4/tcp_rmem",)
    want, have = Object("sysctl", key, {"value": said}), Object("sysctl", key, {"value": told})
    assert differing(want, have) == ({} if alike else {"value": said})


def test_what_the_kernel_does_not_tell_is_no_difference_but_what_nobody_knows_is() -> None:
    want = Object("link", ("d",), {"kind": "hsr", "version": 1, "unheard_of": 1})
    assert differing(want, Object("link", ("d",), {"kind": "hsr"})) == {"unheard_of": 1}


def test_action_that_stands_alone_keeps_what_is_not_said_and_one_of_a_rule_does_not() -> None:
    def found(cls: str) -> Attrs:
        has = {"actions": ({**DROP, "cookie": "ab"},)}
        return differing(Object(cls, ("gact", 1), {"actions": (DROP,)}), Object(cls, ("gact", 1), has))

    assert not found("action")
    assert found("filter") == {"actions": (DROP,)}


@pytest.mark.parametrize(
    ("want", "have", "end"),
    [
        ({"mtu": 1}, {"mtu": 2, "up": True}, {"mtu": 1, "up": True}),
        ({"mtu": 1}, None, {"mtu": 1}),
        (None, {"mtu": 2}, {"mtu": 2}),
        (None, None, {}),
    ],
)
def test_what_a_link_has_in_the_end(want: Attrs | None, have: Attrs | None, end: Attrs) -> None:
    def links(attrs: Attrs | None) -> Mapping[tuple[Value, ...], Object]:
        return {} if attrs is None else {("d",): link(**attrs)}

    assert in_the_end("d", links(want), links(have)) == end


def test_group_of_a_link_is_a_number() -> None:
    assert [group_of(link(group=7)), group_of(link(group="g")), group_of(link())] == [7, 0, 0]


@pytest.mark.parametrize(
    ("cls", "key", "kind", "name", "found"),
    [
        ("link", ("d",), "vlan", "id", True),
        ("link", ("d",), "vlan", "mtu", True),
        ("link", ("d",), "dummy", "id", False),
        ("link", ("d",), "unheard_of", "id", False),
        ("link", ("d",), "dummy", "port.cost", True),
        ("link", ("d",), "dummy", "port.id", False),
        ("qdisc", ("d", "1:"), "htb", "r2q", True),
        ("qdisc", ("d", "1:"), "htb", "ceil", False),
        ("qdisc", ("d", "1:"), "unheard_of", "handle", True),
        ("tclass", ("d", "1:1"), "htb", "ceil", True),
        ("tclass", ("d", "1:1"), "htb", "r2q", False),
        ("ethtool", ("d", "rings"), "", "rx", True),
        ("ethtool", ("d", "channels"), "", "rx_mini", False),
        ("unheard_of", ("d",), "", "mtu", False),
    ],
)
def test_row_that_describes_an_attribute(cls: str, key: tuple[Value, ...], kind: str, name: str, found: bool) -> None:
    assert (row_of(Object(cls, key, {"kind": kind}), name) is not None) is found


@pytest.mark.parametrize(
    ("cls", "attrs", "name", "away"),
    [
        ("link", {"kind": "dummy"}, "master", True),
        ("link", {"kind": "dummy"}, "mtu", False),
        ("link", {"kind": "dummy"}, "unheard_of", False),
        ("qdisc", {"kind": "htb"}, "r2q", True),
        ("qdisc", {"kind": "pfifo"}, "limit", False),
        ("qdisc", {"kind": "pfifo"}, "handle", False),
        ("qdisc", {"kind": "unheard_of"}, "handle", False),
        ("rule", {}, "lookup", True),
    ],
)
def test_attribute_that_can_be_taken_away(cls: str, attrs: Attrs, name: str, away: bool) -> None:
    assert ends(Object(cls, ("d", "1:"), attrs), name) is away


@pytest.mark.parametrize(
    ("obj", "attrs", "have", "needed"),
    [
        (Object("nexthop", (1,), {}), {UNOWNED: 78}, {"group": ({"id": 2},)}, (Change.RECREATE, "protocol")),
        (Object("nexthop", (1,), {}), {UNOWNED: 78}, {"via": "10.0.0.1"}, (Change.IN_PLACE, "")),
        (Object("nexthop", (1,), {}), {"unheard_of": 1}, {"group": ({"id": 2},)}, (Change.IN_PLACE, "")),
        (Object("route", ("inet",), {}), {UNOWNED: 78}, {"group": ({"id": 2},)}, (Change.IN_PLACE, "")),
        (Object("nexthop", (1,), {}), {"group": ({"id": 2},)}, {"via": "10.0.0.1"}, (Change.RECREATE, "group")),
        (link(kind="vlan"), {"id": 7, "mtu": 1400}, {"kind": "vlan"}, (Change.RECREATE, "id")),
        (link(kind="vlan"), {"unheard_of": 1, "id": 7}, {"kind": "vlan"}, (Change.RECREATE, "id")),
        (link(kind="geneve"), {"ttl": 7}, {"kind": "geneve", "external": True}, (Change.RECREATE, "ttl")),
        (link(kind="geneve"), {"ttl": 7}, {"kind": "geneve"}, (Change.IN_PLACE, "")),
        (link(kind="geneve"), {"mtu": 1400}, {"kind": "geneve", "external": True}, (Change.IN_PLACE, "")),
        (link(kind="vxlan"), {"learning": True}, {"kind": "vxlan", "external": True}, (Change.IN_PLACE, "")),
        (Object("filter", ("d",), {"kind": "bpf"}), {"skip_hw": True}, {}, (Change.RECREATE, "skip_hw")),
        (Object("filter", ("d",), {"kind": "flower"}), {"skip_hw": True}, {}, (Change.IN_PLACE, "")),
        (Object("address", ("d", "10.0.0.1/8"), {}), {"noprefixroute": True}, {}, (Change.RECREATE, "noprefixroute")),
        (Object("address", ("d", "2001:db8::1/64"), {}), {"noprefixroute": True}, {}, (Change.IN_PLACE, "")),
        (link(kind="vlan"), {"mtu": 1400, "unheard_of": 1}, {"kind": "vlan"}, (Change.IN_PLACE, "")),
    ],
)
def test_what_it_takes_to_change_an_object(obj: Object, attrs: Attrs, have: Attrs, needed: tuple[Change, str]) -> None:
    assert hardest(obj, attrs, have) == needed
