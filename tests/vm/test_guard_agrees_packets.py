# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guard refuses of rules that rewrite packets, or lose those by which neighbours are found, ends a session."""

import socket
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.engine.session import Session
from netgroupd.kernel.netns import entered
from tests.engine.guard_tc_cases import LOCAL, PEER, SESSION, hook
from tests.vm.test_guard_agrees import Case, agrees
from tests.vm.test_guard_links import server

__all__ = ["server"]

_OF_IPV6 = Session("2001:db8::2", "2001:db8::1", SESSION.peer_port, SESSION.local_port)
_ENDS = "-n here address add {0.local}/{1} dev eth1\n-n there address add {0.peer}/{1} dev eth1"
_SETUP = {SESSION: _ENDS.format(SESSION, "8"), _OF_IPV6: _ENDS.format(_OF_IPV6, "64 nodad")}
_SUMMED = ", {csum: {of: [iph, tcp]}}"
_WRITTEN = (
    ("of_another", SESSION, "ip src: 10.9.9.9", _SUMMED, True),
    ("for_another", SESSION, "ip dst: 10.9.9.9", _SUMMED, True),
    ("as_it_is", SESSION, f"ip src: {LOCAL}, ip dst: {PEER}", "", False),
    ("ttl_without_a_sum", SESSION, "ip ttl: 7", "", True),
    ("ttl_with_a_sum", SESSION, "ip ttl: 7", _SUMMED, False),
    ("of_another_port", SESSION, "tcp sport: 23", _SUMMED, True),
    ("for_another_card", SESSION, "eth dst: '02:00:00:00:07:07'", "", True),
    ("of_another_card", SESSION, "eth src: '02:00:00:00:07:07'", "", False),
    ("of_another_protocol", SESSION, "eth type: '0x88b5'", "", True),
    ("of_another", _OF_IPV6, "ip6 src: '2001:db8::9'", "", True),
    ("for_another", _OF_IPV6, "ip6 dst: '2001:db8::9'", "", True),
    ("hoplimit", _OF_IPV6, "ip6 hoplimit: 7", "", False),
)  # fmt: skip
_FINDING = (
    ("what_is_for_all", SESSION, "flower: {dst_mac: 'ff:ff:ff:ff:ff:ff'}", True),
    ("what_is_for_other_cards", SESSION, "flower: {dst_mac: '33:33:00:00:00:00/ff:ff:00:00:00:00'}", False),
    ("what_asks_for_it", _OF_IPV6, "protocol: ipv6, flower: {ip_proto: icmpv6, icmp_type: 135}", True),
    ("what_is_for_groups", _OF_IPV6, "protocol: ipv6, flower: {dst_ip: 'ff00::/8'}", True),
    ("what_is_for_other_groups", _OF_IPV6, "protocol: ipv6, flower: {dst_ip: 'ff02::1:ff00:7'}", False),
    ("what_is_for_groups_of_cards", _OF_IPV6, "flower: {dst_mac: '33:33:ff:00:00:00/ff:ff:ff:00:00:00'}", True),
)  # fmt: skip
CASES = {
    **{
        f"written_{name}_{session.local}": (
            session,
            hook(f"{{pref: 9, protocol: {'ipv6' if ':' in session.local else 'ip'}, flower: {{ip_proto: tcp}}, "
                 f"action: [{{pedit: {{munge: {{{munge}}}}}}}{behind}]}}", "egress"),
            ends,
        )
        for name, session, munge, behind, ends in _WRITTEN
    },
    **{
        f"lost_{name}_{session.local}": (session, hook(f"{{pref: 9, {match}, action: drop}}"), ends)
        for name, session, match, ends in _FINDING
    },
}  # fmt: skip


@pytest.mark.vm("stock")
@pytest.mark.parametrize(("session", "then", "ends"), CASES.values(), ids=CASES.keys())
def test_rule_that_ends_the_session_is_refused_and_no_other(
    server: socket.socket, tmp_path: Path, session: Session, then: str, ends: bool
) -> None:
    with entered("here"):
        of_ipv6 = socket.create_server(("", SESSION.local_port), family=socket.AF_INET6)
    with closing(of_ipv6):
        heard = of_ipv6 if ":" in session.peer else server
        agrees(heard, tmp_path, Case(_SETUP[session], then, ends), session)
