# SPDX-License-Identifier: GPL-2.0-or-later
"""What has to do with IPv6, of links that are told to have none (``disable_ipv6``)."""

from collections.abc import Iterator

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import told
from netgroupd.model.route import family_of
from netgroupd.model.state import Object, records

_TREE, _SETTING = "net/ipv6/conf/", "/disable_ipv6"
_OF_NEW_LINKS = ("all", "default")


def without_ipv6(checked: Checked) -> None:
    """No address of IPv6 is on such a link, and nothing of IPv6 leads by it."""
    off = {
        str(path).removeprefix(_TREE).removesuffix(_SETTING): obj.attrs.get("value") != "0"
        for (path,), obj in checked.state.of("sysctl").items()
        if str(path).startswith(_TREE) and str(path).endswith(_SETTING)
    }
    if not any(off.values()):
        return
    of_new = any(off.get(name) for name in _OF_NEW_LINKS)
    for obj, field, link in _asked(checked):
        # Of those that were there before somebody may have said otherwise since.
        if off.get(link, of_new and bool(checked.links.kind(link)) and link not in checked.links.known):
            of_link = obj.cls == "address"
            role = f"cannot have {obj.key[1]}" if of_link else f"{told(obj.cls, obj.key)} leads by it"
            what = f"{link!r} has no IPv6 (disable_ipv6), and {role}"
            checked.refuse(obj, field, what, "set its sysctl ipv6.disable_ipv6 to 0")


def _asked(checked: Checked) -> Iterator[tuple[Object, str, str]]:
    """What needs IPv6, with the field that names the link, and the link."""
    for key, obj in checked.state.of("address").items():
        if family_of(str(key[1])) == "inet6":
            yield obj, "address", obj.name
    for obj in checked.state.of("route").values():
        if obj.key[0] == "inet6":
            ways = (("dev", obj.attrs), *(("nexthops", way) for way in records(obj.attrs, "nexthops")))
            yield from ((obj, field, str(way["dev"])) for field, way in ways if way.get("dev"))
    for obj in checked.state.of("nexthop").values():
        via = obj.attrs.get("via")
        if obj.attrs.get("dev") and "inet6" in (obj.attrs.get("family"), family_of(str(via)) if via else ""):
            yield obj, "dev", str(obj.attrs["dev"])
