# SPDX-License-Identifier: GPL-2.0-or-later
"""The MTU that ifupdown2 gives links of which no line says one, where the kernel alone would not."""

from netgroupd.config.importer.draft import Draft
from netgroupd.config.importer.fold import Body

_USUAL = 1500


def write_out(draft: Draft) -> None:
    """Give VLANs the MTU of what they are on, and VXLANs the usual one, which the kernel gives those without a link."""
    for name, body in draft.links.items():
        if body.get("kind") == "vxlan" and "dev" in body:
            body.setdefault("mtu", _USUAL)
        elif (mtu := _mtu(name, draft)) is not None:
            body.setdefault("mtu", mtu)


def _mtu(name: str, draft: Draft) -> object:
    """The MTU of a link, or of the link below the VLAN that it is, and so on."""
    seen: set[str] = set()
    while name in draft.links and name not in seen:
        seen.add(name)
        body = draft.links[name]
        if "mtu" in body:
            return body["mtu"]
        name = _below(name, body)
    return None


def _below(name: str, body: Body) -> str:
    """What a VLAN is on: a link named like eth0.5 is one without saying so."""
    lower, _, vid = name.rpartition(".")
    if body.get("kind", "vlan" if vid.isdecimal() else "") != "vlan":
        return ""
    return str(body.get("link", lower))
