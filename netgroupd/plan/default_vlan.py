# SPDX-License-Identifier: GPL-2.0-or-later
"""The VLAN that a bridge puts itself and its ports into: what the kernel does by itself, and what must be said.

When it becomes another, the kernel moves those of whom it is still the untagged one,
unless they are in the other already.  All others stay where they are.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from functools import cached_property

from netgroupd.model.bridge_vlan import DEFAULT_VID, OUT, bridge_of, bridged, default_vid, is_out
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.bridge_vlan import said_again
from netgroupd.plan.fate import Losses
from netgroupd.plan.named import named_in
from netgroupd.plan.step import Op, Step

DEFAULT = "vlan_default_pvid"
_PVID: Attrs = {"pvid": True}
_UNTAGGED: Attrs = {"pvid": True, "untagged": True}
_BESIDE: Attrs = {"untagged": True}


def moved(steps: Iterable[Step], actual: State) -> Iterator[Key]:
    """The VLANs that bridges and their ports leave and come into where another becomes the default."""
    changed = {
        step.object.name: (step.before.attrs.get(DEFAULT, DEFAULT_VID), step.attrs[DEFAULT])
        for step in steps
        if DEFAULT in step.attrs and step.before
    }
    for link in actual.of("link").values() if changed else ():
        vids = changed.get(link.name) or changed.get(str(link.attrs.get("master"))) or ()
        yield from ((link.name, vid) for vid in vids if vid)


class Defaults:
    """The default VLANs of bridges, as they are and as they will be."""

    def __init__(self, desired: State, actual: State, named: tuple[str, ...] = ()) -> None:
        self._desired = desired
        self._actual = actual
        self._named = named

    def of(self, name: str) -> tuple[Value, Value]:
        """That of a bridge or port now, and in the end; 0 is none, which one that is not there has."""
        link = self._actual.link(name)
        if link is None:
            return 0, 0
        have, bridge = default_vid(link, self._actual), self._desired.link(bridge_of(link))
        return have, (bridge.attrs.get(DEFAULT, have) if bridge else have)

    def follow(self, doomed: Iterable[Object], is_ours: Callable[[str], bool]) -> Iterator[Step]:
        """What to say of default VLANs where VLANs that are ``doomed`` go, or another becomes the default."""
        going = {vlan.name: f"vid {vlan.key[1]} goes" for vlan in doomed if vlan.attrs.get("pvid")}
        going |= {str(name): f"vid {vid} is not for packets without a tag any more" for name, vid in self._tagged()}
        going |= {str(name): f"nothing takes it out of vid {vid} any more" for name, vid in self._no_longer_out}
        changing = dict.fromkeys(filter(is_ours, self._members_of_changed()), "another VLAN is the default")
        if not (going or changing):
            return
        given = {vlan.name for vlan in self._desired.of("bridge_vlan").values() if vlan.attrs.get("pvid")}
        for name, why in (going | changing).items():
            yield from self._left(name, why)
            yield from self._untagged(name, why, given=name in given)

    def _tagged(self) -> Iterator[Key]:
        """The VLANs that are to be that of packets without a tag no more."""
        haves = self._actual.of("bridge_vlan")
        tagged = (key for key, want in self._desired.of("bridge_vlan").items() if want.attrs.get("pvid") is False)
        yield from (key for key in tagged if key in haves and haves[key].attrs.get("pvid"))

    @cached_property
    def _no_longer_out(self) -> Set[Key]:
        """The links of bridges that the last files took out of the default VLAN, each with that, and these do not."""
        places = {(name, int(vid)) for vid, name in named_in(self._named).out}
        places -= self._actual.of("bridge_vlan").keys() | self._desired.of("bridge_vlan").keys() if places else set()
        names = {link.name for link in bridged({name for name, _ in places}, self._actual)} if places else ()
        return {(name, vid) for name, vid in places if name in names and self.of(name)[1] == vid}

    def changed(self) -> set[str]:
        """The bridges whose default VLAN becomes another."""
        said = (link.name for link in self._desired.of("link").values() if DEFAULT in link.attrs)
        return {name for name in said if len(set(self.of(name))) > 1}

    def _members_of_changed(self) -> Iterator[str]:
        """These bridges, and the ports that stay theirs."""
        changed = self.changed()
        for key, want in self._desired.of("link").items() if changed else ():
            have = self._actual.of("link").get(key)
            master = have and have.attrs.get("master")
            if have and (have.name in changed or (master in changed and want.attrs.get("master", master) == master)):
                yield have.name

    def moves(self, name: str) -> bool:
        """Whether the kernel moves a member by itself."""
        had, gets = self.of(name)
        haves = self._actual.of("bridge_vlan")
        have = haves.get((name, had))
        is_in = had == 0 or (have is not None and all(have.attrs.get(flag) for flag in _UNTAGGED))
        return had != gets and is_in and (name, gets) not in haves

    def out(self, losses: Losses) -> Iterator[Step]:
        """Take links out of the VLANs that the kernel puts them into meanwhile."""
        for (name, vid), want in self._desired.of("bridge_vlan").items():
            if is_out(want) and not losses.goes_by_itself(want) and self._is_put_into(str(name), vid, losses.why(want)):
                yield Step(Op.CREATE, None, want, OUT, "the bridge puts it there by itself")

    def _is_put_into(self, name: str, vid: Value, lost: str) -> bool:
        """Whether a link comes to its bridge, for a moment leaves it, or is moved as the default becomes another."""
        have, want = self._actual.link(name), self._desired.link(name)
        link = have.having(want.attrs if want else NOTHING) if have else want
        if link is None or not bridge_of(link):
            return False
        comes = have is None or bridge_of(have) != bridge_of(link)
        return comes or bool(lost) or (self.of(name)[1] == vid and self.moves(name))

    def _left(self, name: str, why: str) -> Iterator[Step]:
        """The default VLAN that was goes where the kernel leaves it, and stays where it is wanted."""
        had, gets = self.of(name)
        have = self._actual.of("bridge_vlan").get((name, had))
        if have is None or had == gets:
            return
        want, moves = self._desired.of("bridge_vlan").get(have.key), self.moves(name)
        stays = want is not None and not is_out(want)
        if want and stays and moves:
            yield Step(Op.CHANGE, have, want, said_again(want, have, self._desired, self._actual), why)
        elif not stays and not moves:
            yield Step(Op.DELETE, have, None, why=why)

    def _untagged(self, name: str, why: str, *, given: bool) -> Iterator[Step]:
        """Packets without a tag belong to the default VLAN, where no VLAN is ``given`` that they belong to.

        A port that comes to a bridge is in it in any case.
        """
        had, gets = self.of(name)
        have = self._actual.of("bridge_vlan").get(key := (name, gets))
        if not gets or key in self._desired.of("bridge_vlan") or self.moves(name):
            return
        told = _BESIDE if given else _UNTAGGED
        if have is None and (had != gets or key in self._no_longer_out):
            yield Step(Op.CREATE, None, Object("bridge_vlan", key, told), told, why)
        elif have and not given and not have.attrs.get("pvid"):
            told = _PVID if had == gets else told
            yield Step(Op.CHANGE, have, have.having(told), told, why)
