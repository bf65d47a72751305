# SPDX-License-Identifier: GPL-2.0-or-later
"""What names links from outside and does not outlive them: XDP programs, and address labels of one link."""

import struct
from collections import Counter
from collections.abc import Mapping
from functools import partial

from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.links.numbers import IFLA_EXT_MASK, RTM_GETLINK, SKIP_STATS
from netgroupd.kernel.links.write import header
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, request, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.rows import dump_of_family
from netgroupd.model.state import Object
from netgroupd.plan.theirs import XDP

_RTM_GETADDRLABEL = 74
_LABEL = struct.Struct("=BBBBII")  # family, -, prefix length, -, ifindex, -
_INET6 = 10
_LINK_HEADER = 16
_IFLA_XDP, _ATTACHED = 43, 2


def attached(context: Context, links: Mapping[int, str]) -> Counter[tuple[str, int, str]]:
    """How many are there for links, by class and link; programs are looked for on few of them."""
    found: Counter[tuple[str, int, str]] = Counter()
    for index, name in links.items() if len(links) <= FEW else ():
        asked = request(RTM_GETLINK, 0, header(index), u32(IFLA_EXT_MASK, SKIP_STATS))
        found[XDP, 0, name] += any(context.socket.ask(asked, _has_program)[1])
    asked = request(_RTM_GETADDRLABEL, NLM_F_DUMP, _LABEL.pack(_INET6, 0, 0, 0, 0, 0))
    labels = dump_of_family(context, asked, partial(_label, links), "dump of address labels")
    found.update(("address label", 0, label.name) for label in labels)
    return +found


def _has_program(_kind: int, payload: memoryview) -> bool:
    about = attributes(attributes(payload, _LINK_HEADER).get(_IFLA_XDP, memoryview(b"")))
    return any(about.get(_ATTACHED, b""))


def _label(links: Mapping[int, str], payload: memoryview, _names: Names) -> Object | None:
    index = _LABEL.unpack_from(payload)[4]
    return Object("label", (links[index],), {}) if index in links else None
