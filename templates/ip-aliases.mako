## SPDX-License-Identifier: GPL-2.0-or-later
## Very many addresses on one link.
##
##   <%namespace name="ip" file="ip-aliases.mako"/>
##   links:
##   ${ip.aliases("eth1", "192.168.2.[0-254]/32", first="192.168.1.1/16", label="eth1:{1}")}
##
## addresses  with a range
## first      the address that is no alias
## label      as ifconfig names aliases; {1} is the value of the range
<%def name="aliases(link, addresses, first=None, label=None)">\
  ${link}:
    up: true
    addresses:
% if first:
      - ${first}
% endif
% if label:
      - {address: ${addresses | yaml}, label: ${label | yaml}}
% else:
      - ${addresses | yaml}
% endif
</%def>\
links:
${aliases("eth1", "192.168.2.[0-254]/32", first="192.168.1.1/16", label="eth1:{1}")}\
