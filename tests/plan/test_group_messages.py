# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel can do for whole groups, one message each: addresses and MACs that count up, families of groups."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.plan.assemble import assemble
from netgroupd.plan.coalesce import Abilities
from netgroupd.plan.members import Bucket
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import GroupStep, Op
from tests.engine.universe import state_of

EVERYTHING = Abilities(new_group=True, group_mask=True, group_mac=True, group_addr=True)
NUMBERED = "groups: {g: {id: 7}}\nlinks: {'d[n=1-4]': {kind: dummy, group: g, addresses: [%s]}}"
SIZES = "groups: {g: {id: 7}}\nlinks: {'d[n=1-4]': {kind: dummy, group: g, gso_ipv4_max_size: 40000, %s}}"
MACS = "groups: {g: {id: 7}}\nlinks: {'d[n=1-4]': {kind: dummy, group: g, mac: '{02:00:00:00:00:00 + n*%s}'}}"


def group_steps(text: str, *actual: Object, indices: dict[str, int] | None = None) -> list[GroupStep]:
    """The group messages of the way to a configuration."""
    where = {"lo": 1, **{link.name: number for number, link in enumerate(actual, 2)}} if indices is None else indices
    plan = assemble(state_of(text), State(actual), Owned(frozenset({7})), EVERYTHING, where)
    return [step for step in plan.steps if isinstance(step, GroupStep)]


def dummies(count: int = 4, **attrs: object) -> list[Object]:
    common = {"kind": "dummy", "group": 7, "mtu": 1500, "up": False, **attrs}
    return [Object("link", (f"d{number}",), common) for number in range(1, count + 1)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param("10.0.0.{n}/24", id="hosts"),
        pytest.param("10.0.{n*4}.1/24", id="subnets"),
        pytest.param("10.0.0.{n}/32", id="single_addresses"),
        pytest.param("2001:db8:0:{n}::1/64", id="subnets_of_ipv6"),
    ],
)
@pytest.mark.parametrize("there", [False, True])
def test_addresses_that_count_up_are_one_message(addresses: str, there: bool) -> None:
    text = NUMBERED % f'"{addresses}"'
    (message,) = group_steps(text, *(dummies() if there else ()))
    assert (message.op, message.group, len(message.steps)) == (Op.CREATE, 7, 4)
    have = [*dummies(), *state_of(text).of("address").values()]
    (message,) = group_steps("groups: {g: {id: 7}}\nlinks: {'d[1-4]': {kind: dummy, group: g}}", *have)
    assert (message.op, message.group, len(message.steps)) == (Op.DELETE, 7, 4)


def test_several_addresses_of_each_member_are_several_messages() -> None:
    messages = group_steps(NUMBERED % '"10.0.{n}.[1-2]/24", "fd00:{n}::1/64"')
    assert [message.steps[0].object.key[1] for message in messages] == ["10.0.1.1/24", "10.0.1.2/24", "fd00:1::1/64"]


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param('"10.0.{n*n}.1/24"', id="no_one_distance"),
        pytest.param('"10.0.{9-n}.1/24"', id="counting_down"),
        pytest.param('"10.0.0.{n*50}/25"', id="out_of_the_subnet"),
        pytest.param('{address: "10.0.{n}.1/24", label: "d{n}:x"}', id="labels"),
    ],
)
def test_addresses_that_are_no_series_are_a_message_each(addresses: str) -> None:
    assert group_steps(NUMBERED % addresses) == []


def test_members_are_numbered_in_the_order_of_their_indices() -> None:
    text = NUMBERED % '"10.0.{n}.1/24"'
    assert group_steps(text, *dummies(), indices={"d1": 9, "d2": 8, "d3": 7, "d4": 6}) == []
    assert group_steps(text, *dummies(), indices={"d1": 2, "d2": 8, "d3": 9}) == [], "one is not known"
    down = NUMBERED % '"10.0.{9-n}.1/24"'
    (message,) = group_steps(down, *dummies(), indices={"d1": 9, "d2": 8, "d3": 7, "d4": 6})
    assert [step.object.name for step in message.steps] == ["d4", "d3", "d2", "d1"]


@pytest.mark.parametrize(
    ("sizes", "want"),
    [
        pytest.param("gso_max_size: '{30000 + n}'", set(), id="set_along_by_each"),
        pytest.param("gso_max_size: 30000", {"gso_max_size", "gso_ipv4_max_size"}, id="set_along_by_the_group"),
        pytest.param("gro_max_size: '{30000 + n}'", {"gso_ipv4_max_size"}, id="not_set_along"),
    ],
)
def test_size_that_another_sets_along_is_not_said_before_that(sizes: str, want: set[str]) -> None:
    have = dummies(gso_max_size=65536, gso_ipv4_max_size=65536, gro_max_size=65536)
    assert {name for step in group_steps(SIZES % sizes, *have) for name in step.attrs} == want


def test_links_that_are_made_are_visited_in_the_order_in_which_they_are_made() -> None:
    (message,) = group_steps(NUMBERED % '"10.0.{n}.1/24"', indices={})
    assert [step.object.name for step in message.steps] == ["d1", "d2", "d3", "d4"]


