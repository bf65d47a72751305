## SPDX-License-Identifier: GPL-2.0-or-later
## A routing domain for each tenant: a VRF, its links, and routes that do not leave it.
##
##   <%namespace name="tenants" file="vrf-tenants.mako"/>
##   vrfs:
##   ${tenants.vrfs("tenant[t=1-100]", table="1000+t", links="swp[1-2].{1000+t}")}
##   routes:
##   ${tenants.routes(1, 100, via="10.{t}.0.254")}
##   rules:
##   ${tenants.rules()}
##
## vrfs     names with a range; table and links are written with its value
## routes   a default route for each of the tenants first to last; without via,
##          what no route of the tenant fits is refused instead of trying the main table
## rules    one for all VRFs and both protocols, instead of two for each VRF
<%def name="vrfs(names, table, links)">\
  ${names}:
    table: "{${table}}"
    up: true
    links: ${links | yaml}
</%def>\
<%def name="routes(first, last, via=None, prefix='tenant')">\
% for t in range(first, last + 1):
  - {to: default, vrf: ${prefix}${t}, type: unreachable, metric: 4278198272, family: inet}
  - {to: default, vrf: ${prefix}${t}, type: unreachable, metric: 4278198272, family: inet6}
% if via:
  - {to: default, vrf: ${prefix}${t}, via: ${via.replace("{t}", str(t))}}
% endif
% endfor
</%def>\
<%def name="rules(pref=1000)">\
  - {pref: ${pref}, l3mdev: true, family: inet}
  - {pref: ${pref}, l3mdev: true, family: inet6}
</%def>\
links:
  swp[1-2]: {up: true}
  swp1.[v=1001-1100]:
    up: true
    addresses: ["10.{v-1000}.0.1/24"]
vrfs:
${vrfs("tenant[t=1-100]", table="1000+t", links="swp[1-2].{1000+t}")}\
routes:
${routes(1, 100, via="10.{t}.0.254")}\
rules:
${rules()}\
