# SPDX-License-Identifier: GPL-2.0-or-later
"""What links, nexthops and qdiscs had that are made anew, or go, where nobody says anything of it: to be given back."""

from collections.abc import Callable, Container, Iterator, Mapping

from netgroupd.engine.kept.lent import Lent
from netgroupd.kernel.usual import Likeness, Usual
from netgroupd.model.kinds.pair import OF_PAIR
from netgroupd.model.link import SET_ALONG
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of, row_of, same

CLASSES = frozenset({"link", "nexthop", "qdisc"})
"""Classes of which another thing may be made in place of one."""

WHATEVER: Value = ("whatever that will be",)
"""The value of what nobody says of another thing."""

# A new one draws its MAC by lot.
DRAWING = frozenset(
    ("bond", "bridge", "dummy", "erspan", "geneve", "gretap", "ifb", "ip6erspan", "ip6gretap", "macvlan", "macvtap")
) | {"team", "veth", "netkit", "vrf", "vxlan"}
# What a link or qdisc has, or is called, for another reason than that somebody has told it.
_BY_PLACE = frozenset({"kind", "link", "netns", "group", "mac", "carrier", "active_slave", "handle"})
_MAC, _MTU = frozenset({"mac"}), frozenset({"mtu"})


def unsaid(
    anew: list[Object],
    made: Mapping[tuple[str, Key], Attrs],
    actual: State,
    usual: Callable[[Mapping[Key, Object]], Usual],
    along: Container[str] = (),
) -> Iterator[tuple[tuple[str, Key], Attrs]]:
    """What those that are made ``anew`` have from then on where nobody says anything.

    ``usual`` tells what links have by themselves, as the primary end of a pair, which those that are made ``along``
    with the other one are not.  Of one of another kind that tells nothing but what was told before.
    """
    links = actual.of("link")
    lent = Lent((obj for obj in anew if kind_of(obj) == "bridge"), actual)
    keys = {key for obj in anew if obj.cls == "link" for key in (obj.key, _master(obj))}
    samples = usual({key: links[key] for key in keys if key in links}) if keys else {}
    for obj in anew:
        attrs, said = lent.without(obj, _MTU).attrs, made[obj[:2]]
        following = {name for name, other in SET_ALONG.items() if attrs.get(name) == attrs.get(other)}
        names = sorted(attrs.keys() - said.keys() - _BY_PLACE - following)
        if obj.cls != "link":
            yield obj[:2], {name: WHATEVER for name in names if attrs[name] is not False}
            continue
        by_itself = samples.get(Likeness.of(obj, links.get(_master(obj))), NOTHING)
        known = [name for name in names if name in by_itself or ((row := row_of(obj, name)) and row.nullable)]
        if kind_of(obj) == said.get("kind"):
            lost = OF_PAIR if obj.name in along else frozenset[str]()
            yield obj[:2], {name: None if name in lost else by_itself.get(name) for name in known}
        else:
            yield obj[:2], {name: WHATEVER for name in known if not same(name, by_itself.get(name), attrs[name])}


def _master(link: Object) -> Key:
    return (link.attrs.get("master"),)


def drawn_macs(
    doomed: list[Object], made: Container[tuple[str, Key]], actual: State
) -> Iterator[tuple[Object, Object]]:
    """The MACs that go with links, where no others come back with those that these have them of."""
    doomed = [link for link in doomed if kind_of(link) in DRAWING and link[:2] not in made]
    lent = Lent(doomed, actual)
    for link in doomed:
        if mac := lent.without(link, _MAC).attrs.get("mac"):
            yield link._replace(attrs={"mac": mac}), link._replace(attrs={"mac": None})
