# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings that the kernel overwrites when another is written: of all links, of new ones, or of the same link.

What is wanted of those is said again behind it; what nobody mentions follows the kernel.
"""

from collections.abc import Iterator, Mapping, Set

from netgroupd.model.state import Key, Object
from netgroupd.model.sysctl import FORWARDING
from netgroupd.plan.step import Op, Step

_TREES = {"ipv4": ["net", "ipv4", "conf"], "ipv6": ["net", "ipv6", "conf"]}
# Of IPv6 the kernel copies these alone, from "all" to "default" and to every link, and nothing from "default".
_COPIED = frozenset({"disable_ipv6", "forwarding", "ignore_routes_with_linkdown", "addr_gen_mode"})
_SECRET = "stable_secret"  # a link that has one makes its addresses of it
BY_WIREGUARD = "net/ipv4/conf/all/send_redirects"
"""It is 0 from when a WireGuard link comes up."""


def overwritten_by(setting: str) -> tuple[str, ...]:
    """The settings with which the kernel writes ``setting`` too."""
    *tree, link, name = ("", "", *setting.split("/"))
    if tree[2:] == _TREES["ipv4"]:
        if name == "forwarding":
            return () if link == "all" else FORWARDING
        if link == "all":
            return FORWARDING if name == "accept_redirects" else ()
        # Only to links of which nobody has set it, which cannot be told.
        return () if link == "default" else (f"net/ipv4/conf/default/{name}",)
    if tree[2:] != _TREES["ipv6"] or link == "all" or name not in _COPIED:
        return ()
    of_all = f"net/ipv6/conf/all/{name}"
    if name != "addr_gen_mode" or link == "default":
        return (of_all,)
    return (of_all, f"net/ipv6/conf/default/{_SECRET}", f"net/ipv6/conf/{link}/{_SECRET}")


def concerns(sysctl: Object, come: Set[object]) -> bool:
    """Whether a setting is there only when the links that ``come`` are."""
    parts = str(sysctl.key[0]).split("/")
    # The tree of a module appears with its first link at the latest.
    return any(part in come for part in parts) or (parts[1:2] == ["vrf"] and bool(come))


def rank(sysctl: Object) -> tuple[bool, bool]:
    """Where a setting stands among others: what is overwritten comes behind what does that."""
    setting = str(sysctl.key[0])
    # A router keeps the routes that others advertise only where this is said before it begins to forward.
    return not setting.endswith("/accept_ra"), bool(overwritten_by(setting))


def said_again(steps: list[Step], wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> Iterator[Step]:
    """What is as it shall be, and is not any more when ``steps`` have been done."""
    written = {step.object.key[0] for step in steps}
    for key, want in wants.items() if written else ():
        if key[0] in written or (have := haves.get(key)) is None:
            continue
        if source := next((each for each in overwritten_by(str(key[0])) if each in written), ""):
            yield Step(Op.CHANGE, have, want, want.attrs, f"the kernel writes it with {source.replace('/', '.')}")
