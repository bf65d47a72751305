# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel in memory knows of settings: which it writes together with another, and what they refuse."""

import errno
from collections.abc import Mapping

from netgroupd.kernel.fake.links import mtu_of
from netgroupd.model.address import LEAST_MTU
from netgroupd.model.state import Key, Object
from netgroupd.plan.settings import overwritten_by

_STABLE_PRIVACY = "2"  # how a link makes its addresses once it has a secret for it
_REDIRECTS = "net/ipv4/conf/all/accept_redirects"


def write(written: Object, settings: dict[Key, Object]) -> None:
    """Write with a setting the others of ``settings`` that the kernel overwrites."""
    source, value = str(written.key[0]), str(written.attrs["value"])
    for key, other in settings.items():
        setting = str(key[0])
        if source not in overwritten_by(setting):
            continue
        if source.endswith("/stable_secret"):
            value = _STABLE_PRIVACY
        # A router accepts no redirects.
        said = str(int(value == "0")) if setting == _REDIRECTS else value
        settings[key] = other.having({"value": said})


def lacks_ipv6(link: Object, settings: Mapping[Key, Object]) -> int:
    """With which errno a link refuses an address of IPv6; 0 if it speaks that."""
    if mtu_of({}, link) < LEAST_MTU["inet6"]:
        return errno.EINVAL
    disabled = settings.get((f"net/ipv6/conf/{link.name}/disable_ipv6",))
    return errno.EACCES if disabled and disabled.attrs["value"] != "0" else 0
