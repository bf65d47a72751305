# SPDX-License-Identifier: GPL-2.0-or-later
"""Links to messages and back, without a kernel: what is written to create one reads as the same link."""

from collections.abc import Sequence
from typing import cast

import pytest

from netgroupd.kernel.features import Features
from netgroupd.kernel.links import write as links_write
from netgroupd.kernel.links.codec import blame
from netgroupd.kernel.links.read import Reader
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import HEADER, HEADER_LEN, nest, request, text, u8, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.netlink.socket import Counters, Socket
from netgroupd.model.state import Attrs, Object
from netgroupd.plan.compare import differing
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step

LINKS = {"low0": 11, "low1": 12, "br0": 13}
UP, IFLA_MASTER = 0x1, 10


@pytest.fixture
def context() -> Context:
    names = Names()
    for name, index in LINKS.items():
        names.note(name, index)
    nowhere = cast(Socket, None)
    return Context(nowhere, names, Features(), None, Generic(None, Counters()))


def create(name: str, **attrs: object) -> Step:
    link = Object("link", (name,), cast(Attrs, attrs))
    return Step(Op.CREATE, None, link, link.attrs)


def change(before: dict[str, object], **attrs: object) -> Step:
    old = Object("link", ("low0",), cast(Attrs, before))
    return Step(Op.CHANGE, old, old, cast(Attrs, attrs))


def messages(step: AnyStep, context: Context) -> list[bytes]:
    return cast(list[bytes], list(links_write.encode(step, context)))


def read(reader: Reader, packets: Sequence[bytes]) -> list[Object]:
    found = [reader.read(16, memoryview(packet)[HEADER_LEN:]) for packet in packets]
    reader.finish()
    return [link for link in found if link]


VLAN = {"kind": "vlan", "link": "low0", "id": 7, "mtu": 1400, "mac": "02:00:00:00:00:01", "egress_qos_map": ("1:2",)}
BRIDGE = {"kind": "bridge", "stp_state": True, "ageing_time": 100, "no_linklocal_learn": True, "group": 7}
VXLAN = {"kind": "vxlan", "id": 5, "remote": "2001:db8::1", "dev": "low1", "srcport": "100-200", "gbp": True}
GRE = {"kind": "gre", "local": "192.0.2.1", "remote": None, "ikey": 0, "okey": 9, "iseq": True, "encap": "gue"}
BOND = {"kind": "bond", "mode": "802.3ad", "arp_ip_target": ("192.0.2.1", "192.0.2.2")}
MACVLAN = {"kind": "macvlan", "link": "low0", "mode": "source", "macaddr": ("02:00:00:00:00:07",), "nodst": True}


@pytest.mark.parametrize("attrs", [VLAN, BRIDGE, VXLAN, GRE, BOND, MACVLAN], ids=lambda attrs: attrs["kind"])
def test_link_that_is_written_reads_the_same(context: Context, attrs: dict[str, object]) -> None:
    (link,) = read(Reader(context.names), messages(create("it", **attrs), context))
    assert {name: link.attrs.get(name) for name in attrs} == attrs


def test_links_of_one_layout_share_nothing_that_differs(context: Context) -> None:
    wanted = [
        {**VLAN, "id": number, "link": lower, "mac": f"02:00:00:00:00:{number:02x}", "mtu": mtu}
        for number, lower, mtu in ((1, "low0", 1400), (2, "low1", 1400), (3, "low0", 1300), (1, "low1", 1300))
    ]
    packets = [messages(create(f"v{place}", **attrs), context)[0] for place, attrs in enumerate(wanted)]
    links = read(Reader(context.names), packets * 2)
    assert [{name: link.attrs[name] for name in VLAN} for link in links] == wanted * 2
    assert [link.name for link in links[:4]] == ["v0", "v1", "v2", "v3"]


def test_names_of_any_length_are_read_whole(context: Context) -> None:
    names = ["a" * length for length in range(1, 16)]
    packets = [messages(create(name, kind="dummy"), context)[0] for name in names]
    assert [link.name for link in read(Reader(context.names), packets * 2)] == names * 2


def test_lower_link_that_comes_later_is_named_all_the_same(context: Context) -> None:
    lower = messages(create("late", kind="dummy"), context)
    upper = messages(create("late.7", kind="vlan", link="late", id=7), context)
    late, early = (read(Reader(Names()), packets) for packets in ([*upper, *lower], [*lower, *upper]))
    assert list(late[0].attrs.items()) == list(early[1].attrs.items()), "also in the same order"


