# SPDX-License-Identifier: GPL-2.0-or-later
"""By which link and with which source address a packet would leave, as `ip route get` says it."""

from netgroupd.kernel import message
from netgroupd.kernel.message import attr, attributes
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.request import Context
from netgroupd.model.value import ip_bytes, ip_text

_RTM_GETROUTE = 26
_RTA_DST, _RTA_OIF, _RTA_PREFSRC = 1, 4, 7
_HEADER = 12  # struct rtmsg
_FAMILIES = {4: 2, 16: 10}


def way_to(context: Context, address: str) -> tuple[str, str] | None:
    """The link and the source address on the way to ``address``; None if there is no way."""
    target = ip_bytes(address)
    header = bytes((_FAMILIES[len(target)], len(target) * 8)) + bytes(_HEADER - 2)
    asked = message.request(_RTM_GETROUTE, 0, header, attr(_RTA_DST, target))
    _, answers = context.socket.ask(asked, lambda _kind, payload: bytes(payload))
    for answer in answers:
        found = attributes(memoryview(answer), _HEADER)
        if _RTA_OIF not in found:
            continue
        source = ip_text(bytes(found[_RTA_PREFSRC])) if _RTA_PREFSRC in found else ""
        try:
            return context.names.name(int.from_bytes(found[_RTA_OIF], "little")), source
        except UnknownLinkError:
            continue
    return None
