# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bond cannot have in its mode, or beside what else it has: the kernel refuses all of it then."""

from collections.abc import Iterator
from itertools import chain

from netgroupd.config.checked import Checked
from netgroupd.model.kinds.bond import LOOK_BY_THEMSELVES, MODES_OF, WITH_CARRIERS
from netgroupd.model.state import Attrs

_BY_DEFAULT = "balance-rr"


def options(checked: Checked) -> None:
    """No bond has an option that the kernel does not take of it."""
    links = checked.links
    for name, attrs in checked.of_kinds(["bond"]):
        # What somebody else has made may be of any mode.
        mode = str(attrs.get("mode") or ("" if name in links.known else _BY_DEFAULT))
        if mode:
            for row, why, hint in chain(_not_for(mode, attrs), _at_odds(mode, attrs)):
                checked.report.once(links.place(name, row), f"the bond {name!r} cannot have {row!r}: {why}", hint)


def _not_for(mode: str, attrs: Attrs) -> Iterator[tuple[str, str, str]]:
    for row, modes in MODES_OF.items():
        if attrs.get(row) is not None and mode not in modes:
            yield row, f"its mode is {mode}", f"the kernel takes it for {', '.join(modes)}"


def _at_odds(mode: str, attrs: Attrs) -> Iterator[tuple[str, str, str]]:
    """What does not go with looking at carriers, and what does not go without."""
    if attrs.get("miimon", 100 if mode in LOOK_BY_THEMSELVES else 0):
        for row in ("arp_interval", "arp_validate"):
            if mode in MODES_OF[row] and attrs.get(row) not in (None, 0, "none"):
                yield row, "it has 'miimon'", "it watches its ports by one of the two"
        return
    for row in WITH_CARRIERS:
        if attrs.get(row) is not None:
            yield row, "it does not look at carriers", "set miimon, the milliseconds between two looks"
