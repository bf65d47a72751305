## SPDX-License-Identifier: GPL-2.0-or-later
## A bridge for each VLAN, joining that VLAN of every port.
##
##   <%namespace name="vlan" file="vlan-bridges.mako"/>
##   links:
##   ${vlan.bridges(ports="swp[1-6]", vids="1000-1099", gateway="10.{v//256}.{v%256}.1/24")}
##
## ports    links, with ranges; several separated by blanks
## vids     VLAN ids, as in 1000-1099,2000
## gateway  the address of each bridge; {v} is the VLAN id
## group    a group for bridges and VLANs alike, to set what they share in one message
<%def name="bridges(ports, vids, prefix='br-', stp=False, gateway=None, group=None)">\
  ${prefix}[v=${vids}]:
    kind: bridge
    stp: ${stp | yaml}
    up: true
    ports: ${[f"{port}.{{v}}" for port in ports.split()] | yaml}
% if gateway:
    addresses: [${gateway | yaml}]
% endif
% if group:
    group: ${group}
% endif
</%def>\
groups:
  tenants: {mtu: 9000}
links:
  swp[1-6]: {up: true, mtu: 9216}
${bridges("swp[1-6]", "1000-1099", stp=True, gateway="10.{v//256}.{v%256}.1/24", group="tenants")}\
