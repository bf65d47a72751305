## SPDX-License-Identifier: GPL-2.0-or-later
## Traffic control for many links: what is dropped, what is limited, how the rest is shared.
##
##   <%namespace name="policy" file="tc-policies.mako"/>
##   tc:
##     swp[1-6]:
##       ingress:
##   ${policy.drop(10, dst="10.1.[0-3].[1-254]")}
##   ${policy.limit(20, src="10.2.0.0/16", rate="100mbit")}
##     swp[7-8]:
##   ${policy.share("1gbit", gold="600mbit", bronze="400mbit")}
##
## drop     packets to a destination, or to each one of a range
## limit    packets from a source to a rate; what is more is dropped
## share    what a link sends: each class has its rate, and what others leave; the last is for what no filter puts into one
<%def name="drop(pref, dst, protocol='ip')">\
      - {pref: ${pref}, protocol: ${protocol}, flower: {dst_ip: ${dst | yaml}}, action: drop}
</%def>\
<%def name="limit(pref, src, rate, burst='128k', protocol='ip')">\
      - pref: ${pref}
        protocol: ${protocol}
        flower: {src_ip: ${src | yaml}}
        action: [{police: {rate: ${rate}, burst: ${burst}, conform: pass, control: drop}}]
</%def>\
<%def name="share(total, **classes)">\
    qdiscs:
      - {parent: root, handle: "1:", kind: htb, default: "1:${'%x' % len(classes)}"}
    classes:
      - {parent: "1:", classid: "1:ffff", kind: htb, rate: ${total}, ceil: ${total}}
% for number, rate in enumerate(classes.values(), 1):
      - {parent: "1:ffff", classid: "1:${'%x' % number}", kind: htb, rate: ${rate}, ceil: ${total}}
% endfor
</%def>\
links:
  swp[1-8]: {up: true}
tc:
  swp[1-6]:
    ingress:
${drop(10, dst="10.1.[0-3].[1-254]")}\
${limit(20, src="10.2.0.0/16", rate="100mbit")}\
  swp[7-8]:
${share("1gbit", gold="600mbit", bronze="400mbit")}\
