# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings under /proc/sys that belong to networking.

The key is the path below /proc/sys with slashes, for names of links may hold
dots: ``net/ipv4/conf/swp1.10/rp_filter``.
"""

import re

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.value import Type, Value

# No setting takes these words; who writes `on` means 1.
_SWITCH = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}

_PATH = re.compile(r"net(/[^/\s\0]+){1,8}")


def _parse_path(raw: object) -> Value:
    text = str(raw)
    got = text if "/" in text else text.replace(".", "/")
    if not _PATH.fullmatch(got) or ".." in got.split("/"):
        raise ValueError("expected a setting below net/, like net/ipv4/ip_forward")
    return got


def _parse_value(raw: object) -> Value:
    if isinstance(raw, bool):
        return str(int(raw))
    if isinstance(raw, list | tuple):
        return " ".join(str(item) for item in raw)
    if not isinstance(raw, str | int):
        raise ValueError("expected a number or a text")
    return " ".join(_SWITCH.get(str(raw), str(raw)).split())


PATH = Type("a setting below net/, like net/ipv4/ip_forward", _parse_path, {"type": "string"})
VALUE = Type("a number or a text", _parse_value, {"type": ["string", "integer", "boolean", "array"]})

CLASS = Class(
    "sysctl",
    "A kernel setting.",
    (Attr("path", PATH, "Its path below /proc/sys."),),
    table((Attr("value", VALUE, "Its value, as text with single blanks."),)),
)


def begins(said: str, told: str) -> bool:
    """Whether some of several numbers are ``said``, and the first that are ``told``: the kernel keeps the others."""
    few, all_ = said.split(), told.split()
    return 0 < len(few) < len(all_) and all_[: len(few)] == few and all(part.lstrip("-").isdecimal() for part in all_)
