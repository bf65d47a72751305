# SPDX-License-Identifier: GPL-2.0-or-later
"""Handles and where things hang: 1:, 1:10, root, and the hooks ingress and egress.

Numbers are hexadecimal, as ``tc`` writes them.
"""

import re

from netgroupd.model.value import Type, Value

ROOT, CLSACT = 0xFFFFFFFF, 0xFFFFFFF1
HOOKS = {"ingress": 0xFFFFFFF2, "egress": 0xFFFFFFF3}
_WORDS = {"root": ROOT, "clsact": CLSACT, **HOOKS}
_NAMES = {number: name for name, number in _WORDS.items()}
_HANDLE = re.compile(r"([0-9a-fA-F]{1,4}):([0-9a-fA-F]{0,4})")


def handle_number(text: str) -> int:
    """1:10 as the kernel holds it; a word for the roots and hooks."""
    if text in _WORDS:
        return _WORDS[text]
    major, _, minor = text.partition(":")
    return int(major or "0", 16) << 16 | int(minor or "0", 16)


def handle_text(number: int) -> str:
    """A handle as ``tc`` prints it."""
    if number in _NAMES:
        return _NAMES[number]
    minor = number & 0xFFFF
    return f"{number >> 16:x}:" + (f"{minor:x}" if minor else "")


def numbered_by(parent: str) -> str:
    """The qdisc that numbers the hash tables of u32 below ``parent``: that of both hooks is one."""
    return "clsact" if parent in HOOKS else parent.partition(":")[0]


def _handle(*words: str) -> Type:
    expected = "a handle like 1: or 1:10" + (f", or {' or '.join(words)}" if words else "")

    def parse(raw: object) -> Value:
        text = str(raw)
        if text in words:
            return text
        if not _HANDLE.fullmatch(text):
            raise ValueError(f"expected {expected}")
        return handle_text(handle_number(text))

    return Type(
        expected,
        parse,
        {"type": "string"},
        lambda value: handle_number(str(value)).to_bytes(4, "little"),
        lambda payload: handle_text(int.from_bytes(payload[:4], "little")),
    )


def _parse_own(raw: object) -> Value:
    got = str(HANDLE.parse(raw))
    if got.startswith("0:") or not got.endswith(":"):
        raise ValueError(f"expected {_OWN_EXPECTED}")
    return got


_OWN_EXPECTED = "a handle of a qdisc, from 1: to ffff:"
HANDLE = _handle()
OWN_HANDLE = HANDLE._replace(expected=_OWN_EXPECTED, parse=_parse_own)
PARENT = _handle("root", "clsact", "ingress", "egress")
