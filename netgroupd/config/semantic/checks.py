# SPDX-License-Identifier: GPL-2.0-or-later
"""What each object alone cannot tell: references, loops, and things that exclude each other.

Errors for what the kernel would refuse, or what cannot be meant; what it takes
and is doubtful is looked for in ``doubtful``.
"""

from collections.abc import Callable

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import Sink
from netgroupd.config.sections.links import Links
from netgroupd.config.sections.namespaces import namespaces
from netgroupd.config.semantic import basic, beside, bonds, forwarding, ip, kinds, links, macsec, sizes, tc
from netgroupd.config.semantic.atomic import atomic
from netgroupd.config.semantic.doubtful import doubt
from netgroupd.config.semantic.gateways import missing_gateways, unfit_gateways, unfit_tunnels
from netgroupd.config.semantic.ipv6 import without_ipv6
from netgroupd.config.semantic.mdb import memberships
from netgroupd.config.semantic.mst import tree_states, trees
from netgroupd.config.semantic.pairs import pairs, vlans_of_packets
from netgroupd.config.semantic.queues import queues
from netgroupd.config.semantic.rules import taken_hooks, taken_rules
from netgroupd.config.semantic.token import tokens
from netgroupd.config.semantic.vfs import cards, functions
from netgroupd.config.semantic.vlan_global import members, vlan_states, vlans_there
from netgroupd.model.state import State


def check(state: State, links: Links, sink: Sink) -> None:
    """Look at the whole state; everything found goes to the report."""
    checked = Checked.of(state, links, sink)
    for rule in _CHECKS:
        rule(checked)
    if not checked.report.partial:  # or what is in doubt may be set right by what could not be read
        doubt(checked)


_CHECKS: tuple[Callable[[Checked], None], ...] = (
    basic.complete,
    basic.identified,
    basic.masters,
    basic.ports,
    basic.stand_in_loops,
    basic.macs,
    basic.names,
    basic.vlans,
    links.unfit_ports,
    links.foundations,
    links.unfit_foundations,
    links.takers,
    links.alone,
    links.tunnels,
    links.external_tunnels,
    links.tunnel_ends,
    macsec.replay_windows,
    macsec.channels,
    links.listeners,
    links.sockets,
    kinds.of_other_kinds,
    kinds.macs,
    kinds.rings,
    pairs,
    vlans_of_packets,
    kinds.backups,
    kinds.loopback,
    beside.fields,
    beside.families,
    beside.lower_links,
    sizes.networks_of_6rd,
    sizes.mirrors,
    sizes.spanning_trees,
    bonds.options,
    bonds.ports,
    bonds.queues,
    bonds.macs,
    bonds.preferred,
    sizes.mtus,
    sizes.mtus_above,
    sizes.mtus_of_ports,
    basic.vrfs,
    basic.references,
    namespaces,
    basic.addresses,
    basic.routes,
    ip.addresses,
    without_ipv6,
    ip.routes,
    ip.ways,
    ip.links_of_gateways,
    ip.scopes,
    ip.forwarding,
    ip.locks,
    ip.nexthops_of_routes,
    ip.gateways,
    unfit_gateways,
    missing_gateways,
    unfit_tunnels,
    ip.rules,
    tokens,
    ip.nexthops,
    ip.neighbours,
    basic.unshared,
    basic.forwarded,
    forwarding.entries,
    forwarding.neighbours,
    memberships,
    vlans_there,
    vlan_states,
    trees,
    tree_states,
    members,
    cards,
    functions,
    tc.shared_actions,
    tc.sizes,
    tc.preferences,
    tc.hash_tables,
    tc.incoming_links,
    tc.templates,
    tc.received,
    taken_hooks,
    taken_rules,
    atomic,
    queues,
    basic.layer2,
)
