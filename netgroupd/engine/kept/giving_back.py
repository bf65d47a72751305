# SPDX-License-Identifier: GPL-2.0-or-later
"""What generations took the place of, given back beside a configuration that does not mention it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property

from netgroupd.engine.kept import anew, taken_over
from netgroupd.engine.kept.lent import ALONE
from netgroupd.engine.kept.links_back import unfit
from netgroupd.model.bridge_vlan import default_vid, vlans_joined
from netgroupd.model.kinds import KINDS
from netgroupd.model.link import COMMON
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.model.value import LINK, NO_MAC, Value
from netgroupd.plan.compare import UNOWNED, ends, group_of, kind_of, row_of, same
from netgroupd.plan.fate import followers, hangs_on
from netgroupd.plan.mst import inside
from netgroupd.plan.named import named_in
from netgroupd.plan.owned import Owned
from netgroupd.plan.vf import without_functions
from netgroupd.plan.vlan_global import bridge_of, left

# These stay when no configuration mentions them; all else that is netgroupd's goes.
_STAYING = frozenset({"link", "sysctl", "token", "vlan_global", "mst", "ethtool", "sriov", "vf"})
_LIFETIMES = frozenset({"valid_lft", "preferred_lft"})
_PORT = "port."


def joined(goal: State, objects: Iterable[Object]) -> State:
    """``goal``, and of ``objects`` what it does not mention; of those that it lacks only what stays without it."""
    found = goal.copied()
    for obj in objects:
        want = goal.of(obj.cls).get(obj.key)
        if want:
            found.add(want._replace(attrs={**obj.attrs, **want.attrs}))
        elif obj.cls in _STAYING or obj.attrs.get(UNOWNED) is not None:
            found.add(obj)
    return found


class Return:
    """One giving back of what ``was`` there, where it is what a change has ``made`` of it."""

    def __init__(
        self, was: Sequence[Object], made: Sequence[Object], desired: State, actual: State, owned: Owned
    ) -> None:
        self._was = was
        self._made = made
        self._desired = desired
        self._actual = actual
        self._owned = owned
        self.gone = self._going()
        self._theirs = taken_over.theirs_again(was, desired, actual, self.gone)

    def _going(self) -> Set[str]:
        """The links that will not be there any more."""
        links, wants = self._actual.of("link"), self._desired.of("link")
        # They were there before netgroupd, and outlive it.
        grouped = (obj for obj in self._was if obj.cls == "link" and "group" in obj.attrs)
        older = {obj.key for obj in grouped if not self._owned.covers(obj.attrs["group"])}
        doomed = [
            link.name for key, link in links.items() if key not in wants and key not in older and self._owned.made(link)
        ]
        return {*doomed, *(name for name, _ in followers(doomed, links))}

    def objects(self) -> Iterator[Object]:
        """What was there, of all that stays; a bridge has what its ports will lend it, where they had."""
        found = [*self._found()]
        found = without_functions(found, (*found, *self._desired.of("sriov").values()))
        given = {obj.key: obj.attrs for obj in found if obj.cls == "link"}
        if any(obj.cls == "mst" for obj in found):
            found = [*inside(found, self._members, joined(self._desired, found), self._actual)]
        least = self._least(given) if any(map(_has_mtu_of_ports, found)) else {}
        for obj in found:
            if _has_mtu_of_ports(obj):
                obj = obj.having({"mtu": least.get(obj.name, ALONE)})  # noqa: PLW2901
            yield obj

    def _least(self, given: Mapping[Key, Attrs]) -> dict[Value, int]:
        """The least MTU of the ports that each bridge will have."""
        there, wants = self._actual.of("link"), self._desired.of("link")
        least: dict[Value, int] = {}
        for key in there.keys() | wants.keys():
            want, have, name = wants.get(key), there.get(key), str(key[0])
            said = {**(want.attrs if want else NOTHING), **given.get(key, NOTHING)}
            had = have.attrs if have else NOTHING
            # A port that the files do not name any more leaves the bridge that it is in.
            leaves = name in self.gone or self._owned.names_port(had.get("master"), name)
            master, mtu = said.get("master", None if leaves else had.get("master")), said.get("mtu", had.get("mtu"))
            if master and isinstance(mtu, int):
                least[master] = min(mtu, least.get(master, mtu))
        return least

    def _found(self) -> Iterator[Object]:
        for was, made in zip(self._was, self._made, strict=True):
            if taken_over.is_had(was):
                continue
            have = self._actual.of(was.cls).get(was.key)
            want = self._desired.of(was.cls).get(was.key)
            drawn = "mac" in was.attrs.keys() - (want.attrs if want else NOTHING).keys()
            if have is None and drawn and kind_of(want) in anew.DRAWING:
                yield was._replace(attrs={"mac": was.attrs["mac"]})
            theirs = was[:2] in self._theirs
            if want is None and not theirs and not self._stays(was):
                continue
            if have is None:  # a state comes with a VLAN in its tree
                yield from [was] if was.cls == "mst" and not want else ()
                continue
            attrs = {name: was.attrs[name] for name in self._names(was, made, have, want)}
            if theirs:
                attrs[UNOWNED] = was.attrs[UNOWNED]
            if was.cls == "link":
                self._fit(attrs, have, want)
            if attrs:
                yield was._replace(attrs=attrs)

    def _stays(self, obj: Object) -> bool:
        if obj.cls == "link":
            return obj.name not in self.gone
        return obj.cls in _STAYING and self.gone.isdisjoint(hangs_on(obj)) and obj.key not in self._empty_vlans

    @cached_property
    def _members(self) -> Set[Key]:
        """The links that will be in VLANs, each with one."""
        wants, told = vlans_joined(self._desired), self._desired.of("bridge_vlan")
        listed = {name for name, _ in told}

        def stays(vlan: Object) -> bool:
            link = self._actual.link(vlan.name)
            if vlan.name in self.gone or link is None:
                return False
            by_itself = vlan.key not in told and vlan.key[1] == default_vid(link, self._actual)
            goes = vlan.name in listed or ("bridge_vlan", vlan.name) in named_in(self._owned.named).listed
            return vlan.key in wants or by_itself or not goes

        return {*wants, *(key for key, vlan in self._actual.of("bridge_vlan").items() if stays(vlan))}

    @cached_property
    def _empty_vlans(self) -> Set[Key]:
        """The VLANs that nobody will be in any more, each with its bridge."""
        wants = {(bridge_of(vlan, self._desired), vlan.key[1]) for vlan in vlans_joined(self._desired).values()}
        return left(self._actual, lambda vlan: vlan.key in self._members) - wants

    def _names(self, was: Object, made: Object, have: Object, want: Object | None) -> Iterator[str]:
        """What ``want`` does not mention, is as it was made, and can be what it was."""
        if was.cls == "qdisc" and want and _contradicts(was, want):
            return
        kind = kind_of(want)
        another = kind not in ("", kind_of(have))
        back = another and kind == kind_of(was)
        alike = was if back or (not kind and _can_be_made_by_itself(was)) else have
        for name, value in was.attrs.items():
            if (name == "kind" and alike is have) or (want and name in want.attrs):
                continue
            if another and not back and (was.cls != "link" or name not in COMMON):
                continue
            if self._can_be(alike, name, value) and _is_still(name, made.attrs, have.attrs.get(name)):
                yield name

    def _can_be(self, alike: Object, name: str, value: Value) -> bool:
        """Whether what is ``alike`` has such an attribute, and can be told that it is ``value``."""
        row = row_of(alike, name)
        if row is None or (row.type is LINK and value and not self._is_there(value)):
            return False
        ended = value is None and not ends(alike, name) and (alike.cls, name) != ("link", "mtu")
        passing = name in _LIFETIMES and value != "forever"
        silent = value == NO_MAC and alike.cls != "vf"  # no link can be told to have none
        return not (ended or passing or silent)

    def _is_there(self, name: Value) -> bool:
        """Whether a link of that name is there in the end."""
        return (name,) in self._desired.of("link") or ((name,) in self._actual.of("link") and name not in self.gone)

    def _fit(self, attrs: dict[str, Value], have: Object, want: Object | None) -> None:
        """Leave out of ``attrs`` what a link cannot have beside what else it will be; let go of one that is ours."""
        if want:  # which says where it lives
            attrs.pop("netns", None)
        whole = {**have.attrs, **(want.attrs if want else {}), **attrs}
        others: list[str] = []
        if whole.get("kind") == "bond":
            others += unfit(whole, have.attrs)
        master = have.attrs.get("master")
        named = want is not None and "master" in {**want.attrs, **attrs}
        leaves = not named and self._owned.names_port(master, have.name)
        if whole.get("master") != master or leaves or not master:
            others += [name for name in attrs if name.startswith(_PORT)]
        for name in others:
            attrs.pop(name, None)
        groups = frozenset(group.id for group in self._desired.groups.values())  # no others are netgroupd's then
        ours = Owned(groups if "group" in attrs else self._owned.groups)
        if want is None and ours.covers(whole.get("group", group_of(have))):
            attrs["group"] = 0


def _has_mtu_of_ports(was: Object) -> bool:
    """Whether a bridge had the MTU that its ports lent it."""
    return was.cls == "link" and "mtu" in was.attrs and was.attrs["mtu"] is None


def _contradicts(was: Object, want: Object) -> bool:
    """Whether some of what a qdisc ``was`` is not what is said of it: its options go together, as bands and quanta.

    What the kernel never tells contradicts nothing.
    """
    told = ((name, value) for name, value in want.attrs.items() if (row := row_of(want, name)) and not row.silent)
    return any(name in was.attrs and not same(name, value, was.attrs[name]) for name, value in told)


def _can_be_made_by_itself(link: Object) -> bool:
    kind = KINDS.get(kind_of(link))
    return kind is not None and not (kind.required or kind.lower)


def _is_still(name: str, what: Attrs, now: Value) -> bool:
    """Whether ``now`` is what was made, or what is left of it."""
    if name not in what:
        return True
    made = what[name]
    if name in _LIFETIMES and isinstance(made, int) and isinstance(now, int):
        return now <= made
    if name == "probability" and made is None:
        return True
    return same(name, made, now)
