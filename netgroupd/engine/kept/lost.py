# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan may have the kernel forget, and no file need speak of any more: read for putting it back.

It is what was applied to links that go, the functions of cards, tokens, the options of VLANs and the states of their
trees, and what a WireGuard link that comes up sets for all.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Set

from netgroupd.engine.kept.taken_along import may_take, taken_along
from netgroupd.engine.observe import Connection, Mine, read
from netgroupd.engine.spoken import key_files_of, keys_of, spoken_of
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.address import LEAST_MTU
from netgroupd.model.bridge_vlan import bridge_of
from netgroupd.model.kinds.wireguard import ANOTHER_KEY
from netgroupd.model.state import Attrs, State
from netgroupd.model.token import NONE
from netgroupd.model.vlan_global import USUAL
from netgroupd.plan.compare import kind_of, same
from netgroupd.plan.default_vlan import DEFAULT
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.mst import Disturbed
from netgroupd.plan.serialise import singles
from netgroupd.plan.settings import BY_WIREGUARD
from netgroupd.plan.step import Op, Plan, Step

_APPLIED = frozenset({"sysctl", "ethtool"})
_KEYED = ("private_key_file", "peers")
_BRIDGES = ("bridge", "")  # one of others need not be known
_LEAVING = frozenset({"master", DEFAULT})
_USUAL: Mapping[str, Attrs] = {"vlan_global": USUAL, "token": {"token": NONE}}


def add_lost(kernel: Connection, plan: Plan, actual: State, applied: Callable[[], State], mine: Mine) -> None:
    """Add it to ``actual``, as it is now; what was ``applied`` is looked for only where something goes."""
    steps = singles(plan.steps)
    known = [step for step in steps if step.before]
    links = [step for step in known if step.object.cls == "link"]
    deleted = {step.object.name for step in links if step.op is Op.DELETE}
    tunnels = [link for step in links if (link := step.before) and ANOTHER_KEY in keys_of(link)]
    said = applied() if tunnels or (deleted and not _APPLIED.isdisjoint(mine.classes)) else State()
    _add_keys(kernel, {link.name for link in tunnels}, actual, said, mine)
    settings = {str(one.key[0]) for one in said.of("sysctl").values() if deleted.intersection(hangs_on(one))}
    if "wireguard" in (step.after.attrs.get("kind") for step in steps if step.after and step.attrs.get("up")):
        settings.add(BY_WIREGUARD)
    parts = {key: frozenset(obj.attrs) for key, obj in said.of("ethtool").items() if key[0] in deleted}
    cards = frozenset(name for name in deleted if kind_of(actual.link(name)) == "netdevsim")
    tokens = frozenset(step.object.name for step in links if _renews_ipv6(step))
    leaving = filter(None, map(actual.link, {step.object.name for step in known if _leaves_vlans(step)}))
    left = {link.name: bridge for link in leaving if kind_of(actual.link(bridge := bridge_of(link))) in _BRIDGES}
    bridges = frozenset(left.values()) - {""}
    around = ((link.name, link.attrs.get("master")) for link in actual.of("link").values() if left)
    members = {name for name, master in around if name in left or master in left}
    if links and actual.of("bridge_vlan"):
        along = taken_along([step for step in steps if may_take(step, actual)], actual)
        members.update(str(key[0]) for cls, key in along if cls == "bridge_vlan")
    ports = _in_trees(bridges, steps, actual)
    asked: dict[str, Collection[object]] = {"sysctl": settings, "ethtool": parts, "sriov": cards, "vf": cards}
    asked |= {"token": tokens, "bridge_vlan": members, "vlan_global": bridges, "mst": ports}
    selection = Selection(
        frozenset(cls for cls, names in asked.items() if names),
        links=ports.union(members),
        bridges=bridges,
        cards=cards,
        tokens=tokens,
        settings=frozenset(settings),
        ethtool=parts,
        vlans_apart=True,
    )
    if selection.classes:
        _add(actual, read(kernel, selection, mine.away), plan)


def _add(actual: State, found: State, plan: Plan) -> None:
    """Add what is ``found``, but for what is on VLANs that come back later; of VLANs it is what ranges do not tell."""
    theirs = {obj[:2] for obj in plan.others}
    for obj in found:
        if known := actual.of(obj.cls).get(obj.key):
            actual.add(known.having(obj.attrs))
            continue
        usual = _USUAL.get(obj.cls)
        told = usual is None or not all(same(name, usual.get(name), value) for name, value in obj.attrs.items())
        if told and obj.cls != "bridge_vlan" and obj[:2] not in theirs:
            actual.add(obj)


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


def _renews_ipv6(step: Step) -> bool:
    """Whether a link that is there has the IPv6 of a new one when a step has been done, or undone."""
    mtu = step.attrs.get("mtu")
    small = isinstance(mtu, int) and mtu < LEAST_MTU["inet6"]
    return step.op is Op.DELETE or small or "netns" in step.attrs


def _in_trees(bridges: Set[str], steps: Iterable[Step], actual: State) -> frozenset[str]:
    """The ports that may have other states in spanning trees: of ``bridges``, or because of their VLANs."""
    links = actual.of("link").values()
    keeping = {link.name for link in links if link.attrs.get("mst_enabled")}
    if not keeping:
        return frozenset()
    disturbed = Disturbed(steps, actual)
    ports = (link for link in links if link.attrs.get("master") in keeping)
    return frozenset(port.name for port in ports if port.name in disturbed or port.attrs["master"] in bridges)


def _leaves_vlans(step: Step) -> bool:
    """Whether a link, or its ports, may leave VLANs by a step: with the last who is in one its options are gone."""
    goes = step.op is Op.DELETE
    if step.object.cls == "link":
        return goes or not _LEAVING.isdisjoint(step.attrs)
    return goes and step.object.cls == "bridge_vlan"
