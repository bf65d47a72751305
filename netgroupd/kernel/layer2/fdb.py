# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding entries of bridges and VXLANs: RTM_NEWNEIGH of the bridge family, and its dump.

The kernel does not say who made an entry.  Left out is what it makes itself:
learnt entries (by a control plane too), the addresses of links, multicast memberships, the default
remote of a VXLAN and those of its VNIs, and the copies that it puts into every VLAN of a port of an
entry without VLAN, and into the filter of a port that hears no others.  An entry that a file asks
for is told of whoever made it; of everything, those of a tunnel which a control plane fills are marked as
somebody's, for it lists receivers of its own beside what it has learnt.

The table of a bridge is that of its ports; for the bridge it is its own.
"""

from collections.abc import Collection, Iterator, Mapping, Set
from functools import partial
from pathlib import Path
from typing import NamedTuple

from netgroupd.kernel.beyond import macs_beyond
from netgroupd.kernel.layer2 import vnis
from netgroupd.kernel.layer3.neighbours import HEADER, RTM_DELNEIGH, RTM_GETNEIGH, RTM_NEWNEIGH
from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.links.codec import dump as dump_links
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, u16, u32
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.netns import entered
from netgroupd.kernel.rows import blamer, dump_objects, goal, pack_rows, paths_of, simple_rows, single, unpack_rows
from netgroupd.model.family import BRIDGE
from netgroupd.model.fdb import CLASS, STATES, TABLES, has_several
from netgroupd.model.state import Key, Object
from netgroupd.model.value import NO_MAC, Value, ip_bytes, ip_text, mac_text
from netgroupd.plan.compare import UNOWNED, UNSAID
from netgroupd.plan.step import AnyStep, Op

_DST, _LLADDR, _VLAN, _SRC_VNI = 1, 2, 5, 11
_STATIC = 0x40
_STICKY, _EXTERN_LEARN = 0x40, 0x10
_PLAIN = simple_rows(CLASS.attrs)

_OF_LINKS = frozenset({"kind", "mac", "master", "remote"})
_MEMBERSHIPS = Path("/proc/thread-self/net/dev_mcast")
_MEMBERSHIP_FIELDS = 5  # index, name, users, whether an administrator added it, address


class _Own(NamedTuple):
    """What links have of themselves, and where a VXLAN floods to, for all or one of its VNIs.

    ``by_link`` are the MACs of each and of its master: in a bridge's table the kernel puts no others.
    ``groups`` are the group addresses that it listens to for protocols, not for an administrator.
    ``in_bridges`` are the MACs that bridges were told: a port that hears no others is told them, and what is below it.
    """

    macs: frozenset[str]
    by_link: Mapping[str, Set[str]]
    groups: frozenset[tuple[str, str]]
    remotes: frozenset[tuple[str, str]]
    remotes_of_vnis: frozenset[tuple[str, Value, Value]]
    bridges: frozenset[str]
    in_bridges: Set[str] = frozenset()


class _Noted(NamedTuple):
    """What entries that are not asked for tell: MACs in the tables of bridges, and tunnels that a program fills."""

    in_bridges: set[str]
    filled: set[str]


def dump(context: Context, selection: Selection) -> list[Object]:
    """The entries that somebody has set on the selected links."""
    header = HEADER.pack(BRIDGE, 0, 0, 0, 0, 0, 0)
    asked = message.request(RTM_GETNEIGH, message.NLM_F_DUMP, header)
    wanted = None if selection.everything else selection.links
    noted = _Noted(set(), set())
    chosen = dump_objects(context, asked, partial(_decode, wanted, noted), "dump of forwarding entries")
    if noted.filled:
        chosen = [obj.having({UNOWNED: None}) if obj.name in noted.filled else obj for obj in chosen]
    if not chosen:
        return []
    names = frozenset(obj.name for obj in chosen)

    def by_operators(beside: Collection[Object]) -> list[Object]:
        own = _own(context, selection, beside)._replace(in_bridges=noted.in_bridges)
        return [*_made_by_operators(chosen, own, selection.entries)]

    few = len(names) <= FEW
    left = by_operators(_links(context, names) if few else _links(context, everything=True))
    if few and any(map(_may_be_of_a_link, left)):
        left = by_operators(_links(context, everything=True))
    if any(_may_be_of_a_link(obj) and obj.key not in selection.entries for obj in left):
        beyond = macs_beyond(context)
        left = [obj for obj in left if obj.key in selection.entries or not _is_of_link_beyond(obj, beyond)]
    return _told_apart(left)


def _is_of_link_beyond(obj: Object, macs: Set[str]) -> bool:
    return _may_be_of_a_link(obj) and obj.key[1] in macs


def _may_be_of_a_link(obj: Object) -> bool:
    """Whether a link may hear a MAC for another one that stands on it."""
    return obj.key[3] == "self" and obj.attrs["state"] == "permanent"


def _links(context: Context, names: Set[str] = frozenset(), *, everything: bool = False) -> list[Object]:
    """Some links and their masters, or all, with what matters here; what was seen of all by others stays theirs."""
    apart = context._replace(seen=None)
    found = [*dump_links(apart, Selection(links=frozenset(names), rows=_OF_LINKS, everything=everything))]
    masters = frozenset(str(link.attrs["master"]) for link in found if link.attrs.get("master")) - names
    return found if everything or not masters else [*found, *_links(context, masters)]


def _told_apart(found: Collection[Object]) -> list[Object]:
    """The entries, each once, with a mark where some differ by port, VNI or link alone: a file has one of these."""
    entries: dict[Key, Object] = {}
    for obj in found:
        several = obj.key in entries
        entries[obj.key] = obj.having({UNSAID: True}) if several else obj
    return list(entries.values())


def _own(context: Context, selection: Selection, links: Collection[Object]) -> _Own:
    macs = {link.name: str(link.attrs.get("mac", "")) for link in links}
    by_link = {link.name: {mac := macs[link.name], macs.get(str(link.attrs.get("master")), mac)} for link in links}
    told = ((link.name, link.attrs.get("remote")) for link in links)
    remotes = frozenset((name, str(remote)) for name, remote in told if remote)
    of_vnis = ((vni.name, vni.attrs.get("remote"), vni.key[1]) for vni in vnis.dump(context, selection))
    bridges = frozenset(link.name for link in links if link.attrs["kind"] == "bridge")
    groups = frozenset(_memberships(context.netns))
    return _Own(frozenset(macs.values()), by_link, groups, remotes, frozenset(of_vnis), bridges)


def _memberships(netns: str | None) -> Iterator[tuple[str, str]]:
    """Links, and the group addresses that no administrator has added to them, without colons."""
    with entered(netns):
        lines = _MEMBERSHIPS.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    for fields in map(str.split, lines):
        if len(fields) == _MEMBERSHIP_FIELDS and fields[3] == "0":
            yield fields[1], fields[4]


def _made_by_operators(found: Collection[Object], own: _Own, wanted: Set[Key]) -> Iterator[Object]:
    # Of a bridge the other table is what it listens to as a link, where nobody can put anything.
    found = [obj for obj in found if obj.name not in own.bridges or obj.key[3] == "master"]
    everywhere = {obj.key[:2] for obj in found if obj.key[3] == "master" and obj.key[2] == 0}
    for obj in found:
        copied = obj.key[3] == "master" and obj.key[2] and obj.key[:2] in everywhere
        said = obj._replace(key=(*obj.key[:3], "self", *obj.key[4:])) if obj.name in own.bridges else obj
        if said.key in wanted or not (copied or _is_of_links(obj, own)):
            yield said


def _is_of_links(obj: Object, own: _Own) -> bool:
    """Whether an entry is there because links are as they are."""
    link, mac, _, where, dst, src_vni = obj.key
    if mac == NO_MAC and ((link, dst) in own.remotes or (link, dst, src_vni) in own.remotes_of_vnis):
        return True
    if dst is not None or "dst" in obj.attrs or "nhid" in obj.attrs:
        return False
    if where == "self" and (str(link), str(mac).replace(":", "")) in own.groups:
        return True
    if obj.attrs["state"] != "permanent":
        return False
    if where == "self":
        return mac in own.macs or mac in own.in_bridges
    return mac in own.by_link.get(str(link), own.macs)


def _decode(wanted: Set[str] | None, noted: _Noted, payload: memoryview, names: Names) -> Object | None:
    """An entry that is to last, of one of the ``wanted`` links or of any."""
    family, _, _, index, state, flags, _ = HEADER.unpack_from(payload)
    if wanted is None and flags & _EXTERN_LEARN and _DST in attributes(payload, HEADER.size):
        noted.filled.add(names.name(index))
    lasting = state & (STATES["permanent"] | _STATIC) and not flags & _EXTERN_LEARN
    if family != BRIDGE or not lasting:
        return None
    link = names.name(index)
    is_wanted = wanted is None or link in wanted
    if not is_wanted and flags & TABLES["self"]:
        return None
    found = attributes(payload, HEADER.size)
    if _LLADDR not in found:
        return None
    mac = mac_text(bytes(found[_LLADDR]))
    if not flags & TABLES["self"]:
        noted.in_bridges.add(mac)
        if not is_wanted:
            return None
    receiver = bytes(found.pop(_DST)) if _DST in found and has_several(mac) else b""
    key: Key = (
        link,
        mac,
        int.from_bytes(found.get(_VLAN, b""), "little"),
        "self" if flags & TABLES["self"] else "master",
        ip_text(receiver) if receiver else None,
        int.from_bytes(found[_SRC_VNI], "little") if _SRC_VNI in found else None,
    )
    attrs: dict[str, Value] = {"state": "permanent" if state & STATES["permanent"] else "static"}
    attrs["sticky"] = bool(flags & _STICKY)
    return Object("fdb", key, attrs | unpack_rows(_PLAIN, found, names))


def _identity(key: Key) -> bytes:
    _, mac, vlan, _, dst, src_vni = key
    assert isinstance(vlan, int)
    return b"".join(
        (
            attr(_LLADDR, bytes.fromhex(str(mac).replace(":", ""))),
            u16(_VLAN, vlan) if vlan else b"",
            attr(_DST, ip_bytes(str(dst))) if dst is not None else b"",
            u32(_SRC_VNI, src_vni) if isinstance(src_vni, int) else b"",
        )
    )


def _existing(key: Key, *, creating: bool) -> int:
    """What to do with an entry that is there: a learnt one makes room; for many receivers one more is put beside it."""
    if key[4] is not None:
        return message.NLM_F_CREATE | message.NLM_F_APPEND
    alone = creating and has_several(str(key[1]))
    return message.NLM_F_CREATE | (message.NLM_F_EXCL if alone else message.NLM_F_REPLACE)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    key = one.object.key
    index, table = context.names.index(str(key[0])), TABLES[str(key[3])]
    identity = _identity(key)
    usual = "permanent" if key[3] == "self" else "static"
    attrs = one.object.attrs if one.op is Op.DELETE else goal(one)
    state = STATES[str(attrs.get("state", usual))]
    if one.op is Op.DELETE:
        # A VXLAN finds a receiver by its port, VNI and link too, and a link its own entries by their state.
        header = HEADER.pack(BRIDGE, 0, 0, index, state, table, 0)
        yield message.request(RTM_DELNEIGH, 0, header, identity, pack_rows(_PLAIN, attrs, context.names))
        return
    flags = table | (_STICKY if attrs.get("sticky") else 0)
    how = _existing(key, creating=one.op is Op.CREATE)
    header = HEADER.pack(BRIDGE, 0, 0, index, state, flags, 0)
    yield message.request(RTM_NEWNEIGH, how, header, identity, pack_rows(_PLAIN, attrs, context.names))


CODEC = Codec(
    dump,
    encode,
    blamer({**paths_of(_PLAIN), (_DST,): "dst", (_LLADDR,): "mac", (_VLAN,): "vlan", (_SRC_VNI,): "src_vni"}),
    HEADER.size,
)
