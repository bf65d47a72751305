## The slides' ifupdown2 template, in the terms of our YAML; range() leaves out its end, as it does there.
links:
  swp[1-6]: {}
%for v in range(1000,1100):
  br-${v}:
    kind: bridge
    ports: swp[1-6].${v}
    stp: on
%endfor
