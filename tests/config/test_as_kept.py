# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be said in two ways is made in the one in which the kernel tells it."""

from tests.config.reading import attrs, desired, keys


def test_forwarding_entry_says_nothing_of_what_its_vxlan_has() -> None:
    found = desired(
        "links: {x: {kind: vxlan, id: 7, dstport: 4789}, y: {kind: vxlan, external: on}}\n"
        "fdb:\n"
        "- {dev: x, mac: '02:00:00:00:00:01', dst: 10.0.0.1, vni: 7, port: 4789}\n"
        "- {dev: x, mac: '02:00:00:00:00:02', dst: 10.0.0.2, vni: 8, port: 8472}\n"
        "- {dev: y, mac: '02:00:00:00:00:01', dst: 10.0.0.2, vni: 8, port: 8472}\n"
    )
    assert [dict(obj.attrs) for obj in found.state.of("fdb").values()] == [
        {"dst": "10.0.0.1", "vni": None, "port": None},
        {"dst": "10.0.0.2", "vni": 8, "port": 8472},
        {"dst": "10.0.0.2", "vni": 8, "port": None},
    ]


def test_what_the_kernel_tells_in_other_words_is_what_it_tells() -> None:
    found = desired(
        "links: {d: {kind: dummy, up: on, addresses: {address: 10.0.0.1/24, peer: 10.0.0.1}}}\n"
        "routes: [{to: 10.8.0.0/16, mtu: 1400, nexthops: [{via: 10.0.0.9, dev: d, weight: 3}]}]\n"
    )
    assert keys(found, "address") == [("d", "10.0.0.1/24", None)]
    assert attrs(found, "route", "inet", 254, "10.8.0.0/16", 0, 0) == {"mtu": 1400, "via": "10.0.0.9", "dev": "d"}
