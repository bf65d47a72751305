# SPDX-License-Identifier: GPL-2.0-or-later
"""A line that sh(1) would run -> the words of its commands, where they do not depend on anything."""

import re
import shlex
from collections.abc import Sequence

NONE = "no equivalent of this command"

# What makes no difference to what a command does to the network.
_ASIDE = re.compile(r"\s*\|\|\s*(?:true|:|exit 0)\s*$|\s*[2&]?>\s*/dev/null(?:\s+2>&1)?\s*$|\s*;\s*$|\s+#[^'\"]*$")
_OPERATORS = ";&|<>()"


def commands(line: str, link: str) -> list[list[str]]:
    """Take a line apart; the variable IFACE is the link.

    Raises:
        ValueError: Only a shell knows what it would do.
    """
    while (shorter := _ASIDE.sub("", line)) != line:
        line = shorter
    line = re.sub(r"\$IFACE\b|\$\{IFACE\}", lambda _: link, line)
    if unknown := re.search(r"\$\{?\w*|`", line):
        raise ValueError(f"only a shell knows what {unknown[0]} is")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    try:
        words = list(lexer)
    except ValueError:
        raise ValueError("no end of what is quoted") from None
    for word in words:
        if word == ";":
            found.append([])
        elif word.strip(_OPERATORS) or word in (">", ">>"):
            found[-1].append(word)
        else:
            raise ValueError(f"only a shell knows what comes of {word}")
    return [words for words in found if words]


def echoed(words: Sequence[str]) -> tuple[str, str]:
    """Give the file that an ``echo`` writes, and what it writes.

    Raises:
        ValueError: It writes none.
    """
    *values, arrow, path = ["", "", *(word for word in words if word != "-n")]
    if arrow not in (">", ">>"):
        raise ValueError(NONE)
    return path, " ".join(values).strip()
