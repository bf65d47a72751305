# SPDX-License-Identifier: GPL-2.0-or-later
"""MACsecs that the kernel does not take: with a channel that another has, or a window that nothing closes."""

from netgroupd.config.checked import Checked
from netgroupd.model.state import Attrs
from netgroupd.model.value import Value

_FIRST_PORT = 1


def replay_windows(checked: Checked) -> None:
    """A MACsec that refuses nothing that was seen before has no window for what comes late."""
    links = checked.links
    for name, attrs in checked.saying("window", ["macsec"]):
        if not attrs.get("replay", name in links.known):
            told = f"{name!r} cannot have 'window': it takes what was seen before"
            checked.refuse_link(name, "window", told, "set replay, too")


def channels(checked: Checked) -> None:
    """No two on a link send in one channel."""
    links = checked.links
    seen: dict[tuple[Value, ...], str] = {}
    for name, attrs in checked.of_kinds(["macsec"]):
        if "sci" not in attrs and name in links.known:
            continue  # somebody may have made it with another one
        lower = str(attrs.get("link"))
        key = (lower, attrs.get("netns"), _channel(attrs, checked.attrs(lower).get("mac")))
        other = seen.setdefault(key, name)
        if other != name:
            told = f"{name!r} and {other!r}, both on {lower!r}, send in one channel (sci)"
            there = links.report.where(links.places[other])
            links.report.once(links.places[name], told, f"give each a sci_port of its own; {other!r} is from {there}")


def _channel(attrs: Attrs, mac_below: Value) -> str:
    """The id of the channel, as a text; of a MAC that nothing tells, "lower" stands for it."""
    if sci := attrs.get("sci"):
        return str(sci)
    mac = str(attrs.get("mac") or mac_below or "lower").replace(":", "")
    port = attrs.get("sci_port", _FIRST_PORT)
    assert isinstance(port, int)
    return f"{mac}{port:04x}"
