# SPDX-License-Identifier: GPL-2.0-or-later
"""A setting is as it is said, whichever way the kernel writes it."""

import pytest

from netgroupd.model.sysctl import alike

ALIKE = [
    pytest.param("ip_local_reserved_ports", "8080,8081,9000-9001,7", "7,8080-8081,9000-9001", id="spans"),
    pytest.param("ip_local_reserved_ports", "", "", id="no_ports"),
    pytest.param("conf/d0/stable_secret", "2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", id="address"),
    pytest.param("tcp_allowed_congestion_control", "cubic reno", "reno cubic", id="words_in_another_order"),
    pytest.param("tcp_fastopen_key", "1-2-3-A", "00000001-00000002-00000003-0000000a", id="key"),
    pytest.param("ip_forward", "0x1", "1", id="hexadecimal"),
    pytest.param("conf/d0/hop_limit", "0100", "64", id="octal"),
    pytest.param("neigh/d0/retrans_time_ms", "250", "252", id="ticks_of_four_milliseconds"),
    pytest.param("icmp_ratelimit", "33", "40", id="ticks_of_ten_milliseconds"),
    pytest.param("nf_conntrack_buckets", "100000", "100352", id="whole_pages"),
    pytest.param("tcp_rmem", "4096 131072", "4096 131072 6291456", id="first_of_several"),
]
DIFFERENT = [
    pytest.param("ip_local_reserved_ports", "8080", "8080-8081", id="more_ports"),
    pytest.param("ip_local_reserved_ports", "8080", "", id="no_ports"),
    pytest.param("conf/d0/stable_secret", "2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0002", id="address"),
    pytest.param("conf/d0/stable_secret", "nothing", "2001:0db8:0000:0000:0000:0000:0000:0002", id="no_address"),
    pytest.param("neigh/d0/retrans_time_ms", "250", "260", id="a_tick_more"),
    pytest.param("neigh/d0/retrans_time_ms", "250", "249", id="less"),
    pytest.param("ip_forward", "1", "2", id="another_number"),
    pytest.param("default_qdisc", "fq", "fq_codel", id="another_word"),
    pytest.param("tcp_rmem", "4096 131072", "4096 131073 6291456", id="second_of_several"),
]


@pytest.mark.parametrize(("name", "said", "told"), ALIKE)
def test_setting_is_as_said(name: str, said: str, told: str) -> None:
    assert alike(f"net/ipv4/{name}", said, told)


@pytest.mark.parametrize(("name", "said", "told"), DIFFERENT)
def test_setting_is_another(name: str, said: str, told: str) -> None:
    assert not alike(f"net/ipv4/{name}", said, told)
