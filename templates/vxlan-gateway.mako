## SPDX-License-Identifier: GPL-2.0-or-later
## VLANs carried to other hosts over VXLAN, by one tunnel device for all or one for each.
##
##   <%namespace name="vxlan" file="vxlan-gateway.mako"/>
##   links:
##   ${vxlan.gateway("bridge", ports="swp[1-6]", vids="10-20", local="192.0.2.1")}
##   fdb:
##   ${vxlan.flood(["192.0.2.2", "192.0.2.3"], vids="10-20")}
##
## gateway  one device in metadata mode: a VLAN costs an entry in a table, and no device
## tunnels  a device for each VLAN, for peers or tools that want it so
## dstport  of tunnels; the kernel gives a port to one sort, so beside a gateway it is another
## first    the VXLAN network id of VLAN 0: VLAN v is network first + v
## flood    send what goes to an unknown address to these other gateways
<%def name="gateway(bridge, ports, vids, local, first=10000, device='vxlan0')">\
  ${bridge}:
    kind: bridge
    vlan_filtering: true
    vlan_default_pvid: 0
    up: true
    vlans: "[${vids}]"
    ports: ${[*ports.split(), device] | yaml}
% for port in ports.split():
  ${port}: {up: true, vlans: "[${vids}]"}
% endfor
  ${device}:
    kind: vxlan
    external: true
    dstport: 4789
    local: ${local}
    learning: false
    up: true
    port: {vlan_tunnel: true, learning: false, neigh_suppress: true}
    vlans: [{vid: "[v=${vids}]", tunnel_id: "{v+${first}}"}]
</%def>\
<%def name="tunnels(bridge, vids, local, first=10000, prefix='vni', dstport=4789)">\
  ${prefix}[v=${vids}]:
    kind: vxlan
    id: "{v+${first}}"
    dstport: ${dstport}
    local: ${local}
    learning: false
    up: true
    master: ${bridge}
    port: {learning: false, neigh_suppress: true}
    vlans: [{vid: "{v}", pvid: true, untagged: true}]
</%def>\
<%def name="flood(peers, vids, first=10000, device='vxlan0')">\
<% networks = fold(first + vid for vid in numbers(vids)) %>\
% for peer in peers:
  - {dev: ${device}, mac: "00:00:00:00:00:00", dst: ${peer}, src_vni: "[n=${networks}]", vni: "{n}"}
% endfor
</%def>\
links:
${gateway("bridge", ports="swp[1-6]", vids="10-20,100", local="192.0.2.1")}\
${tunnels("bridge", vids="200-210", local="192.0.2.1", dstport=4790)}\
fdb:
${flood(["192.0.2.2", "192.0.2.3"], vids="10-20,100")}\
