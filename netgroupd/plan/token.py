# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens and the settings of their links: the kernel takes one, and takes one away, while a link listens to routers."""

from collections.abc import Iterable, Set

from netgroupd.model.token import NONE
from netgroupd.plan.fate import setting_of_ipv6
from netgroupd.plan.step import Step

_ALL = "all"
_LISTENING = ("accept_ra", "router_solicitations")


def deafened(steps: Iterable[Step]) -> Set[str]:
    """The links that settings keep from listening to routers, or "all"."""
    said: dict[tuple[str, str], str] = {}
    for step in steps:
        if step.object.cls == "sysctl" and (setting := setting_of_ipv6(step.object))[0] and step.after:
            said[setting] = str(step.after.attrs.get("value"))
    found = {name for (name, setting), value in said.items() if setting in _LISTENING and value == "0"}
    forwarding = {name for (name, setting), value in said.items() if setting == "forwarding" and value != "0"}
    return found | {name for name in forwarding if said.get((name, "accept_ra")) != "2"}


def needed(steps: list[Step]) -> list[Step]:
    """``steps`` but for those that take a token away of a link that has none by then: not every link takes that."""
    return [step for step in steps if step.attrs.get("token") != NONE or (step.before and not step.why)]


def is_early(step: Step, deaf: Set[str]) -> bool:
    """Whether a token is told before the settings of its link: it goes, or the link will not take one behind them."""
    there = step.before is not None and not step.why
    return there and (step.attrs.get("token") == NONE or not deaf.isdisjoint((step.object.name, _ALL)))
