# SPDX-License-Identifier: GPL-2.0-or-later
"""``fdb``, under a link or with ``dev`` in a section of its own -> forwarding entries."""

from collections.abc import Iterable, Sequence
from itertools import chain

from netgroupd.config.merge import Item
from netgroupd.config.sections.entries import Fields, Form, Made, Sink, compile_items
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.attr import Attr
from netgroupd.model.fdb import CLASS, has_several
from netgroupd.model.state import Attrs
from netgroupd.model.value import LINK, Value

_DEV = Attr("dev", LINK, "The link to send by.")
UNDER_LINK = Form.of(CLASS, leave="link", needs=("mac",))
FORM = Form.of(CLASS, _DEV, leave="link", needs=("mac", "dev"))


def expand_fdb(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the entries of both places."""
    listed: Iterable[Made] = compile_items(items, FORM, links.values)
    alike: dict[tuple[tuple[str, Value], ...], Attrs] = {}
    for link, keys, attrs, entry in chain(listed, written_under(links, "fdb", UNDER_LINK)):
        if "mac" in keys and (link or "dev" in keys):
            name = link or str(keys["dev"])
            where = _where(name, keys, attrs, links)
            in_key = "dst" in attrs and has_several(str(keys["mac"]))
            dst, said = (attrs["dst"], _without_dst(attrs, alike)) if in_key else (None, attrs)
            key = (name, keys["mac"], keys.get("vlan", 0), where, dst, _src_vni(name, keys, where, links))
            sink.add("fdb", key, _without_own(name, said, links), entry)


def _without_dst(attrs: Attrs, alike: dict[tuple[tuple[str, Value], ...], Attrs]) -> Attrs:
    """The rest of ``attrs``, one mapping for all entries that have the same."""
    rest = {said: value for said, value in attrs.items() if said != "dst"}
    return alike.setdefault(tuple(rest.items()), rest)


def _where(name: str, keys: Fields, attrs: Attrs, links: Links) -> str:
    """The table of the bridge for its ports, the link's own otherwise: a tunnel's ends are in the tunnel's."""
    if keys.get("where"):
        return str(keys["where"])
    if attrs.get("dst") or links.kind(name) in ("bridge", "vxlan"):
        return "self"
    master = links.attrs.get(name, {}).get("master")
    return "master" if master and links.kind(str(master)) == "bridge" else "self"


def _src_vni(name: str, keys: Fields, where: str, links: Links) -> Value:
    """The VNI that an entry is for: that of an external VXLAN itself, if it has one; the kernel tells no 0."""
    said, through = keys.get("src_vni"), links.attrs.get(name, {})
    if where == "self" and through.get("external") and links.kind(name) == "vxlan":
        own = through.get("id") or None
        return own if said is None or not (said or own) else said
    return said


def _without_own(name: str, attrs: Attrs, links: Links) -> Attrs:
    """``attrs`` with nothing in the place of what is the VXLAN's own: the kernel does not tell it of an entry."""
    if links.kind(name) != "vxlan" or not _OF_VXLAN.keys() & attrs.keys():
        return attrs
    through = links.attrs.get(name, {})
    own = {said: through.get(row, usual) for said, (row, usual) in _OF_VXLAN.items()}
    return {said: None if said in own and value == own[said] else value for said, value in attrs.items()}


_OF_VXLAN = {"vni": ("id", 0), "port": ("dstport", 8472)}
