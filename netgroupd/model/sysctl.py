# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings under /proc/sys that belong to networking.

The key is the path below /proc/sys with slashes, for names of links may hold
dots: ``net/ipv4/conf/swp1.10/rp_filter``.
"""

import re
from collections.abc import Callable, Mapping

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.value import Type, Value, ip_bytes

# No setting takes these words; who writes `on` means 1.
_SWITCH = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}

_SECRETS = frozenset({"stable_secret", "tcp_fastopen_key"})
"""Settings that the kernel lets root alone read."""

FORWARDING = ("net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding")
"""Two names of one setting."""

OF_ALL = frozenset({"all", "default"})
"""What settings are of that are of no link."""

BY_OTHER_NAMES = {
    "base_reachable_time": "base_reachable_time_ms",
    "retrans_time": "retrans_time_ms",
    "unres_qlen": "unres_qlen_bytes",
}
"""One setting of the kernel's by two names, of which the second tells it more closely."""

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


# The kernel keeps these in ticks of its clock, of which there are at least 100 to the second, and rounds up.
_IN_TICKS = frozenset(
    (
        "icmp_ratelimit",
        "ratelimit",
        "tcp_invalid_ratelimit",
        "mldv1_unsolicited_report_interval",
        "mldv2_unsolicited_report_interval",
    )
)
_TICK_MS = 10
_BUCKETS_OF_PAGE = 512  # the size of a hash table is that of whole pages
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|[0-9]+)")
_SPAN = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def alike(path: str, said: str, told: str) -> bool:
    """Whether a setting is as ``said`` where the kernel tells it so: it writes many in a form of its own."""
    if said == told or begins(said, told):
        return True
    name = path.rpartition("/")[2]
    if name in _FORMS:
        try:
            return _FORMS[name](said) == _FORMS[name](told)
        except ValueError:
            return False
    wanted, found = _numbers(said), _numbers(told)
    if len(wanted) == 1 == len(found):
        return 0 <= found[0] - wanted[0] <= _more(name)
    return bool(wanted) and wanted == found


def _more(name: str) -> int:
    """How much more than a number the kernel may make of it."""
    if name.endswith("_ms") or name in _IN_TICKS:
        return _TICK_MS - 1
    return _BUCKETS_OF_PAGE - 1 if name == "nf_conntrack_buckets" else 0


def _numbers(text: str) -> list[int]:
    """Numbers as the kernel reads them: 0x10 is 16, and 010 is 8; none if anything is no number."""
    parts = text.split()
    return [_as_in_c(part) for part in parts] if all(map(_NUMBER.fullmatch, parts)) else []


def _as_in_c(text: str) -> int:
    digits = text.removeprefix("-")
    try:
        value = int(digits, 0 if digits[:2].lower() == "0x" else 8 if digits[0] == "0" else 10)
    except ValueError:  # 8 and 9 of what begins with 0
        return -1
    return -value if text.startswith("-") else value


def _members(text: str) -> frozenset[tuple[int, int]]:
    """The spans of a list like 1,3-5, those that touch as one."""
    spans: list[tuple[int, int]] = []
    for part in sorted(
        filter(None, map(_SPAN.fullmatch, text.split(",") if text else ())), key=lambda one: int(one[1])
    ):
        first, last = int(part[1]), int(part[2] or part[1])
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        else:
            spans.append((first, last))
    return frozenset(spans)


def _keys(text: str) -> list[list[int]]:
    return [[int(part, 16) for part in key.split("-")] for key in text.split(",")]


_FORMS: Mapping[str, Callable[[str], object]] = {
    "ip_local_reserved_ports": _members,
    "ratemask": _members,
    "tcp_allowed_congestion_control": lambda text: frozenset(text.split()),
    "stable_secret": ip_bytes,
    "tcp_fastopen_key": _keys,
}
"""What lists and addresses mean, whichever way they are written."""


def is_secret(path: Value) -> bool:
    """Whether what is set there is for nobody's eyes but root's."""
    return str(path).rpartition("/")[2] in _SECRETS


def begins(said: str, told: str) -> bool:
    """Whether some of several numbers are ``said``, and the first that are ``told``: the kernel keeps the others."""
    few, all_ = said.split(), told.split()
    return 0 < len(few) < len(all_) and all_[: len(few)] == few and all(part.lstrip("-").isdecimal() for part in all_)
