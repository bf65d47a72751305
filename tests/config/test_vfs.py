# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions of cards: where they are written, how ranges of them come together, and what is refused before."""

import pytest

from tests.config.reading import attrs, desired, keys, told

CARDS = ("eth0", "eth1")


def said(body: str) -> str:
    """What is said of a card from column 10 of line 2 on."""
    return f"links:\n  eth0: {{{body}}}\n"


def test_ranges_are_one_object_for_each_function_of_each_card() -> None:
    text = (
        'links:\n  eth[c=0-1]:\n    num_vfs: "{4+c}"\n    vfs: {"[v=0-3]": {mac: "{02:00:00:00:00:00 + c*16 + v}"}}\n'
    )
    found = desired(text, known=CARDS)
    assert keys(found, "vf") == [(f"eth{card}", number) for card in (0, 1) for number in range(4)]
    assert attrs(found, "vf", "eth1", 2) == {"mac": "02:00:00:00:00:12"}
    assert attrs(found, "sriov", "eth1") == {"num_vfs": 5}


def test_entries_and_files_about_one_function_come_together() -> None:
    first = 'links: {eth0: {vfs: {"[0-7]": {trust: false}, 3: {vlan: 10}, "[3,5]": {vlan: 10, qos: 2}}}}\n'
    found = desired(first, "links: {'eth[0-1]': {vfs: {3: {spoofchk: on}}}}\n", known=CARDS)
    assert attrs(found, "vf", "eth0", 3) == {"vlan": 10, "qos": 2, "spoofchk": True, "trust": False}
    assert attrs(found, "vf", "eth0", 4) == {"trust": False}
    assert attrs(found, "vf", "eth1", 3) == {"spoofchk": True}


def test_function_of_which_nothing_is_said_is_one() -> None:
    assert attrs(desired(said("vfs: {2: }"), known=CARDS), "vf", "eth0", 2) == {}


REFUSED = [
    pytest.param(
        said("vfs: 3"), "2:15: 'vfs' must be a mapping by the numbers of functions, not the text '3'", id="text"
    ),
    pytest.param(
        said("vfs: {x: {vlan: 1}}"),
        "2:16: vf: expected a whole number from 0 to 65534, not the text 'x'",
        id="no_number",
    ),
    pytest.param(
        said("vfs: {0: {vf: 1}}"), "2:20: unknown key 'vf'; the number stands in front: vfs: {0: …}", id="number_inside"
    ),
    pytest.param(
        said("vfs: {0: {vlan: 4096}}"),
        "2:26: vlan: expected a whole number from 0 to 4095, not the text '4096'",
        id="vlan",
    ),
    pytest.param(
        said("vfs: {0: {state: up}}"),
        "2:27: state: expected one of auto, enable, disable, not the text 'up'",
        id="state",
    ),
    pytest.param(
        said("vfs: {0: {node_guid: 1}}"),
        "2:31: node_guid: expected eight bytes like 00:11:22:33:44:55:66:77, not the text '1'",
        id="guid",
    ),
    pytest.param(
        said("vfs: {0: {rate: 5}}"), "2:20: unknown key 'rate'; it is 'max_tx_rate' here", id="word_of_others"
    ),
    pytest.param(
        said("num_vfs: 70000"),
        "2:19: num_vfs: expected a whole number from 0 to 65535, not the text '70000'",
        id="count",
    ),
    pytest.param(
        said("num_vfs: 2, vfs: {'[1-2]': {trust: on}}"),
        "2:28: 'eth0' has functions 0 to 1, and no 2; its num_vfs is at a.yaml:2",
        id="function_beyond_the_number",
    ),
    pytest.param(
        said("num_vfs: 0, vfs: {0: }"),
        "2:28: 'eth0' has no functions, and so no 0; its num_vfs is at a.yaml:2",
        id="no_functions",
    ),
    pytest.param(
        said("vfs: {'[0-1]': {vlan: 5}, 1: {vlan: 6}}"),
        "2:46: vlan of vf eth0 1 is another elsewhere; the other is at a.yaml:2",
        id="two_values",
    ),
    pytest.param(
        said("vfs: {0: {mac: '03:00:00:00:00:01'}}"),
        "2:25: 03:00:00:00:00:01 of function 0 is a multicast address",
        id="mac_of_several",
    ),
    pytest.param(
        said("vfs: {'[0-1]': {mac: '02:00:00:00:00:01'}}"),
        "2:31: 02:00:00:00:00:01 is that of function 0 of 'eth0' too; "
        'count it up: "[v=0-7]": {mac: "{02:00:00:00:00:00 + v}"}',
        id="one_mac_for_two",
    ),
    pytest.param(
        said("vfs: {0: {min_tx_rate: 20, max_tx_rate: 10}}"),
        "2:33: function 0 may send 20 Mbit/s at least and 10 at most",
        id="rates",
    ),
    pytest.param(
        said("kind: dummy, num_vfs: 2"),
        "2:32: 'eth0' is a dummy, and has no virtual functions; these are of network cards",
        id="no_card",
    ),
    pytest.param(
        said("kind: dummy, vfs: {0: {vlan: 3}}"),
        "2:29: 'eth0' is a dummy, and has no virtual functions; these are of network cards",
        id="functions_of_no_card",
    ),
    pytest.param(
        said("vfs: {0: {qos: 3}}"),
        "2:25: warning: function 0 of 'eth0' is in no VLAN that a file says, and 'qos' is of its tag; "
        "drivers refuse that: say its `vlan` too",
        id="priority_without_a_vlan",
    ),
]
TAKEN = [
    pytest.param(said("num_vfs: 8, vfs: {'[0-7]': {spoofchk: true, trust: false, state: auto}}"), id="many"),
    pytest.param(said("vfs: {7: {max_tx_rate: 0, min_tx_rate: 5, query_rss: on}}"), id="any_rate"),
    pytest.param(said("vfs: {'[0-1]': {mac: '00:00:00:00:00:00'}}"), id="macs_taken_away"),
    pytest.param(
        said("vfs: {0: {node_guid: '00:11:22:33:44:55:66:7F', port_guid: '00:11:22:33:44:55:66:78'}}"), id="guids"
    ),
    pytest.param(said("kind: netdevsim, id: 1, num_vfs: 4"), id="simulated_card"),
    pytest.param(said("num_vfs: null, vfs: null"), id="nothing"),
    pytest.param(
        said("vfs: {0: {mac: '02:00:00:00:00:01'}}") + "  eth1: {vfs: {1: {mac: '02:00:00:00:00:01'}}}\n",
        id="two_cards",
    ),
]


@pytest.mark.parametrize(("text", "want"), REFUSED)
def test_what_no_card_has_is_told_before(text: str, want: str) -> None:
    assert told(text, known=CARDS) == [f"a.yaml:{want}"]


@pytest.mark.parametrize("text", TAKEN)
def test_what_cards_have_is_taken(text: str) -> None:
    assert told(text, known=CARDS) == []
