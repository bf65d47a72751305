# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan touches, as it was before: the goal of putting it back."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

from netgroupd.engine.capture.order import as_added
from netgroupd.engine.kept import links_back
from netgroupd.engine.kept.lent import Lent, sharing_a_mac
from netgroupd.engine.kept.taken_along import may_take, taken_along, taken_sizes
from netgroupd.kernel.usual import Usual
from netgroupd.model.bridge_vlan import OUT, bridge_of, default_vid, taken_out
from netgroupd.model.bridge_vlan import USUAL as USUAL_OF_MEMBER
from netgroupd.model.fdb import WITH_TABLES
from netgroupd.model.kinds.wireguard import ANOTHER_KEY, KEY_FILES
from netgroupd.model.state import NOTHING, Key, Object, State
from netgroupd.model.tc.red import lasting
from netgroupd.model.tc.shared import OF_RULES
from netgroupd.model.value import Value
from netgroupd.model.vf import USUAL as USUAL_OF_FUNCTION
from netgroupd.plan.absent import drop_unreachable, without_links
from netgroupd.plan.address import subnet_of
from netgroupd.plan.affected import felt
from netgroupd.plan.compare import UNOWNED, UNTOLD, ends, kind_of
from netgroupd.plan.fate import carried_down, hangs_on, is_of_bridge, setting_of_ipv6
from netgroupd.plan.mst import without_states
from netgroupd.plan.serialise import Json, key_from, objects_from, objects_to, singles, touching
from netgroupd.plan.settings import BY_WIREGUARD
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.hooks import hangs_on_one_of, swept
from netgroupd.plan.unsaid import is_beyond_files, is_foreign
from netgroupd.plan.vf import drop_functions

# What is there by itself and cannot always be told: of objects that are made again, and of new ports.
_BY_ITSELF: Mapping[str, Mapping[str, Value]] = {
    "bridge_vlan": USUAL_OF_MEMBER,
    "vf": USUAL_OF_FUNCTION,
    "ethtool": {"tx_push": False, "rx_push": False},
    "link": {"port.prio": 0, "port.queue_id": 0},
}

_IN_USE = "active_slave"  # which port a bond uses follows from its ports
_STATES = ("carrier", _IN_USE)
_WITHOUT_IPV6 = "disable_ipv6"
_MTU = frozenset({"mtu"})
_FOLLOWING = _MTU | {"mac"}
_IN_TURN = frozenset({"address", "rule", "filter"})  # of these the order counts, and is the snapshot's
_ASKED = ("rule", "filter")


_Place: TypeAlias = tuple[str, Key]


