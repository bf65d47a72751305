# SPDX-License-Identifier: GPL-2.0-or-later
"""One link, or one VRF with what is in it, read by itself: who asks for that need not wait for a look at all others."""

from collections.abc import Callable, Mapping

from netgroupd.engine.observe import Connection, Mine
from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import State
from netgroupd.plan.compare import kind_of

_IN_VRFS = frozenset({"address", "route", "neighbour"})


def _link(kernel: Connection, name: str, mine: Mine, applied: State) -> State | None:
    """The link called ``name``; None where it is not known to be netgroupd's from what was ``applied``."""
    if any(name == away for _, away in mine.away):
        return None
    return _known(kernel, Selection(links=frozenset({name})), mine, applied) or None


def _vrf(kernel: Connection, name: str, mine: Mine, applied: State) -> State | None:
    """The same of a VRF, with its ports and what is on them or in its table."""
    found = _link(kernel, name, mine, applied)
    vrf = found.link(name) if found else None
    if not found or not vrf or kind_of(vrf) != "vrf":
        return None
    for port in _known(kernel, Selection(masters=frozenset({name})), mine, applied):
        found.add(port)
    inside, table = frozenset(link.name for link in found), vrf.attrs.get("table")
    assert isinstance(table, int)
    asked = Selection(_IN_VRFS, tables=frozenset({table}), places=inside if len(inside) <= FEW else frozenset())
    found.classes.update(kernel.dump(asked).classes)
    return found


def _known(kernel: Connection, selection: Selection, mine: Mine, applied: State) -> State:
    """The selected links that are netgroupd's, or that it was asked for."""
    links = kernel.dump(selection).of("link").items()
    known = (link for key, link in links if mine.covers(link.attrs.get("group")) or key in applied.of("link"))
    return State(known, applied.groups)


ALONE: Mapping[str, Callable[[Connection, str, Mine, State], State | None]] = {"link": _link, "vrf": _vrf}
"""How each of what can be read by itself is, of one name."""
