# SPDX-License-Identifier: GPL-2.0-or-later
"""(rule, way) -> whether the rule is about the packets of the way, and leads them to the route in use."""

from netgroupd.engine.guard.way import Way
from netgroupd.model.rule import split_mark, split_span
from netgroupd.model.state import Attrs, Object

_ROOT = 0
# What is sent in a VRF is bound to it, which the kernel takes for no "oif" of a rule.
_OF_OTHERS = frozenset({"tun_id", "tos", "dscp", "oif"})


def leads_to_table(rule: Object, way: Way) -> bool:
    """Whether a rule has the packets find the route in use."""
    attrs = rule.attrs
    hidden = attrs.get("suppress_prefixlength")
    if attrs.get("action", "lookup") != "lookup":
        return False
    leads = bool(attrs.get("l3mdev")) or attrs.get("lookup") == way.route.table  # in a VRF: others pass by the former
    finds = leads and not (isinstance(hidden, int) and way.route.length <= hidden)
    return finds and rule.key[0] == way.family and selects(attrs, way)


def selects(attrs: Attrs, way: Way) -> bool:
    """Whether a rule is about packets of ``way``, all that it does not match if it says ``not``."""
    fits = not _is_of_others(attrs, way) and all(
        not attrs.get(name) or (bool(address) and is_in(attrs[name]))
        for name, address, is_in in (("from", way.route.source, way.is_from), ("to", way.to, way.is_in))
    )
    return fits != bool(attrs.get("not"))


def _is_of_others(attrs: Attrs, way: Way) -> bool:
    """Whether a rule wants of packets what those of ``way``, which are sent from here, have not for all one knows."""
    if any(map(attrs.get, _OF_OTHERS)) or attrs.get("iif") not in (None, way.came_by or "lo"):
        return True
    users, mark = attrs.get("uidrange"), attrs.get("fwmark")
    if (users and not _spans(str(users), _ROOT)) or (mark and not _has_mark(str(mark), way)):
        return True
    if attrs.get("l3mdev") and not way.vrf:
        return True
    if not (way.session.peer or way.anywhere):
        return False  # a tunnel's own packets may be of any protocol
    if attrs.get("ipproto") and not (attrs["ipproto"] == "tcp" and way.session.peer):
        return True
    ports = ((attrs.get("sport"), way.session.local_port), (attrs.get("dport"), way.session.peer_port))
    return any(said and not _spans(str(said), port) for said, port in ports)


def _has_mark(said: str, way: Way) -> bool:
    wanted, mask = split_mark(said)
    return way.mark & mask == wanted


def _spans(text: str, port: int) -> bool:
    first, last = split_span(text)
    return first <= port <= last
