# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel in memory, for tests: it takes steps, refuses what the real one refuses, and loses what that loses.

The contract tests run on this one and on the real one.  ``refuse`` is asked about
every step and answers with an errno; ``between`` hears of every batch.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from netgroupd.errors import Refusal
from netgroupd.kernel.fake.cards import FakeCards
from netgroupd.kernel.fake.links import mtu_of, refuses, remembered
from netgroupd.kernel.fake.settings import lacks_ipv6, write
from netgroupd.kernel.features import Features
from netgroupd.kernel.layer3.ways import Route
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.batch import Refused, ends
from netgroupd.kernel.netlink.request import Away, Selection
from netgroupd.model.address import plain_address
from netgroupd.model.bridge_vlan import is_out
from netgroupd.model.nexthop import is_another
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.tc.filter import block_number
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED, group_of, kind_of
from netgroupd.plan.fate import carried_down, followers, hangs_on, is_ipv4, muted, resized_ports, why_muted
from netgroupd.plan.pairs import OF_PEER
from netgroupd.plan.step import AnyStep, GroupStep, Op, RangeStep, Step
from netgroupd.plan.tc.hooks import ON_QDISCS, SHARED, hangs_on_one_of, swept
from netgroupd.plan.without_mac import BY_A_PORT

_MARKED = frozenset({"address", "route", "rule", "neighbour", "nexthop", "mdb"})
_MISSING = {"address": errno.EADDRNOTAVAIL, "route": errno.ESRCH, "link": errno.ENODEV}
_MASTERS = frozenset({"bridge", "bond", "team", "vrf"})
_BATCH = 4
_NO_PROTOCOL = 0


