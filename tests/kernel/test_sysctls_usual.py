# SPDX-License-Identifier: GPL-2.0-or-later
"""What settings are where nobody has changed them, also by other clocks than the lab's."""

import pytest

from netgroupd.kernel.settings.sysctls_usual import ROOT, is_usual


@pytest.mark.parametrize(
    ("path", "value", "new", "usual"),
    [
        ("ipv4/neigh/default/locktime", "100", None, True),
        ("ipv4/neigh/default/locktime", "250", None, False),
        ("ipv6/neigh/default/retrans_time_ms", "1000", None, True),
        ("ipv6/neigh/default/retrans_time_ms", "2000", None, False),
        ("ipv4/tcp_rmem", "4096 131072 6291456", None, True),
        ("ipv4/tcp_rmem", "4096 131072 33554432", "4096 131072 33554432", False),
        ("ipv4/tcp_wmem", "4096 16384 1000000", "4096 16384 1000000", True),
        ("ipv4/tcp_congestion_control", "cubic", "bbr", True),
        ("ipv4/tcp_congestion_control", "bbr", "bbr", False),
        ("ipv4/ip_forward", "1", "1", False),
        ("ipv4/conf/all/send_redirects", "1", "0", True),
        ("core/somaxconn", "4096", "4096", True),
        ("core/somaxconn", "1024", "4096", False),
    ],
)
def test_setting_of_the_host_is_usual_where_nobody_has_changed_it(
    path: str, value: str, new: str | None, usual: bool
) -> None:
    assert is_usual(f"{ROOT}/{path}", value, new, first=True) is usual


@pytest.mark.parametrize(("value", "usual"), [("bbr", True), ("cubic", True), ("reno", False)])
def test_namespace_has_of_the_host_what_that_had_then_or_has_now(value: str, usual: bool) -> None:
    assert is_usual(f"{ROOT}/ipv4/tcp_congestion_control", value, "bbr", first=False) is usual
