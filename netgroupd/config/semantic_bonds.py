# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bond cannot have in its mode, or beside what else it has: the kernel refuses all of it then."""

from collections.abc import Iterator
from itertools import chain

from netgroupd.config.checked import Checked
from netgroupd.model.state import Attrs

_BY_DEFAULT = "balance-rr"
_LACP = ("802.3ad",)
_LEARNING = ("balance-tlb", "balance-alb")
_ONE_IN_USE = ("active-backup", *_LEARNING)
_ASKING = ("balance-rr", "active-backup", "balance-xor", "broadcast")
_MODES = {
    "active_slave": _ONE_IN_USE,
    "primary": _ONE_IN_USE,
    "packets_per_slave": ("balance-rr",),
    "tlb_dynamic_lb": _LEARNING,
    "arp_interval": _ASKING,
    "arp_validate": _ASKING,
    "arp_missed_max": _ASKING,
    **dict.fromkeys(
        ("lacp_rate", "lacp_active", "ad_actor_sys_prio", "ad_actor_system", "ad_user_port_key", "coupled_control"),
        _LACP,
    ),
}
"""The modes that an option is for, where it is not for all."""

_WITH_CARRIERS = ("updelay", "downdelay", "peer_notify_delay")
_LOOK_BY_THEMSELVES = frozenset((*_LACP, *_LEARNING))  # at carriers, every 100 ms


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
    for row, modes in _MODES.items():
        if attrs.get(row) is not None and mode not in modes:
            yield row, f"its mode is {mode}", f"the kernel takes it for {', '.join(modes)}"


def _at_odds(mode: str, attrs: Attrs) -> Iterator[tuple[str, str, str]]:
    """What does not go with looking at carriers, and what does not go without."""
    if attrs.get("miimon", 100 if mode in _LOOK_BY_THEMSELVES else 0):
        for row in ("arp_interval", "arp_validate"):
            if mode in _ASKING and attrs.get(row) not in (None, 0, "none"):
                yield row, "it has 'miimon'", "it watches its ports by one of the two"
        return
    for row in _WITH_CARRIERS:
        if attrs.get(row) is not None:
            yield row, "it does not look at carriers", "set miimon, the milliseconds between two looks"
