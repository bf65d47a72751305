# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel settings a capture writes."""

from netgroupd.engine.capture.host import captured
from netgroupd.model.state import Object, State


def test_setting_of_a_link_is_written_with_it_and_what_systemd_sets_is_not() -> None:
    link = Object("link", ("d0",), {"kind": "dummy"})
    told = {
        "net/ipv4/neigh/d0/retrans_time_ms": "500",
        "net/ipv4/neigh/d0/unres_qlen_bytes": "14630",
        "net/unix/max_dgram_qlen": "512",
    }
    settings = [Object("sysctl", (path,), {"value": value}) for path, value in told.items()]
    written = captured(State((link, *settings)), {}, {})
    assert "sysctl: {ipv4.neigh.retrans_time_ms: 500, ipv4.neigh.unres_qlen_bytes: 14630}" in written
    assert "max_dgram_qlen" not in written
    other = Object("sysctl", ("net/unix/max_dgram_qlen",), {"value": "600"})
    assert "net.unix.max_dgram_qlen: 600" in captured(State((link, other)), {}, {})
