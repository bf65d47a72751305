# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers are told: options of ifupdown2 and of Debian's ethtool, and ethtool's own command line."""

from collections.abc import Callable, Mapping, Sequence

from netgroupd.config.importer.draft import Draft, Place
from netgroupd.config.importer.shell import NONE
from netgroupd.config.importer.stanzas import Option
from netgroupd.config.importer.words import number
from netgroupd.model.attr import Attr
from netgroupd.model.ethtool import FEATURES, FLAGS, NAMED, SHORT, WORDS, row_of

_LINK_MODES = "link_modes"
_OFFLOAD = "-offload"
_OPTIONS: Mapping[str, tuple[str, str]] = {
    "link-speed": (_LINK_MODES, "speed"),
    "link-duplex": (_LINK_MODES, "duplex"),
    "link-autoneg": (_LINK_MODES, "autoneg"),
    "ethernet-autoneg": (_LINK_MODES, "autoneg"),
    "link-fec": ("fec", ""),
    "ethernet-wol": ("wol", ""),
    **{f"{word}{_OFFLOAD}": (FEATURES, word) for word in ("gro", "lro", "gso", "tso", "ufo", "tx", "rx")},
}
_BEGINNINGS: Mapping[str, str] = {
    "ethernet-pause-": "pause",
    "hardware-irq-coalesce-": "coalesce",
    "hardware-dma-ring-": "rings",
    "offload-": FEATURES,
}
"""Of Debian's options: what is behind them is as ethtool has it."""

_VERBS: Mapping[str, str] = {
    **dict.fromkeys(("-K", "--features", "--offload"), FEATURES),
    **dict.fromkeys(("-G", "--set-ring"), "rings"),
    **dict.fromkeys(("-L", "--set-channels"), "channels"),
    **dict.fromkeys(("-C", "--coalesce"), "coalesce"),
    **dict.fromkeys(("-A", "--pause"), "pause"),
    **dict.fromkeys(("-s", "--change"), _LINK_MODES),
    "--set-fec": "fec",
    "--set-priv-flags": FLAGS,
}
_WAKES = {
    "p": "phy",
    "u": "ucast",
    "m": "mcast",
    "b": "bcast",
    "a": "arp",
    "g": "magic",
    "s": "magicsecure",
    "f": "filter",
}
_SHORTEST = {SHORT[word]: word for word in WORDS}


def _woken(letters: str) -> dict[str, object]:
    if letters == "d":
        return {"modes": []}
    return {"modes": [_WAKES[letter] for letter in letters if letter in _WAKES]}


def _corrected(mode: str) -> dict[str, object]:
    return {"auto": True} if mode == "auto" else {"modes": [mode], "auto": False}


_WHOLE: Mapping[str, Callable[[str], dict[str, object]]] = {"fec": _corrected, "wol": _woken}


class Drivers:
    """Puts what is said of a driver under its link."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def take(self, name: str, option: Option) -> bool:
        """Take an option over; say whether it is one of these.

        Raises:
            ValueError: It has no such value.
        """
        part, key = _OPTIONS.get(option.name, ("", ""))
        for beginning, of in _BEGINNINGS.items():
            if option.name.startswith(beginning):
                part, key = of, option.name.removeprefix(beginning)
        if not part or (part not in _WHOLE and not _is_known(part, key)):
            return False
        value = option.value.lower()
        for each, what in _WHOLE[part](value).items() if part in _WHOLE else ((key, value),):
            self._put(option.place, name, part, each, what)
        return True

    def run(self, _name: str, words: Sequence[str], place: Place) -> None:
        """Take over what a command line of ethtool sets.

        Raises:
            ValueError: It sets nothing, or something else.
        """
        verb, link, *rest = [*words[1:], "", ""][: max(2, len(words) - 1)]
        part = _VERBS.get(verb, "")
        if not part or not rest or len(rest) % 2:
            raise ValueError(NONE)
        found = [one for key, value in zip(rest[::2], rest[1::2], strict=True) for one in _said(part, key, value)]
        for of, key, _ in found:
            _row(of, key)
        for of, key, value in found:
            self._put(place, link, of, key, value)

    def _put(self, place: Place, link: str, part: str, key: str, value: object) -> None:
        row = _row(part, key)
        parsed = row.type.parse(number(value) if isinstance(value, str) else value)
        name = _SHORTEST.get(row.name, row.name)
        self._draft.mention(place, link, "ethtool")
        parts = self._draft.link(link).setdefault("ethtool", {}).setdefault(part, {})
        told = list(parsed) if isinstance(parsed, tuple) else parsed
        if parts.setdefault(name, told) != told:
            self._draft.remark(
                place, f"{part} {name} is {_text(parts[name])} already", f"{_text(told)} is left out", link
            )


def _said(part: str, key: str, value: str) -> list[tuple[str, str, object]]:
    """What a word and its value on the command line are, part by part."""
    of = {"encoding": "fec", "wol": "wol"}.get(key, "")
    if of and part in (of, _LINK_MODES):
        return [(of, name, what) for name, what in _WHOLE[of](value.lower()).items()]
    return [(part, key, value)]


def _is_known(part: str, key: str) -> bool:
    return row_of(part, _named(part, key)) is not None


def _named(part: str, key: str) -> str:
    return key if part in NAMED else key.replace("-", "_")


def _row(part: str, key: str) -> Attr:
    found = row_of(part, _named(part, key))
    if found is None:
        raise ValueError(f"no equivalent of {key}")
    return found


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return (", ".join(map(str, value)) or "nothing") if isinstance(value, list) else str(value)
