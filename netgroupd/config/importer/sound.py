# SPDX-License-Identifier: GPL-2.0-or-later
"""What no link can have is left out of a draft, and listed with the line that asks for it.

``check`` would refuse the new file for it, but tells the new file's line.
"""

from netgroupd.config.importer.draft import Draft, Place
from netgroupd.config.importer.fold import Body
from netgroupd.config.sections.linkname import objection
from netgroupd.config.sections.links import NESTED
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.bond import MODES_OF
from netgroupd.model.link import COMMON
from netgroupd.model.value import LINK

_LONG = {"stp": "stp_state"}
# What a link of a kind has at least one of each of, and what is told of it otherwise.
_NEEDS = {
    "veth": ((("peer",), "it has no veth-peer-name"),),
    "netkit": ((("peer",), "it has no peer"),),
    "vlan": (
        (("id",), "it has no vlan-id, and none in its name"),
        (("link",), "it has no vlan-raw-device, and none in its name"),
    ),
    "vrf": ((("table",), "it has no vrf-table"),),
    "vxlan": ((("id", "external"), "it has no vxlan-id"),),
    "xfrm": ((("if_id", "external"), "it has no xfrm-id"),),
}


def leave_out_unsound(draft: Draft) -> None:
    """Leave out links that lack what their kind needs, and attributes that cannot be."""
    ports = {port for body in draft.links.values() for port in body.get("ports", ())}
    for links in (draft.links, draft.vrfs):
        for name in list(links):
            kind = "vrf" if links is draft.vrfs else _kind(draft, name)
            _attributes(draft, name, kind)
            if name not in ports:
                _of_no_port(draft, name, kind)
            if why := _objection_to(name, links[name], kind):
                draft.remark(_place(draft, name, ""), why, "it is left out", name=name)
                del links[name]


def _place(draft: Draft, name: str, key: str) -> Place:
    return draft.places.get((name, key)) or draft.places[name, ""]


def _objection_to(name: str, body: Body, kind: str) -> str:
    if wrong := objection(name):
        return "; ".join(wrong)
    needs = _NEEDS.get(kind, ())
    return next((why for names, why in needs if body.keys().isdisjoint(names)), "")


def _of_no_port(draft: Draft, name: str, kind: str) -> None:
    """Leave out what is said of a link as the port of a bridge where no file says which, or as one that it is not."""
    body = draft.link(name)
    for key in ("port", "mst", *(("vlans",) if kind != "bridge" else ())):
        if key in body and "master" not in body:
            place = _place(draft, name, key)
            draft.remark(place, f"{place.text.strip()}: it is a port of none of the bridges here", name=name)
            del body[key]
    if "vlan_global" in body and kind != "bridge":
        place = _place(draft, name, "vlan_global")
        draft.remark(place, place.text.strip(), "it is no bridge here", name=name)
        del body["vlan_global"]


def _kind(draft: Draft, name: str) -> str:
    kind = str(draft.links[name].get("kind", ""))
    if kind and kind not in KINDS:
        draft.remark(_place(draft, name, "kind"), f"unknown kind {kind!r}", name=name)
        del draft.links[name]["kind"]
        return ""
    return kind


def _attributes(draft: Draft, name: str, kind: str) -> None:
    body = draft.link(name)
    for key in [key for key in body if key not in NESTED]:
        if wrong := _objection(body, key, kind):
            place = _place(draft, name, key)
            draft.remark(place, f"{place.text.strip()}: {wrong}", name=name)
            del body[key]


def _objection(body: Body, key: str, kind: str) -> str:
    row = COMMON.get(key) or (KINDS[kind].attrs.get(_LONG.get(key, key)) if kind else None)
    if row is None:
        return f"a {kind} has no {key}" if kind else f"a link that says no kind has no {key}"
    try:
        row.type.parse(body[key])
    except ValueError as error:
        return str(error)
    if row.type is LINK and (wrong := objection(str(body[key]))):
        return "; ".join(wrong)
    if key == "link" and kind and not KINDS[kind].lower:
        return f"a {kind} stands on none"
    mode = body.get("mode", "balance-rr")
    if kind == "bond" and mode not in MODES_OF.get(key, (mode,)):
        return f"a bond has {key} in mode {' or '.join(MODES_OF[key])}, and this one is {mode}"
    return ""
