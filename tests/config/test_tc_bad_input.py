# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that cannot be meant are told with their place, and one of many says which it is."""

import pytest

from tests.config.reading import desired, told

_RULES = "tc:\n  lo:\n    ingress:\n      - {}\n"
_IP = "{{pref: 1, protocol: ip, flower: {}}}"
_ALL = "{{pref: 1, matchall: {{}}, action: {}}}"
BAD = [
    ("{pref: 1, flowr: {}}", "4:19: unknown key 'flowr'; did you mean 'flower'?"),
    (_IP.format("{dst_ipp: 10.0.0.1}"), "4:42: unknown key 'dst_ipp'; did you mean 'dst_ip'?"),
    ("{pref: 1, matchall: {dst_ip: 10.0.0.1}}", "4:30: unknown key 'dst_ip'; there is none here, as in {}"),
    ("{pref: 1, matchall: }", "4:29: matchall: expected {}, for nothing more can be said, not null"),
    (_IP.format("{dst_ip: 10.0.0.0/255.255.255}"), "expected a mask behind the slash like 255.255.0.0, or a length"),
    (_IP.format("{dst_ip: 10.0.0.0/33}"), "4:50: dst_ip: expected a prefix length from 0 to 32"),
    (_IP.format("{ip_tos: 0x10/0x1ff}"), "4:50: ip_tos: expected a number of 8 bits, or one with a mask like"),
    (
        _IP.format("{dst_mac: '02:00:00:00:00:01/ff:ff'}"),
        "behind a slash if not all of it counts, not '02:00:00:00:00:",
    ),
    (
        _IP.format("{ip_tos: 0x10/}"),
        "4:50: ip_tos: expected a number of 8 bits, or one with a mask like 0x10/0xf0, not",
    ),
    (_ALL.format(f"[{', '.join(['pipe'] * 33)}]"), "4:41: action: expected at most 32 actions, not 33"),
    (_ALL.format("[jump 40]"), "4:41: warning: jump 40 of filter lo ingress 1 leads to none of the actions behind it"),
    (_ALL.format("[pipe, jump 1, drop]"), "4:41: warning: jump 1 of filter lo ingress 1 leads to none of the actions"),
    (_ALL.format("[jump 2, pass, drop]"), ""),
    (_IP.format("{dst_ip: '10.0.[0-255].[0-256]'}"), "a slash if not all of it counts, not '10.0.0.256', in lo"),
    (
        _IP.format("{ip_proto: tcp, dst_port: '[1-65536]'}"),
        "4:67: dst_port: expected a number of 16 bits, or one with a",
    ),
    (
        f"{_IP.format('{dst_ip: 10.0.0.[0-255]}')}\n      - {_IP.format('{dst_ip: 10.0.0.7/32}')}".replace(
            "10.0.0.[0-255]", "'10.0.0.[0-255]'"
        ),
        "5:9: filter lo ingress 1 dst_ip 10.0.0.7 is described twice; the other is at a.yaml:4",
    ),
]


@pytest.mark.parametrize(("rule", "want"), BAD, ids=[row[1] or row[0] for row in BAD])
def test_rule_that_cannot_be_meant_is_told(rule: str, want: str) -> None:
    found = [line for line in told(_RULES.format(rule)) if "does not say what it matches" not in line]
    assert len(found) == bool(want)
    assert want in "".join(found)


def test_65536_rules_in_a_line_are_as_many_rules() -> None:
    rules = desired(_RULES.format(_IP.format("{dst_ip: '10.0.[0-255].[0-255]'}"))).state.of("filter")
    assert len(rules) == 65536
    assert len({obj.origin for obj in rules.values()}) == 1