class Snapshot(NamedTuple):
    """Objects that were there, the places where there was none, and what goes with links and is of ``others``.

    What is to be there again after the change too, ``passing``, is not among the others.
    Of what was netgroupd's the change makes others' what is at the places ``given``.
    """

    objects: tuple[Object, ...] = ()
    absent: tuple[_Place, ...] = ()
    others: tuple[Object, ...] = ()
    passing: tuple[Object, ...] = ()
    given: tuple[_Place, ...] = ()

    @classmethod
    def of(cls, plan: Plan, actual: State) -> "Snapshot":
        """What ``actual`` has of everything that ``plan`` touches, or that goes with what it touches."""
        steps = singles(felt(plan).steps)
        touched = _touched(plan, steps, actual)
        found, absent = _sought(touched, actual)
        steps = touching(steps, actual.of("link"))
        following = _following(steps)
        given = {(step.object.name, name) for step in steps for name in _STATES if name in step.attrs}
        lent = Lent(found, actual)
        kept = (lent.without(obj, following.get(obj.name, _FOLLOWING)) if obj.cls == "link" else obj for obj in found)
        steady = (_steady(obj, given) if obj.cls == "link" else obj for obj in kept)
        objects = *_in_turn(tuple(steady), actual), *_as_added(touched, actual)
        back = {obj[:2] for obj in plan.passing}
        others = tuple(obj for obj in plan.others if obj[:2] not in back)
        let_go = (obj[:2] for step in steps if step.before and (obj := step.after) and UNOWNED in obj.attrs)
        return cls(objects, tuple(absent), others, plan.passing, tuple(let_go))

    def over(self, actual: State, usual: Usual) -> State:
        """``actual``, but for what the snapshot knows: that as it was.

        Of a link that is made again only what is not ``usual`` needs to be said, and
        some of what the kernel reports it does not take.
        """
        goal = State(actual, actual.groups)
        # What follows from other links will follow from them again: it is no part of the goal.
        lent = Lent(actual.of("link").values(), actual)
        goal.classes["link"] = {key: lent.without(link, _FOLLOWING) for key, link in actual.of("link").items()}
        links = {**actual.of("link"), **{obj.key: obj for obj in self.objects if obj.cls == "link"}}
        for name in sharing_a_mac(links.values()):
            if link := goal.link(name):
                goal.classes["link"][link.key] = link.without("mac")
        for cls, key in self.absent:
            goal.classes.get(cls, {}).pop(key, None)
        self._drop_what_hangs(goal, actual)
        goal.classes["mst"] = {}  # any that is new goes with its tree
        drop_functions(goal, self.objects)
        lost = self._lost(actual)
        for qdisc in lost:
            goal.classes["qdisc"].pop(qdisc.key, None)  # what took its place
        with_lost = swept(lost, State(self.objects))
        for obj in self.objects:
            if _cannot_be_told(obj) or hangs_on_one_of(obj, with_lost):
                continue
            if obj.cls in _IN_TURN:
                goal.classes.get(obj.cls, {}).pop(obj.key, None)  # behind those that stay
            goal.add(obj._replace(attrs=self._was(obj, actual, links, usual)))
        for obj in self.others:
            if setting_of_ipv6(obj)[1] == _WITHOUT_IPV6:
                goal.add(obj)  # before the addresses, where new links have none
        self._turn_addresses(goal, self._take_down(goal, actual))
        self._keep_out(goal)
        without_states(goal)
        goal.classes["qdisc"] = {key: one._replace(attrs=lasting(one.attrs)) for key, one in goal.of("qdisc").items()}
        return goal

    def _take_down(self, goal: State, actual: State) -> frozenset[str]:
        """Have the VLANs of links that are to go down again follow them; all of these links."""
        were = {obj.name for obj in self.objects if obj.cls == "link" and obj.attrs.get("up") is False}
        down = {name for name in were if (now := actual.link(name)) and now.attrs.get("up")}
        carried = {upper for upper, _ in carried_down(down, goal.of("link"))} if down else set()
        for name in carried - were:
            if link := goal.link(name):
                goal.classes["link"][link.key] = link.without("up")
        return frozenset(down | carried)

    def _turn_addresses(self, goal: State, shaken: frozenset[str]) -> None:
        """Have addresses that links lose when they go down, or stay when others go, in the order in which they came."""
        left = {subnet_of(key) for cls, key in self.absent if cls == "address"}
        names = shaken.union(str(link) for link, *_ in left)
        if not names:
            return
        known = {obj.key for obj in self.objects if obj.cls == "address"}
        found = [obj for obj in goal.of("address").values() if obj.name in names and obj.key not in known]
        for obj in as_added(obj for obj in found if obj.name in shaken or subnet_of(obj.key) in left):
            del goal.classes["address"][obj.key]
            goal.add(obj)

    def _keep_out(self, goal: State) -> None:
        """Say of links that were not in the VLAN into which their bridge puts them that they are not."""
        for cls, key in self.absent:
            link = goal.link(str(key[0])) if cls == "bridge_vlan" else None
            if link and bridge_of(link) and default_vid(link, goal) == key[1]:
                goal.add(Object(cls, key, OUT))

    def _lost(self, actual: State) -> list[Object]:
        """The qdiscs of kinds that netgroupd does not make that are not there any more."""
        there = {(key, qdisc.attrs.get("kind")) for key, qdisc in actual.of("qdisc").items()}
        return [obj for obj in self.objects if is_foreign(obj) and (obj.key, obj.attrs["kind"]) not in there]

    def _was(self, obj: Object, actual: State, links: Mapping[Key, Object], usual: Usual) -> dict[str, Value]:
        """The attributes that bring an object back, given what there is now; ``links`` are as they are to be."""
        now = actual.of(obj.cls).get(obj.key)
        refused: frozenset[str] = frozenset()
        changed = now.attrs if now else NOTHING
        silent = _BY_ITSELF.get(obj.cls, NOTHING)
        # One that is of another kind by now does not tell what this one could be told.
        told = changed if kind_of(now) == kind_of(obj) else NOTHING
        known = {name: value for name, value in obj.attrs.items() if not _is_not_to_be_told(name, value)}
        # Nor can what has it by itself still always be told so: a card that comes back is told all again.
        by_itself = {name for name, value in silent.items() if obj.attrs.get(name) == told.get(name, value) == value}
        was = {name: value for name, value in known.items() if name not in by_itself}
        if obj.cls == "link":
            was, refused = links_back.told(obj, was, changed, links, usual)
        new = now.attrs.keys() - obj.attrs.keys() - refused if now else ()
        # What it is as a port goes with the master that it leaves.
        leaves = now is not None and obj.attrs.get("master") != now.attrs.get("master")
        none = (name for name in new if ends(obj, name) and not (leaves and name.startswith("port.")))
        return {**dict.fromkeys(none), **was}

    def _drop_what_hangs(self, goal: State, actual: State) -> None:
        """Leave out what the kernel made by itself on links that were not there, or not in a bridge nor one."""
        gone = {str(key[0]) for cls, key in self.absent if cls == "link"}
        bridged = {obj.name for obj in self.objects if obj.cls == "link" and _was_elsewhere(obj, actual)}
        for obj in [*goal] if gone or bridged else ():
            on = hangs_on(obj) if obj.cls != "link" else ()
            if not gone.isdisjoint(on) or (is_of_bridge(obj) and not bridged.isdisjoint(on)):
                del goal.classes[obj.cls][obj.key]

    def release_gone(self, goal: State, actual: State) -> None:
        """Leave out of ``goal`` the links that somebody else has deleted meanwhile, what is on them, and ways by them.

        They were to stay as they are, and much of what was read of them no new link is to be told.
        """
        known = {obj.key for obj in self.objects if obj.cls == "link"}
        gone = {str(key[0]) for key in goal.of("link").keys() - actual.of("link").keys() - known}
        if gone:
            left = without_links(goal, gone, actual)
            drop_unreachable(left, goal)
            goal.classes.update(left.classes)
        self._release_received(goal, actual)

    def _release_received(self, goal: State, actual: State) -> None:
        """Leave out MACs that links received for what is above them elsewhere, and that have another one by now."""
        known = {obj.key for obj in self.objects if obj.cls == "fdb"}
        for key in goal.of("fdb").keys() - actual.of("fdb").keys() - known:
            if key[3] == "self" and kind_of(goal.link(str(key[0]))) not in WITH_TABLES:
                del goal.classes["fdb"][key]

    def state(self) -> State:
        """The objects that were there, for finding what to look at."""
        return State(self.objects)

    def to_json(self) -> Json:
        """As plain values."""
        return {
            "objects": objects_to(self.objects),
            "absent": self.absent,
            "others": objects_to(self.others),
            "passing": objects_to(self.passing),
            "given": self.given,
        }

    @classmethod
    def from_json(cls, plain: Json) -> "Snapshot":
        """Out of plain values."""
        absent, given = (
            tuple((name, key_from(key)) for name, key in plain.get(field, ())) for field in ("absent", "given")
        )
        others, passing = (objects_from(plain.get(name, ())) for name in ("others", "passing"))
        return cls(objects_from(plain["objects"]), absent, others, passing, given)


