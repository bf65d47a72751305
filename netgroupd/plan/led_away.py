# SPDX-License-Identifier: GPL-2.0-or-later
"""VXLANs that get another link to send through before the one that they have goes: they do not go with it."""

from collections.abc import Container, Iterable, Mapping

from netgroupd.model.route import family_of
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import followers

_ENDS = ("local", "remote")
_OUTER = {"inet": 50, "inet6": 70}  # bytes that a VXLAN puts around a packet
_OF_ETHERNET = 14
_ON_ONE_LINK = "fe80"  # such an end is one together with the link, which somebody else may have until later


def without_led_away(
    links: Mapping[Key, Object], changed: Mapping[str, Attrs], gone: Iterable[str], moving: Container[str]
) -> Mapping[Key, Object]:
    """``links`` without the VXLANs that are ``changed`` to send by one that is there, stays and is large enough."""
    vxlans = [links[name,] for name, attrs in changed.items() if attrs.get("dev")]
    vxlans = [link for link in vxlans if kind_of(link) == "vxlan"]
    if not vxlans:
        return links
    doomed = {*gone}
    doomed.update([name for name, _ in followers(doomed, links)])
    led = set()
    for link in vxlans:
        said = changed[link.name]
        old, new = links.get((link.attrs.get("dev"),)), links.get((said["dev"],))
        if not (old and new) or new.name in doomed or new.name in moving or is_outgrown(link, new):
            continue
        if not any(str({**link.attrs, **said}.get(end)).startswith(_ON_ONE_LINK) for end in _ENDS):
            led.add(link.key)
    return {key: link for key, link in links.items() if key not in led}


def is_outgrown(vxlan: Object, dev: Object) -> bool:
    """Whether a VXLAN has a larger MTU than it can get: the link to send through is too small for that."""
    mtu, below = vxlan.attrs.get("mtu"), dev.attrs.get("mtu")
    ends = [str(end) for name in ("remote", "local") if (end := vxlan.attrs.get(name))]
    around = max((_OUTER[family_of(end)] for end in ends), default=_OUTER["inet"])
    if vxlan.attrs.get("gpe"):
        around -= _OF_ETHERNET
    return isinstance(mtu, int) and isinstance(below, int) and mtu > below - around
