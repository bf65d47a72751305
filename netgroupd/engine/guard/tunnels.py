# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a tunnel sends the packets of a way, and what a step changes of that.

The other end cannot be changed at the same moment, so what both must agree on does cut
the way; what only says how the packets travel (TTL, ports to send from) need not.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from netgroupd.engine.guard.way import contains
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.kinds.wireguard import whole
from netgroupd.model.state import Attrs, Object, integer
from netgroupd.model.value import Value, ip_bytes, is_multicast, split_prefix
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Step

Peer = Mapping[str, Value]
WayTo: TypeAlias = Callable[[str, str, str, int], Route | None]
"""What is followed by a packet to an address, from one, bound to a link, with a mark."""

_KEYS = frozenset({"ikey", "okey", "if_id"})
# A receiver drops what has no checksum where it wants one, and the other way round.
_FORM = frozenset({"encap", "icsum", "ocsum"})
_ASSOCIATION = frozenset({"encodingsa"})  # of MACsec, whose keys nothing tells of, here or there
_OUTER = {"vxlan": "udp", "geneve": "udp", "wireguard": "udp", "gre": "gre", "gretap": "gre", "erspan": "gre"}
_ENDS = ("remote", "local", "dev")
_LEAVING = frozenset({"local", "dev", "fwmark", "ttl"})
# VXLAN takes packets to any address of the host, and what VTI sends goes by the route that IPsec finds.
_NOT_ASKED = (("local", "vxlan"), ("dev", "vti"))


class FarEnd(NamedTuple):
    """The address that a tunnel's own packets go to, from which one, bound to which link, and their mark."""

    address: str
    source: str = ""
    dev: str = ""
    mark: int = 0


def far_end(link: Object, to: str) -> FarEnd | None:
    """Where a tunnel sends what goes ``to`` somewhere; None where nothing tells, or it is several places."""
    attrs, mark = link.attrs, integer(link.attrs, "fwmark")
    if kind_of(link) == "wireguard":
        peer = _holder(attrs.get("peers"), to)
        host = str(peer.get("endpoint") or "").rpartition(":")[0] if peer else ""
        return FarEnd(host.removeprefix("[").removesuffix("]"), mark=mark) if host else None
    remote = str(attrs.get("remote") or "")
    if not remote or is_multicast(ip_bytes(remote)):
        return None
    return FarEnd(remote, str(attrs.get("local") or ""), str(attrs.get("dev") or ""), mark)


def outer_protocol(link: Object) -> str:
    """What a tunnel's own packets are to IP, "" where that is nothing that has a name."""
    around = link.attrs.get("encap", "none")
    return _OUTER.get(kind_of(link), "") if around == "none" else "udp"


def misses_far_end(step: Step, to: str, way_to: WayTo) -> bool:
    """Whether what goes ``to`` somewhere would not get through the tunnel any more after a change of it.

    ``way_to`` tells what the tunnel's own packets would follow.
    """
    assert step.before
    said, had = step.attrs, step.before.attrs
    if kind_of(step.before) == "wireguard":
        return _misses_peer(said, had, to) or _leaves_elsewhere(step, to, way_to)
    if said.keys() & (_KEYS | _FORM | _ASSOCIATION) or said.get("iseq"):  # without numbers nothing is taken then
        return True
    if "encap_dport" in said and had.get("encap", "none") != "none":
        return True
    other = any(name in said and _is_another_end(name, step) for name in _ENDS)
    return other or _leaves_elsewhere(step, to, way_to)


def _is_another_end(name: str, step: Step) -> bool:
    assert step.before
    said, had = step.attrs[name], step.before.attrs.get(name)
    if (name, kind_of(step.before)) in _NOT_ASKED:
        return False
    # Without a remote it sends nowhere; without the others it may still be what the route chooses.  A VXLAN
    # that learns goes on sending to the other end of before what that has sent from, until it forgets it.
    return bool(had) and (bool(said) or name == "remote")


def _leaves_elsewhere(step: Step, to: str, way_to: WayTo) -> bool:
    """Whether a tunnel's own packets leave by another link then, from another address, or end at the first router."""
    before = step.before
    if before is None or _LEAVING.isdisjoint(step.attrs):
        return False
    now, then = (far_end(link, to) for link in (before, before.having({**before.attrs, **step.attrs})))
    if now is None or then is None or not (used := way_to(*now)):
        return False
    if used.gateway not in ("", now.address) and step.attrs.get("ttl") == 1:
        return True
    kind = kind_of(before)
    moved = ("local", kind) not in _NOT_ASKED and then.source not in ("", now.source, used.source)
    found = way_to(*(then._replace(dev=now.dev) if ("dev", kind) in _NOT_ASKED else then))
    return moved or found is None or found.link != used.link


def _misses_peer(said: Attrs, had: Attrs, to: str) -> bool:
    if "private_key_file" in said and had.get("private_key_file") is not None:
        return True  # the other end knows this one by its key
    before = _holder(had.get("peers"), to)
    if before is None:
        return False
    after = _holder(said.get("peers", had.get("peers")), to)
    # The other end sends to the port of before until something comes from this one.
    if "listen_port" in said and not (after and after.get("persistent_keepalive")):
        return True
    if after is None or after["public_key"] != before["public_key"]:
        return True
    ends = before.get("endpoint"), after.get("endpoint")
    shared = whole(before)["preshared_key_file"], whole(after)["preshared_key_file"]
    return shared[0] != shared[1] or (None not in ends and ends[0] != ends[1])


def _holder(peers: Value, to: str) -> Peer | None:
    """The peer that WireGuard sends what goes ``to`` somewhere to: the one with the longest prefix that holds it."""
    best, longest = None, -1
    for peer in peers if to and isinstance(peers, tuple) else ():
        assert isinstance(peer, Mapping)
        allowed = peer.get("allowed_ips")
        for prefix in allowed if isinstance(allowed, tuple) else ():
            length = split_prefix(str(prefix))[1]
            if length > longest and contains(prefix, to):
                best, longest = peer, length
    return best