def _touched(plan: Plan, steps: Sequence[Step], actual: State) -> dict[_Place, None]:
    """The places that a plan touches, or that go with those; of ``steps`` links feel something that are there."""
    touched = dict.fromkeys([obj[:2] for step in singles(plan.steps) if (obj := step.after or step.before)])
    touched.update(dict.fromkeys(taken_along([step for step in steps if may_take(step, actual)], actual)))
    touched.update(dict.fromkeys(taken_sizes(steps, actual)))
    if (BY_WIREGUARD,) in actual.of("sysctl"):
        touched["sysctl", (BY_WIREGUARD,)] = None
    return touched


def _sought(touched: Iterable[_Place], actual: State) -> tuple[list[Object], list[_Place]]:
    """What is at the places ``touched``, but for addresses, and the places where nothing is."""
    found: list[Object] = []
    absent: list[_Place] = []
    classes = actual.classes
    for place in touched:
        name, key = place
        if name == "address" and key in actual.of(name):
            continue  # which have an order of their own
        obj = classes[name].get(key) if name in classes else None
        if obj is None or OF_RULES in obj.attrs:
            absent.append(place)
        else:
            found.append(obj)
    members = dict.fromkeys(str(key[0]) for name, key in touched if name == "bridge_vlan")
    absent += (("bridge_vlan", key) for key in taken_out(members, actual))
    return found, absent