class RefusalError(Exception):
    """The errno with which a step is refused."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(os.strerror(number))


class FakeKernel(FakeCards):
    """Objects, and what steps do to them; ``foreign`` ones carry no mark of netgroupd."""

    def __init__(
        self,
        objects: Iterable[Object] = (),
        *,
        foreign: Iterable[Object] = (),
        features: Features = Features(),  # noqa: B008  # a frozen value
        refuse: Callable[[AnyStep], int] = lambda _step: 0,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self.state = State(objects)
        self._unmarked: dict[tuple[str, Key], Value] = {}
        for obj in foreign:
            self.state.add(obj)
            self._unmarked[obj.cls, obj.key] = _NO_PROTOCOL
        self.features = features
        self.names = Names()
        self.refuse = refuse
        self.between = between
        self.messages = 0
        self.ways: dict[str, Route] = {}

    def close(self) -> None:
        """Nothing is held."""

    def has_link(self, name: str) -> bool:
        """Whether there is a link of that name."""
        return (name,) in self.state.of("link")

    def changed_settings(self, links: Mapping[Key, Object]) -> list[Object]:
        """Every setting there is was made by somebody."""
        return [*self.state.of("sysctl").values(), *self.state.of("ethtool").values()]

    def unknown_settings(self, paths: Iterable[str]) -> dict[str, str]:
        """Every setting can be made."""
        return {}

    def elsewhere(self) -> frozenset[str]:
        """There is one network namespace."""
        return frozenset()

    def way_to(self, address: str, source: str = "", vrf: str = "", mark: int = 0) -> Route | None:
        """What a test has put into ``ways``, by where to, with where from in front of it, the VRF or the mark."""
        if within := vrf or mark:
            return self.ways.get(f"{within} {address}")
        return self.ways.get(f"{source} {address}") or self.ways.get(address)

    def links_with(self, address: str) -> frozenset[str]:
        """The links that have an address."""
        return frozenset(str(key[0]) for key in self.state.of("address") if plain_address(key) == address)

    def dump(self, selection: Selection) -> State:
        """Copies of the selected objects."""
        found = State()
        for cls in selection.classes:
            selected = (obj for obj in self.state.of(cls).values() if self._is_selected(obj, selection))
            found.classes[cls] = {obj.key: _in_part(self._marked(obj), selection) for obj in selected}
        if "link" in selection.classes:
            self._name_links(selection)
        return found

    def _marked(self, obj: Object) -> Object:
        protocol = self._unmarked.get((obj.cls, obj.key)) if obj.cls in _MARKED else None
        return obj if protocol is None else obj.having({UNOWNED: protocol})

    def add_away(self, state: State, away: Away, selection: Selection) -> None:
        """There is one network namespace here."""

    def _name_links(self, selection: Selection) -> None:
        if selection.everything:
            self.names.clear()
        for index, link in enumerate(self.state.of("link").values(), 1):
            if selection.everything or self._is_selected(link, selection):
                self.names.note(link.name, index)

    def _is_selected(self, obj: Object, selection: Selection) -> bool:
        if obj.cls == "link":
            return selection.has_link(obj.name, group_of(obj)) or obj.attrs.get("master") in selection.masters
        if obj.cls in ("sysctl", "ethtool"):
            return obj.key[0] in selection.settings or obj.key in selection.ethtool
        if obj.cls in _MARKED and (selection.held or selection.nexthops):
            asked = obj.key in selection.held.get(obj.cls, ()) or obj.attrs.get("nhid") in selection.nexthops
            return asked and (obj.cls, obj.key) in self._unmarked
        if obj.cls in _MARKED:
            return selection.everything or (obj.cls, obj.key) not in self._unmarked
        if obj.cls in ON_QDISCS or obj.cls == "action":
            place = f"{SHARED}{obj.name}" if obj.cls == "action" else obj.name
            return selection.everything or any(place == where for where, _ in selection.hooks)
        named = selection.links | selection.bridges | selection.cards | selection.tokens
        return selection.everything or obj.name in named

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        """Do ``steps`` in batches; behind a batch with a refusal nothing more is done, unless of what is optional."""
        waiting = iter(steps)
        refused, denied = list[Refused](), list[Refused]()
        while not ends(denied) and (batch := tuple(islice(waiting, _BATCH))):
            self.between()
            refused += (denied := [*filter(None, map(self._try, batch))])
            if progress:
                progress(len(batch))
        self.between()
        return tuple(refused)

    def _try(self, step: AnyStep) -> Refused | None:
        self.messages += 1
        for one in step.steps if isinstance(step, RangeStep) else (step,):
            try:
                if number := self.refuse(one):
                    raise RefusalError(number)
                self._do(one)
            except RefusalError as error:
                obj = one.object if isinstance(one, Step) else one.steps[0].object
                told = Refusal(f"{one.op} {obj.cls} {obj.name}", error.number, str(error), str(obj.origin or ""))
                return Refused(one, told)
        return None

    def _do(self, step: Step | GroupStep) -> None:
        if isinstance(step, GroupStep):
            self._do_group(step)
        elif step.op is Op.DELETE:
            self._delete(step.object)
        elif step.object.cls == "link":
            self._link(step)
        else:
            self._other(step)

    def _do_group(self, step: GroupStep) -> None:
        if step.steps and (step.steps[0].object.cls != "link" or step.attrs.get("mac")):
            for single in step.steps:  # the kernel counts, and comes to the same
                self._do(single)
            return
        members = [link for link in self.state.of("link").values() if group_of(link) & step.mask == step.group]
        if step.op is Op.DELETE and not members:
            raise RefusalError(errno.ENODEV)
        if step.op is Op.DELETE and not all(map(kind_of, members)):
            raise RefusalError(errno.EOPNOTSUPP)
        for link in members:
            if step.op is Op.CHANGE:
                self._change(link.name, step.attrs)
            elif self.state.link(link.name):  # it may have gone with another member
                self._delete(link)

    def _delete(self, obj: Object) -> None:
        if self.state.classes.get(obj.cls, {}).pop(obj.key, None) is None:
            raise RefusalError(_MISSING.get(obj.cls, errno.ENOENT))
        self._unmarked.pop((obj.cls, obj.key), None)
        if obj.cls == "qdisc":
            parents = swept([obj], self.state)
            self._forget([each for each in self.state if hangs_on_one_of(each, parents)])
        if obj.cls == "nexthop":
            for route in [each for each in self.state.of("route").values() if each.attrs.get("nhid") == obj.key[0]]:
                self._delete(route)
        if obj.cls == "address":
            self._lose_ipv4([obj])
        if obj.cls != "link":
            return
        self.state.add(obj)  # its ports still see what they leave
        for link in list(self.state.of("link").values()):
            if link.attrs.get("master") == obj.name:
                self._change(link.name, {"master": None})
        along = [name for name, _ in followers([obj.name], self.state.of("link"))]
        del self.state.classes["link"][obj.key]
        for upper in filter(None, map(self.state.link, along)):
            self._delete(upper)
        self._drop(obj.name, lambda _obj: True)

    def _drop(self, link: str, which: Callable[[Object], bool]) -> None:
        self._forget([obj for obj in self.state if obj.cls != "link" and link in hangs_on(obj) and which(obj)])

    def _forget(self, lost: list[Object]) -> None:
        for obj in lost:
            del self.state.classes[obj.cls][obj.key]
            self._unmarked.pop((obj.cls, obj.key), None)
        self._lose_ipv4([obj for obj in lost if obj.cls == "address"])

    def _lose_ipv4(self, addresses: list[Object]) -> None:
        """Routes from an address go with it, and with the last one of a link all that IPv4 has there."""
        left = [plain_address(key) for key in self.state.of("address")]
        sources = {plain_address(gone.key) for gone in addresses if is_ipv4(gone)}.difference(left)
        speaking = {obj.name for obj in self.state.of("address").values() if is_ipv4(obj)}
        silent = {gone.name for gone in addresses if is_ipv4(gone)} - speaking
        if sources or silent:
            self._forget(
                [
                    obj
                    for obj in (*self.state.of("route").values(), *self.state.of("neighbour").values())
                    if obj.attrs.get("src") in sources or (is_ipv4(obj) and not silent.isdisjoint(hangs_on(obj)))
                ]
            )

    def _link(self, step: Step) -> None:
        obj = step.object
        there = self.state.link(obj.name)
        if step.op is Op.CHANGE:
            if there is None:
                raise RefusalError(errno.ENODEV)
            self._change(obj.name, self._named(step, there))
            return
        if there:
            raise RefusalError(errno.EEXIST)
        attrs: dict[str, Value] = {"kind": kind_of(obj), "up": False, "group": 0, "mtu": self._usual_mtu(step.attrs)}
        self.state.add(Object("link", obj.key, attrs))
        try:
            self._change(obj.name, {name: value for name, value in step.attrs.items() if not name.startswith(OF_PEER)})
        except RefusalError:
            del self.state.classes["link"][obj.key]
            raise
        if peer := str(step.attrs.get("peer") or ""):
            self.state.add(Object("link", (peer,), {**attrs, "group": step.attrs.get("group", 0), "peer": obj.name}))

    def _named(self, step: Step, there: Object) -> Attrs:
        """What a step says; of further names it tells those that come and go, from what it takes the link to have."""
        if "altnames" not in step.attrs:
            return step.attrs
        before = step.before.attrs if step.before else {}
        had, has, wants = (_names(attrs.get("altnames")) for attrs in (before, there.attrs, step.attrs))
        taken = frozenset[str]().union(*(_names(link.attrs.get("altnames")) for link in self.state.of("link").values()))
        if had - wants - has:
            raise RefusalError(errno.ENOENT)
        if (wants - had) & taken:
            raise RefusalError(errno.EEXIST)
        return {**step.attrs, "altnames": tuple(sorted(has - had | wants))}

    def _usual_mtu(self, attrs: Attrs) -> Value:
        lower = self.state.link(str(attrs.get("link")))
        return lower.attrs.get("mtu") if lower else 1500

    def _change(self, name: str, attrs: Attrs) -> None:
        link = self.state.link(name)
        assert link is not None
        if number := refuses(link, attrs, self.state.of("link")):
            raise RefusalError(number)
        if "master" in attrs:
            self._enslave(link, attrs["master"])
            link = self.state.link(name) or link
        after = remembered({**link.attrs, **attrs}, attrs)
        self.state.add(link._replace(attrs=after))
        if attrs.get("up") is False:
            self._down(name)
        if attrs.get("up") and not link.attrs.get("up"):
            self._carry_up(name)
        if "mtu" in attrs:
            self._limit(name)
            self._mute(Step(Op.CHANGE, link, link, {"mtu": attrs["mtu"]}))

    def _enslave(self, link: Object, master: Value) -> None:
        old, new = (self.state.link(str(each)) for each in (link.attrs.get("master"), master))
        if new and kind_of(new) not in _MASTERS:
            raise RefusalError(errno.EOPNOTSUPP)
        if kind_of(new) == "bond" and link.attrs.get("up"):
            raise RefusalError(errno.EPERM)
        if old is not new and "vrf" in (kind_of(old), kind_of(new)):
            self._flush(link.name)
        if old is not new and kind_of(old) in ("bond", "team"):
            self.state.add(link.having({"up": False}))
            self._down(link.name)
        if old is not new and kind_of(old) == "bridge":
            self._drop(link.name, lambda obj: obj.cls in ("fdb", "mdb", "bridge_vlan"))

    def _down(self, name: str) -> None:
        self._flush(name)
        for upper, _ in list(carried_down([name], self.state.of("link"))):
            link = self.state.classes["link"][upper,]
            self.state.add(link.having({"up": False}))
            self._flush(upper)

    def _carry_up(self, name: str) -> None:
        for upper, _ in list(carried_down([name], self.state.of("link"))):
            link = self.state.classes["link"][upper,]
            self.state.add(link.having({"up": True}))

    def _flush(self, name: str) -> None:
        """IPv6 addresses, routes and neighbours do not survive their link's going down."""
        self._drop(
            name,
            lambda obj: obj.cls in ("route", "neighbour", "nexthop") or (obj.cls == "address" and ":" in str(obj.key)),
        )

    def _mute(self, step: Step) -> None:
        """Of a link that loses a protocol nothing of that stays."""
        lost = muted((step,), self.state.of("link"))
        self._forget([obj for obj in self.state if why_muted(obj, lost)] if lost else [])

    def _limit(self, name: str) -> None:
        """A VLAN's packets are no larger than those of the link below it; ipvlans' and a bond's ports' are as large."""
        for link in list(self.state.of("link").values()):
            lower = self.state.classes["link"][name,]
            larger = mtu_of({}, link) > mtu_of({}, lower)
            if link.attrs.get("link") == name and ((kind_of(link) == "vlan" and larger) or kind_of(link) == "ipvlan"):
                self.state.add(link.having({"mtu": lower.attrs["mtu"]}))
        for port in list(resized_ports({name}, self.state.of("link"))):
            link = self.state.classes["link"][port,]
            self.state.add(link.having({"mtu": self.state.classes["link"][name,].attrs["mtu"]}))

    def _keep(self, obj: Object) -> None:
        if is_out(obj):
            self.state.classes.get(obj.cls, {}).pop(obj.key, None)
        else:
            self.state.add(obj)

    def _other(self, step: Step) -> None:
        obj = step.object
        there = self.state.of(obj.cls).get(obj.key)
        if step.op is Op.CREATE and there and obj.cls != "sysctl":
            raise RefusalError(errno.EEXIST)
        if there and obj.cls == "nexthop" and is_another(there.attrs, step.attrs):
            raise RefusalError(errno.EINVAL)
        for link in map(self.state.link, _needed(obj)):
            if link is None:
                raise RefusalError(errno.ENODEV)
            if obj.cls == "route" and not link.attrs.get("up"):
                raise RefusalError(errno.ENETDOWN)
            if obj.cls == "mdb" and link.name == obj.name and not link.attrs.get("up"):
                raise RefusalError(errno.EINVAL)
            ipv6 = obj.cls == "address" and ":" in str(obj.key[1])
            if ipv6 and (number := lacks_ipv6(link, self.state.of("sysctl"))):
                raise RefusalError(number)
        merged = {**(there.attrs if there else {}), **step.attrs}
        after = {name: value for name, value in merged.items() if value is not None}
        after.pop(BY_A_PORT, None)
        self._unmarked.pop((obj.cls, obj.key), None)
        if UNOWNED in after:
            self._unmarked[obj.cls, obj.key] = after.pop(UNOWNED)
        self._keep(obj._replace(attrs=after, origin=None))
        if obj.cls == "sysctl":
            write(self.state.of("sysctl")[obj.key], self.state.classes["sysctl"])
        self._mute(step)


def _in_part(obj: Object, selection: Selection) -> Object:
    """As much of a link as matters."""
    if obj.cls != "link" or selection.rows is None:
        return obj
    return obj.only(selection.rows)


def _names(value: Value) -> frozenset[str]:
    return frozenset(map(str, value)) if isinstance(value, tuple) else frozenset()


def _needed(obj: Object) -> Iterator[str]:
    yield from hangs_on(obj) if obj.cls != "sysctl" and not block_number(obj.name) else ()
