# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan may have the kernel forget of VLANs and their trees, and no file speaks of: for putting it back."""

from collections.abc import Iterator, Set

from netgroupd.engine.observe import Connection, read
from netgroupd.kernel.netlink.request import Away, Selection
from netgroupd.model.address import LEAST_MTU
from netgroupd.model.state import Object, State
from netgroupd.model.token import NONE
from netgroupd.model.vlan_global import USUAL
from netgroupd.plan.compare import kind_of, same
from netgroupd.plan.mst import Disturbed
from netgroupd.plan.serialise import singles, touching
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.vlan_global import bridge_of


def add_lost_options(kernel: Connection, plan: Plan, actual: State, away: Away) -> None:
    """Add to ``actual`` what somebody has given to VLANs of bridges that they or their ports leave by ``plan``."""
    steps = touching(plan.steps, actual.of("link"))
    bridges = frozenset(name for step in steps for name in _left(step, actual) if name)
    theirs = {obj[:2] for obj in plan.others}  # on VLANs that come back later
    if ports := _in_trees(bridges, plan, actual):
        states = read(kernel, Selection(frozenset({"mst"}), links=ports), away).of("mst")
        given = {key: obj for key, obj in states.items() if obj[:2] not in theirs}
        actual.classes["mst"] = {**given, **actual.of("mst")}
    if names := frozenset(step.object.name for step in steps if _renews_ipv6(step)):
        tokens = read(kernel, Selection(frozenset({"token"}), tokens=names), away).of("token")
        some = {key: obj for key, obj in tokens.items() if obj.attrs["token"] != NONE}
        actual.classes["token"] = {**some, **actual.of("token")}
    if not bridges:
        return
    _add_told_apart(kernel, frozenset(step.object.name for step in steps if any(_left(step, actual))), actual, away)
    found = read(kernel, Selection(frozenset({"vlan_global"}), bridges=bridges), away)
    told = found.of("vlan_global").items()
    given = {key: obj for key, obj in told if obj[:2] not in theirs and not _is_new(obj)}
    actual.classes["vlan_global"] = {**given, **actual.of("vlan_global")}


def _add_told_apart(kernel: Connection, names: Set[str], actual: State, away: Away) -> None:
    """Add what the VLANs of links, or of their ports, have that the kernel does not tell of a range of them."""
    known = actual.of("bridge_vlan")
    links = actual.of("link").values()
    ports = frozenset(link.name for link in links if not names.isdisjoint((link.name, link.attrs.get("master"))))
    vlans = read(kernel, Selection(frozenset({"bridge_vlan"}), links=ports, vlans_apart=True), away)
    found = vlans.of("bridge_vlan")
    actual.classes["bridge_vlan"] = {key: found.get(key, vlan) for key, vlan in known.items()}


def _renews_ipv6(step: Step) -> bool:
    """Whether a link that is there has the IPv6 of a new one when a step has been done, or undone."""
    mtu = step.attrs.get("mtu")
    small = isinstance(mtu, int) and mtu < LEAST_MTU["inet6"]
    of_link = step.object.cls == "link" and step.before is not None
    return of_link and (step.op is Op.DELETE or small or "netns" in step.attrs)


def _in_trees(bridges: Set[str], plan: Plan, actual: State) -> frozenset[str]:
    """The ports that may have other states in spanning trees: of ``bridges``, or because of their VLANs."""
    links = actual.of("link").values()
    keeping = {link.name for link in links if link.attrs.get("mst_enabled")}
    if not keeping:
        return frozenset()
    disturbed = Disturbed(singles(plan.steps), actual)
    ports = (link for link in links if link.attrs.get("master") in keeping)
    return frozenset(port.name for port in ports if port.name in disturbed or port.attrs["master"] in bridges)


def _left(step: Step, actual: State) -> Iterator[str]:
    """The bridges of which a step may end a VLAN."""
    obj = step.before
    if obj is None:
        return
    if obj.cls == "bridge_vlan" and step.op is Op.DELETE:
        yield bridge_of(obj, actual)
    if obj.cls == "link" and (step.op is Op.DELETE or "master" in step.attrs):
        bridge = obj if kind_of(obj) == "bridge" else actual.link(str(obj.attrs.get("master")))
        yield bridge.name if bridge and kind_of(bridge) == "bridge" else ""
    if "vlan_default_pvid" in step.attrs:
        yield obj.name


def _is_new(obj: Object) -> bool:
    """Whether a VLAN has what any new one has."""
    return all(same(name, USUAL.get(name), value) for name, value in obj.attrs.items())