def test_member_without_an_address_forbids_the_message() -> None:
    assert group_steps(NUMBERED.replace("links: {", "links: {d9: {kind: dummy, group: g}, ") % '"10.0.{n}.1/24"') == []


@pytest.mark.parametrize("stride", ["1", "256"])
def test_macs_that_count_up_are_one_message(stride: str) -> None:
    (message,) = group_steps(MACS % stride, *dummies(mac="06:00:00:00:00:00"))
    assert [step.attrs["mac"] for step in message.steps][:2] == [
        f"02:00:00:00:{int(stride) * number // 256:02x}:{int(stride) * number % 256:02x}" for number in (1, 2)
    ]


@pytest.mark.parametrize(("late", "told"), [(2, 0), (4, 1), (5, 1)])
def test_group_is_told_as_one_when_most_members_have_yet_to_hear_it(late: int, told: int) -> None:
    links = [link._replace(attrs={**link.attrs, "mtu": 1400}) for link in dummies(8)]
    links[:late] = dummies(late)
    messages = group_steps("groups: {g: {id: 7, mtu: 1400}}\nlinks: {'d[1-8]': {kind: dummy, group: g}}", *links)
    assert [len(message.steps) for message in messages] == [late] * told


FAMILY = """
groups:
  edge: {members: [tenants, guests], mtu: %d}
  tenants: {}
  guests: {}
links:
  t[1-3]: {kind: dummy, group: tenants}
  g[1-3]: {kind: dummy, group: guests}
"""


def test_groups_of_a_group_are_told_by_one_message_under_a_mask() -> None:
    before, after = state_of(FAMILY % 1400), state_of(FAMILY % 1300)
    plan = assemble(after, before, Owned(), EVERYTHING)
    (message,) = plan.steps
    assert isinstance(message, GroupStep)
    ids = {name: group.id for name, group in after.groups.items()}
    assert {ids[name] & message.mask for name in ("edge", "tenants", "guests")} == {message.group}
    assert ids["netgroupd"] & message.mask != message.group
    assert len(message.steps) == 6


def test_family_is_not_told_as_one_what_most_of_it_has() -> None:
    many = FAMILY.replace("links:\n", "  others: {}\nlinks:\n  o[1-30]: {kind: dummy, group: others}\n")
    after = many.replace("guests]", "guests, others]") % 1300
    have = state_of(after)
    before = State(
        link if link.name[0] == "o" else link._replace(attrs={**link.attrs, "mtu": 1400})
        for link in have.of("link").values()
    )
    plan = assemble(have, before, Owned(), EVERYTHING)
    assert [len(step.steps) for step in plan.steps if isinstance(step, GroupStep)] == [3, 3]


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        pytest.param("bcd", [(3, 4), (2, 3), (1, 2)], id="one_after_the_other"),
        pytest.param("bac", [(2, 1)], id="exchanged"),
        pytest.param("bca", [(3, 1), (2, 3)], id="in_a_circle"),
        pytest.param("bab", [(2, 1), (3, 2)], id="into_a_circle"),
    ],
)
def test_group_moves_as_one_before_others_come_into_it(groups: str, want: list[tuple[int, int]]) -> None:
    ids = "groups: {a: {id: 1}, b: {id: 2}, c: {id: 3}, d: {id: 4}}\nlinks:\n"

    def there(groups: str) -> State:
        links = (f"  {name}[1-2]: {{kind: dummy, group: {group}}}\n" for name, group in zip("xyz", groups, strict=True))
        return state_of(ids + "".join(links))

    plan = assemble(there(groups), there("abc"), Owned(frozenset({1, 2, 3, 4})), EVERYTHING)
    whole = [step for step in plan.steps if isinstance(step, GroupStep)]
    assert [(step.group, step.attrs["group"]) for step in whole] == want
    assert plan.steps[: len(whole)] == tuple(whole)


def test_family_is_not_told_what_one_of_its_groups_must_not_hear() -> None:
    before = state_of(FAMILY % 1400)
    after = state_of((FAMILY % 1300).replace("guests: {}", "guests: {mtu: 1400}"))
    messages = assemble(after, before, Owned(), EVERYTHING).steps
    assert [getattr(message, "mask", 0) for message in messages] == [0xFFFFFFFF]


def test_families_cost_no_more_each_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(Bucket):
        looked = 0

        @property
        def group(self) -> int:
            Counted.looked += 1
            return self[0]

    def looks(families: int) -> int:
        inner = [f"f{number}x{nth}" for number in range(families) for nth in range(4)]
        outer = [f"  f{number}: {{mtu: %d, members: 'f{number}x[0-3]'}}\n" for number in range(families)]
        links = [f"  {name}y[1-2]: {{kind: dummy, group: {name}}}\n" for name in inner]
        text = "".join(("groups:\n", *outer, *(f"  {name}: {{}}\n" for name in inner), "links:\n", *links))
        before, after = (state_of(text.replace("%d", mtu)) for mtu in ("1400", "1300"))
        Counted.looked = 0
        assert len(assemble(after, before, Owned(), EVERYTHING).steps) == families
        return Counted.looked

    monkeypatch.setattr("netgroupd.plan.coalesce.Bucket", Counted)
    assert looks(80) < 3 * looks(40)
