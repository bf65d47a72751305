# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of a link all have its link-local address: each answers for itself."""

import json
import socket
import subprocess
from pathlib import Path

from tests.waiting import eventually

_VLANS = (5, 6)


def ip(*words: str) -> str:
    """Run ip."""
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def link_local(link: str) -> str:
    """The link-local address of a link."""
    [found] = json.loads(ip("-json", "-6", "address", "show", "dev", link, "scope", "link"))
    return str(found["addr_info"][0]["local"])


def answer(link: str, address: str) -> str:
    """What becomes of looking for an address on a link."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", (address, 9, 0, socket.if_nametoindex(link)))

    def known() -> list[str]:
        shown = json.loads(ip("-json", "-6", "neighbour", "show", "dev", link))
        states = [entry["state"][0] for entry in shown if entry["dst"] == address]
        return [state for state in states if state in ("REACHABLE", "FAILED")]

    return eventually(known)[0]


def connected() -> None:
    """Make two links that have their addresses at once."""
    Path("/proc/sys/net/ipv6/conf/default/accept_dad").write_text("0", encoding="ascii")
    ip("link", "add", "name", "va", "up", "type", "veth", "peer", "name", "vb")
    ip("link", "set", "vb", "up")
    # Their carriers come a moment later, and with them the addresses that they send from.
    shown = ("-6", "address", "show", "scope", "link", "dev")
    eventually(lambda: all(ip(*shown, link) for link in ("va", "vb")))


def test_each_vlan_answers_for_its_own_address() -> None:
    connected()
    for end in ("va", "vb"):
        for vlan in _VLANS:
            ip("link", "add", "name", f"{end}.{vlan}", "up", "link", end, "type", "vlan", "id", str(vlan))
    address = link_local("vb.5")
    assert address == link_local("vb.6") == link_local("vb")
    assert [answer(f"va.{vlan}", address) for vlan in _VLANS] == ["REACHABLE", "REACHABLE"]
    ip("address", "add", "2001:db8::1/64", "dev", "vb.5")
    ip("address", "delete", f"{address}/64", "dev", "vb.5")
    for vlan in _VLANS:
        ip("neighbour", "flush", "dev", f"va.{vlan}")
    assert [answer(f"va.{vlan}", address) for vlan in _VLANS] == ["FAILED", "REACHABLE"]
    ip("address", "add", f"{address}/64", "dev", "vb.5")
    ip("neighbour", "flush", "dev", "va.5")
    assert answer("va.5", address) == "REACHABLE"


def test_an_address_of_no_scope_hides_no_other() -> None:
    connected()
    for address in ("2001:db8:2::1/64", "fe80::7/64"):
        ip("address", "add", address, "dev", "vb", "nodad")
    ip("address", "add", "ff00::1/128", "dev", "vb", "autojoin")
    assert answer("va", "fe80::7") == "REACHABLE"
    ip("address", "replace", "fe80::7/64", "dev", "vb", "nodad", "preferred_lft", "9")
    ip("address", "delete", "fe80::7/64", "dev", "vb")
    assert "fe80::7/64" not in ip("-6", "address", "show", "dev", "vb")


def metric(link: str, to: str = "fe80::9") -> str | None:
    """The metric of the route by which a link leads to an address, if one does."""
    found = subprocess.run(["ip", "-6", "route", "get", to, "oif", link], check=False, capture_output=True, text=True)
    words = found.stdout.split()
    assert not words or words[words.index("dev") + 1] == link, found.stdout
    return words[words.index("metric") + 1] if words else None


def test_each_of_many_links_is_the_way_to_its_own_neighbours() -> None:
    links = [f"d{number}" for number in range(20)]
    for link in links:
        ip("link", "add", "name", link, "up", "type", "dummy")
    eventually(lambda: all("fe80" in ip("-6", "address", "show", "dev", link) for link in links))
    assert [metric(link) for link in links] == ["256"] * 20
    assert [metric(link, "ff02::5") for link in links] == ["256"] * 20

    ip("-6", "route", "delete", "fe80::/64", "dev", "d3")
    ip("-6", "route", "add", "fe80::/64", "dev", "d4", "metric", "10")
    ip("-6", "route", "delete", "fe80::/64", "dev", "d5")
    ip("-6", "route", "add", "fe80::/64", "dev", "d5", "metric", "1024")
    for number in range(40):  # more than there are to link-local addresses
        ip("-6", "route", "add", f"2001:db8:{number:x}::/64", "dev", "d6")
    ip("link", "set", "d7", "down")
    ip("-6", "route", "add", "fe80:7::/64", "dev", "d8")
    changed = {"d3": None, "d4": "10", "d5": "1024", "d7": None}
    assert [metric(link) for link in links] == [changed.get(link, "256") for link in links]

    ip("-6", "nexthop", "add", "id", "1", "dev", "d9")
    ip("-6", "route", "add", "fe80::/64", "nhid", "1", "metric", "5")
    assert (metric("d9"), metric("d10")) == ("5", "256")