def test_value_is_not_taken_for_another_of_the_same_size(context: Context) -> None:
    vxlan = {"kind": "vxlan", "id": 7, "dstport": 4789}
    wanted = [{**vxlan, "remote": "192.0.2.1"}, {**vxlan, "local": "192.0.2.1"}]
    packets = [messages(create(f"v{place}", **attrs), context)[0] for place, attrs in enumerate(wanted)]
    links = read(Reader(context.names), packets * 2)
    assert [{name: link.attrs.get(name) for name in ("remote", "local")} for link in links] == [
        {"remote": "192.0.2.1", "local": None},
        {"remote": None, "local": "192.0.2.1"},
    ] * 2


@pytest.mark.parametrize("first", [False, True], ids=["settled_first", "changing_first"])
def test_bridge_whose_topology_changes_does_not_tell_what_its_ageing_time_is(context: Context, *, first: bool) -> None:
    packets = [
        request(16, 0, bytes(16), text(3, "br0"), nest(18, text(1, "bridge"), nest(2, u32(4, 3000), u8(14, changes))))
        for changes in (first, not first, first)
    ]
    told = {False: 3000, True: None}
    links = read(Reader(context.names), packets)
    assert [link.attrs["ageing_time"] for link in links] == [told[first], told[not first], told[first]]
    want = Object("link", ("br0",), {"kind": "bridge", "ageing_time": 60000})
    assert [bool(differing(want, link)) for link in links] == [not first, first, not first]


def test_long_name_is_not_taken_for_a_short_one_and_an_attribute_more(context: Context) -> None:
    long, short = (
        messages(create("a" * 11, kind="dummy"), context),
        messages(create("b", kind="dummy", group=7), context),
    )
    assert len(long[0]) == len(short[0])
    links = read(Reader(context.names), [*long, *short] * 2)
    assert [(link.name, link.attrs.get("group")) for link in links] == [("a" * 11, None), ("b", 7)] * 2


def test_link_of_a_group_that_is_not_wanted_is_left_out(context: Context) -> None:
    packets = [messages(create(f"d{group}", kind="dummy", group=group), context)[0] for group in (7, 8)]
    reader = Reader(context.names, lambda _name, group: group == 8)
    assert [link.name for link in read(reader, packets)] == ["d8"]


def test_up_never_rides_with_master(context: Context) -> None:
    first, second = messages(create("d", kind="dummy", master="br0", up=True), context)
    assert not int.from_bytes(first[24:28], "little") & UP
    assert int.from_bytes(second[24:28], "little") & UP


def test_link_can_be_built_upon_in_the_batch_that_makes_it(context: Context) -> None:
    packets = messages(create("base", kind="dummy"), context)
    packets += messages(create("base.7", kind="vlan", link="base", id=7), context)
    assert read(Reader(Names()), packets)[1].attrs["link"] == "base"


def test_other_end_of_a_veth_is_not_made_twice(context: Context) -> None:
    (made,) = messages(create("a", kind="veth", peer="b"), context)
    (changed,) = messages(create("b", kind="veth", peer="a", mtu=1400), context)
    flags = [HEADER.unpack_from(packet)[2] for packet in (made, changed)]
    assert [bool(flag & 0x400) for flag in flags] == [True, False]


def test_both_ends_of_a_veth_are_deleted_by_one_message(context: Context) -> None:
    ends = [Object("link", pair[:1], {"kind": "veth", "peer": pair[1]}) for pair in (("a", "b"), ("b", "a"))]
    for number, end in enumerate(ends, 20):
        context.names.note(end.name, number)
    assert [len(messages(Step(Op.DELETE, end, None), context)) for end in ends] == [1, 0]


def test_change_of_a_tunnel_repeats_what_would_else_be_zero(context: Context) -> None:
    (packet,) = messages(change({**GRE, "remote": "192.0.2.9", "ttl": 64}, ttl=32), context)
    (link,) = read(Reader(Names()), [packet[:32] + b"\x08\0\x03\0ab\0\0" + packet[32:]])
    assert {name: link.attrs[name] for name in ("ttl", "remote", "okey")} == {
        "ttl": 32,
        "remote": "192.0.2.9",
        "okey": 9,
    }


def test_group_message_names_the_group_and_no_link(context: Context) -> None:
    (packet,) = messages(GroupStep(Op.CHANGE, 7, {"mtu": 1400, "master": "br0"}, ()), context)
    assert packet[20:24] == bytes(4)
    (link,) = read(Reader(context.names), [packet[:32] + b"\x08\0\x03\0ab\0\0" + packet[32:]])
    assert (link.attrs["group"], link.attrs["mtu"], link.attrs["master"]) == (7, 1400, "br0")


def test_attribute_that_the_kernel_does_not_like_is_named() -> None:
    step = create("v", **VLAN)
    assert (blame(step, (4,)), blame(step, (18, 2, 1)), blame(step, (99, 1))) == ("mtu", "id", "group_inherit")
