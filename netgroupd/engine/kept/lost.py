# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes with the links that a plan deletes, and what one that comes up sets for all: for putting it back.

No file need speak of it any more.
"""

from collections.abc import Callable

from netgroupd.engine.observe import Connection, Mine, read
from netgroupd.engine.spoken import key_files_of, keys_of, spoken_of
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.kinds.wireguard import ANOTHER_KEY
from netgroupd.model.state import State
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.serialise import singles
from netgroupd.plan.settings import BY_WIREGUARD
from netgroupd.plan.step import Op, Plan

_APPLIED = frozenset({"sysctl", "ethtool"})
_KEYED = ("private_key_file", "peers")


def add_lost(kernel: Connection, plan: Plan, actual: State, applied: Callable[[], State], mine: Mine) -> None:
    """Add to ``actual`` what is now of all that was ``applied`` to links that go, and the functions of cards."""
    deleted, settings, tunnels = set[str](), set[str](), set[str]()
    for step in singles(plan.steps):
        link = step.after or step.before
        if link is None or link.cls != "link":
            continue
        if step.before and kind_of(step.before) == "wireguard" and ANOTHER_KEY in keys_of(step.before):
            tunnels.add(link.name)
        if step.op is Op.DELETE:
            deleted.add(link.name)
        elif link.attrs.get("kind") == "wireguard" and step.attrs.get("up"):
            settings.add(BY_WIREGUARD)
    said = applied() if tunnels or (deleted and not _APPLIED.isdisjoint(mine.classes)) else State()
    _add_keys(kernel, tunnels, actual, said, mine)
    settings.update(str(one.key[0]) for one in said.of("sysctl").values() if deleted.intersection(hangs_on(one)))
    if settings:
        found = kernel.dump(Selection(frozenset({"sysctl"}), settings=frozenset(settings)))
        actual.classes["sysctl"] = {**actual.of("sysctl"), **found.of("sysctl")}
    parts = {key: frozenset(obj.attrs) for key, obj in said.of("ethtool").items() if key[0] in deleted}
    cards = frozenset(name for name in deleted if _is_card(actual, name))
    if parts or cards:
        classes = frozenset({"ethtool"} if parts else ()) | (frozenset({"sriov", "vf"}) if cards else frozenset())
        _add(actual, read(kernel, Selection(classes, ethtool=parts, cards=cards), mine.away))


def _add_keys(kernel: Connection, tunnels: set[str], actual: State, said: State, mine: Mine) -> None:
    """Tell which files hold the keys of ``tunnels`` now: those that are wanted may name others, or none."""
    known = {name: link for name in tunnels if (link := actual.link(name))}
    before = spoken_of(said).key_files
    files = {name: (*before.get(name, ()), *key_files_of(link)) for name, link in known.items()}
    if not files:
        return
    for found in read(kernel, Selection(links=frozenset(files), key_files=files), mine.away).of("link").values():
        keys = {name: found.attrs[name] for name in _KEYED if name in found.attrs}
        actual.add(found._replace(attrs={**known[found.name].attrs, **keys}))


def _is_card(actual: State, name: str) -> bool:
    link = actual.link(name)
    return link is not None and kind_of(link) == "netdevsim"


def _add(actual: State, found: State) -> None:
    for obj in found:
        known = actual.of(obj.cls).get(obj.key)
        actual.add(obj.having(known.attrs) if known else obj)
