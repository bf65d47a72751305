## SPDX-License-Identifier: GPL-2.0-or-later
## One bridge that knows VLANs, instead of a bridge and a device per port for each.
##
##   <%namespace name="switch" file="vlan-aware-bridge.mako"/>
##   links:
##   ${switch.bridge("bridge", trunks="swp[1-6]", vids="10-20,100")}
##   ${switch.access("swp7", vid=10)}
##   ${switch.gateways("bridge", vids="10-20", address="10.0.{v}.2/24", shared="10.0.{v}.1/24")}
##
## trunks   ports that carry every VLAN, tagged; several separated by blanks
## access   a port of one VLAN, untagged; give its bridge where it is not called "bridge"
## address  of the bridge in each VLAN; {v} is the VLAN id
## shared   an address that the other gateway has too, on a MAC of its own (VRR, VRRP)
<%def name="bridge(name, trunks, vids)">\
  ${name}:
    kind: bridge
    vlan_filtering: true
    vlan_default_pvid: 0
    up: true
    vlans: "[${vids}]"
% for trunk in trunks.split():
  ${trunk}:
    master: ${name}
    up: true
    vlans: "[${vids}]"
% endfor
</%def>\
<%def name="access(port, vid, bridge='bridge')">\
  ${port}:
    master: ${bridge}
    up: true
    vlans: [{vid: ${vid}, pvid: true, untagged: true}]
</%def>\
<%def name="gateways(bridge, vids, address, shared=None, mac='00:00:5e:00:01:01')">\
  ${bridge}.[v=${vids}]:
    up: true
    addresses: [${address | yaml}]
% if shared:
  ${bridge}.[v=${vids}]v:
    kind: macvlan
    link: ${bridge}.{v}
    mode: private
    mac: ${mac | yaml}
    up: true
    addresses: [${shared | yaml}]
% endif
</%def>\
links:
${bridge("bridge", trunks="swp[1-6]", vids="10-20,100")}\
${access("swp[7-8]", vid=10)}\
${gateways("bridge", vids="10-20", address="10.0.{v}.2/24", shared="10.0.{v}.1/24")}\
