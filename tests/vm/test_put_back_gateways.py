# SPDX-License-Identifier: GPL-2.0-or-later
"""What leads by gateways that are in no network of their links any more is as it was after a refused change."""

import re

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock", "patched")

_FILE = """
links: {{a: {{kind: dummy, up: true, addresses: ['{there}', '{gone}']{more}}}}}
vrfs: {{v: {{table: 7, up: true, links: [{port}]}}}}
nexthops: {{1: {{via: '{via}', dev: a}}, 2: {{group: [{{id: 1}}]}}}}
routes:
- {{to: '{to}1', table: {table}, nhid: 2}}
- {{to: '{to}2', table: 100, via: '{via}', dev: a}}
- {{to: '{to}4', table: {table}, nexthops: [{{via: '{via}', dev: a}}, {{via: '{near}', dev: a}}]}}
- {{to: '{all}', table: 7, type: unreachable, metric: 99999}}
"""
_LEADS = re.compile(" (via|nhid|group) ")
_NETWORKS = [
    pytest.param("192.0.2.9", "192.0.2.1/24", "198.51.100.1/24", "203.0.113.", "0.0.0.0/0", id="IPv4"),
    pytest.param("2001:db8::9", "2001:db8::1/64", "2001:db8:1::1/64", "2001:db8:2::", "::/0", id="IPv6"),
]


def _routes() -> list[str]:
    return "".join(here(f"ip -o {family} route show table all") for family in ("-4", "-6")).splitlines()


def _ways() -> list[str]:
    told = [*here("ip nexthop").splitlines(), *_routes()]
    return [line for line in told if line[0] != "\t" and _LEADS.search(line)]


@pytest.mark.parametrize(("via", "gone", "there", "to", "default"), _NETWORKS)
@pytest.mark.parametrize("table", [pytest.param("main", id="in_no_vrf"), pytest.param("7", id="in_a_vrf")])
def test_comes_back_on_a_link_that_was_made_anew(
    engine_in: EngineIn, via: str, gone: str, there: str, to: str, default: str, table: str
) -> None:
    said = {
        "via": via,
        "there": there,
        "to": to,
        "all": default,
        "near": there.rpartition("1/")[0] + "9",
        "port": "a" if table == "7" else "",
        "table": table,
    }
    engine_in("here", _FILE.format(gone=gone, more="", **said)).apply()
    here(f"ip nexthop add id 9 via {via} dev a")
    here(f"ip route add {to}3 table {table} nhid 9")
    here(f"ip address del {gone} dev a")
    before = _ways()
    assert len(before) == 7
    engine = engine_in("here", _FILE.format(gone=there, more=", numtxqueues: 2", **said))
    with pytest.raises(KernelError, match="nexthop 1") as error:
        engine.apply(allow=frozenset({"a"}))
    assert "put back" not in str(error.value)
    assert "given back" not in str(error.value)
    assert _ways() == before
    assert not [line for line in _routes() if line.startswith(via)]
