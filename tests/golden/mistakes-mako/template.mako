<%def name="gateway(number)">
  gw-${number}:
    kind: macvlan
    link: br-${number}
    mtu: ${number * 100}x
</%def>
links:
% for v in (1, 2):
  br-${v}: {kind: brigde}
${gateway(v)}
  d${v}: {kind: dummy, master: nobody${v}, addresses: [10.0.0.300/24]}
% endfor
  same: {kind: dummy, mtu: 1, mtu: 2}