def _following(steps: Iterable[Step]) -> dict[str, frozenset[str]]:
    """What of MAC and MTU links may have of their ports, by name: what steps give does not go back by itself."""
    following: dict[str, frozenset[str]] = {}
    for step in steps:
        told = _MTU if step.op is Op.DELETE else step.attrs  # a new bridge is not held by what it is made with
        if step.object.cls == "link" and not _FOLLOWING.isdisjoint(told):
            name = step.object.name
            following[name] = following.get(name, _FOLLOWING).difference(told)
    return following


def _in_turn(objects: tuple[Object, ...], actual: State) -> Iterator[Object]:
    """``objects`` with rules last, in the order in which they came: the kernel asks those of one preference so."""
    rules = {obj[:2]: obj for obj in objects if obj.cls in _ASKED}
    yield from (obj for obj in objects if obj.cls not in _ASKED)
    yield from (rules[cls, key] for cls in _ASKED for key in actual.of(cls) if (cls, key) in rules)


def release_states(goal: State, actual: State) -> None:
    """Leave out of ``goal`` the states of links that have changed: they follow from what is put back elsewhere."""
    links = goal.of("link")
    for key, now in actual.of("link").items():
        for name in _STATES:
            link = links.get(key)
            if link and name in link.attrs and link.attrs[name] != now.attrs.get(name):
                goal.classes["link"][key] = link.without(name)


def _as_added(touched: Mapping[tuple[str, Key], object], actual: State) -> list[Object]:
    """The addresses of the subnets in which one is touched, in the order in which they are to come back."""
    found = actual.of("address")
    keys = {key for cls, key in touched if cls == "address" and key in found}
    if len(keys) in (0, len(found)):
        return as_added(found[key] for key in found if keys)  # of half a million the subnets need not be known
    subnets = {subnet_of(key) for key in keys}
    return as_added(obj for key, obj in found.items() if subnet_of(key) in subnets)


def _cannot_be_told(obj: Object) -> bool:
    """Whether nothing makes it what it was: of what no file says, or error correction of no kind."""
    if obj.cls == "ethtool":
        return obj.key[1] == "fec" and not obj.attrs.get("auto") and not obj.attrs.get("modes")
    return is_beyond_files(obj)


def _is_not_to_be_told(name: str, value: Value) -> bool:
    return (value is None and name in UNTOLD) or (name in KEY_FILES and value == ANOTHER_KEY)


def _steady(link: Object, given: Set[tuple[str, str]]) -> Object:
    """It without states that follow from other things, but for those that the plan has ``given``."""
    following = [name for name in _STATES if name in link.attrs and (link.name, name) not in given]
    return link.without(*following) if following else link


def _was_elsewhere(link: Object, actual: State) -> bool:
    """Whether a link was of another kind or had another master."""
    now = actual.link(link.name) or link
    return any(now.attrs.get(name) != link.attrs.get(name) for name in ("kind", "master"))
