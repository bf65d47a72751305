# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that were compared before and needed nothing: what is the same object is not compared again, all else is."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import differing
from netgroupd.plan.link import diff_links
from netgroupd.plan.owned import Owned

GROUP = 7
OWNED = Owned(frozenset({GROUP}))
NAMES = ("br", "one", "two", "three")


class Once(Mapping[str, Any]):
    """Attributes that may be looked at until they are closed."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        self.attrs = attrs
        self.closed = False

    def __getitem__(self, name: str) -> Any:
        assert not self.closed, f"{name} was looked at again"
        return self.attrs[name]

    def __iter__(self) -> Iterator[str]:
        assert not self.closed
        return iter(self.attrs)

    def __len__(self) -> int:
        return len(self.attrs)


def actual(name: str, **attrs: Value) -> Object:
    return Object("link", (name,), {"kind": "dummy", "group": GROUP, "mtu": 1500, "master": "br", **attrs})


DESIRED = State(Object("link", (name,), {"kind": "dummy", "mtu": 1500, "group": GROUP}) for name in NAMES)
LINKS = {name: actual(name, master="") for name in NAMES}


@pytest.fixture(autouse=True)
def compared() -> None:
    """All is as it shall be, and was found to be so."""
    assert not diff_links(DESIRED, State(LINKS.values()), OWNED).steps


def steps(links: Mapping[str, Object]) -> list[str]:
    """What there is to do when ``links`` are there."""
    found = diff_links(DESIRED, State(links.values()), OWNED).steps
    return [f"{step.op} {step.object.name} {' '.join(step.attrs)}".rstrip() for step in found]


def test_same_objects_are_not_looked_at_again() -> None:
    attrs = [Once(link.attrs) for link in LINKS.values()]
    links = [link._replace(attrs=once) for link, once in zip(LINKS.values(), attrs, strict=True)]
    desired = State(DESIRED)
    assert not diff_links(desired, State(links), OWNED).steps
    for once in attrs[1:]:
        once.closed = True
    assert not diff_links(desired, State(links), OWNED).steps
    changed = [actual("br", master="", mtu=1400), *links[1:]]
    assert [step.attrs for step in diff_links(desired, State(changed), OWNED).steps] == [{"mtu": 1500}]


@pytest.mark.parametrize(
    ("links", "want"),
    [
        pytest.param({**LINKS, "two": actual("two", master="", mtu=1400)}, ["change two mtu"], id="changed"),
        pytest.param({**LINKS, "two": actual("two")}, [], id="enslaved_by_others"),
        pytest.param({name: LINKS[name] for name in NAMES[1:]}, ["create br kind mtu group"], id="first_gone"),
        pytest.param({name: LINKS[name] for name in NAMES[:-1]}, ["create three kind mtu group"], id="last_gone"),
        pytest.param({**LINKS, "new": actual("new")}, ["delete new"], id="one_more"),
        pytest.param({**LINKS, "new": actual("new", group=0)}, [], id="one_more_of_others"),
        pytest.param({name: LINKS[name] for name in reversed(NAMES)}, [], id="another_order"),
        pytest.param(
            {**{name: LINKS[name] for name in NAMES[:-1]}, "new": actual("new")},
            ["delete new", "create three kind mtu group"],
            id="one_in_the_place_of_another",
        ),
        pytest.param(
            {**LINKS, "one": actual("one", master="", mtu=1), "two": actual("two", master="", mtu=2)},
            ["change one mtu", "change two mtu"],
            id="two_changed",
        ),
    ],
)
def test_what_is_not_the_same_is_compared(links: Mapping[str, Object], want: list[str]) -> None:
    assert steps(links) == want


def test_other_wishes_are_compared_with_the_same_links() -> None:
    other = State(link._replace(attrs={**link.attrs, "mtu": 9000}) for link in DESIRED)
    assert len(diff_links(other, State(LINKS.values()), OWNED).steps) == len(NAMES)


def test_what_differed_once_differs_until_it_does_not() -> None:
    changed = {**LINKS, "two": actual("two", master="", mtu=1400)}
    assert steps(changed) == steps(changed) == ["change two mtu"]
    assert steps(LINKS) == []


def test_whose_links_are_does_not_go_by_what_was_compared() -> None:
    left = {**LINKS, "left": actual("left", master="", group=8)}
    assert steps(left) == []
    more = Owned(frozenset({GROUP, 8}))
    assert [step.object.name for step in diff_links(DESIRED, State(left.values()), more).steps] == ["left"]


def test_threads_that_compare_at_once_do_not_mix_what_they_find() -> None:
    one, other = (Object("link", (name,), {"mtu": mtu}) for name, mtu in (("one", 9000), ("two", 1400)))

    class Meanwhile(dict[str, Value]):
        """Attributes that are looked at while another thread compares other links."""

        def get(self, name: str, default: Any = None) -> Any:
            differing(other, actual("two"))
            return super().get(name, default)

    assert differing(one, actual("one")) == {"mtu": 9000}
    assert differing(one, Object("link", ("one",), Meanwhile(mtu=1500))) == {"mtu": 9000}
