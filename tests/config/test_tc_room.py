# SPDX-License-Identifier: GPL-2.0-or-later
"""How much one rule of traffic control can hold: the most of each, and one more."""

import pytest

from tests.config.reading import told


def _rule(actions: str, match: str = "matchall: {}") -> str:
    return f"tc:\n  lo: {{ingress: {{pref: 1, {match}, action: [{actions}]}}}}\n"


def _words(count: int) -> str:
    return "{pedit: {munge: [" + ", ".join(["ip 8 set 0x40000000/0xff000000"] * count) + "]}}"


def _program(length: int) -> str:
    return f"bytecode: '{length},{','.join(['6 0 0 0'] * length)}'"


_POLICER = "{police: {rate: 1mbit, burst: 10k, peakrate: 2mbit, mtu: 2000, conform: pipe}}"
_GENEVE = ",".join(["0102:80:" + "00" * 124] * 2)
MUCH = {
    "words": (_rule(_words(255)), _rule(_words(256)), "munge: expected 1 to 255 words, not 256"),
    "no_words": (_rule("{pedit: {munge: {ip ttl: 5}}}"), _rule("{pedit: {munge: {}}}"), "munge: expected a mapping of"),
    "offset": (
        _rule("{pedit: {munge: ip 4294967292 set 0x1/0x1}}".replace("0x1", "0x00000001")),
        _rule("{pedit: {munge: ip 4294967296 set 0x1/0x1}}".replace("0x1", "0x00000001")),
        "munge: expected a word at a multiple of 4 up to 4294967292, not at 4294967296",
    ),
    "odd_offset": (
        _rule(_words(1)),
        _rule(_words(1).replace("ip 8", "ip 3")),
        "munge: expected a word at a multiple of 4 up to 4294967292, not at 3",
    ),
    "rules_told": (
        _rule(f"{_words(255)}, {_words(255)}"),
        _rule(f"{_words(255)}, {_words(255)}, {_words(255)}"),
        "2:49: this rule takes 34,648 bytes, and the kernel tells of none that takes over 32,000",
    ),
    "rules_sent": (
        _rule(", ".join([_POLICER] * 30)),
        _rule(", ".join([_POLICER] * 31)),
        "2:49: this rule takes 67,396 bytes, and a message has room for 65,400; describe its policers under `actions`",
    ),
    "program": (
        _rule("drop", f"bpf: {{{_program(3900)}}}"),
        _rule("drop", f"bpf: {{{_program(3901)}}}"),
        "as many as the number before them says, up to 3900",
    ),
    "programs": (
        _rule(f"{{bpf: {{{_program(2000)}}}}}", f"bpf: {{{_program(1900)}}}"),
        _rule(f"{{bpf: {{{_program(2000)}}}}}", f"bpf: {{{_program(2000)}}}"),
        "bytes, and the kernel tells of none that takes over 32,000",
    ),
    "options_of_a_tunnel": (
        _rule("drop", f"protocol: ip, flower: {{geneve_opts: '{_GENEVE[:-8]}'}}"),
        _rule("drop", f"protocol: ip, flower: {{geneve_opts: '{_GENEVE}'}}"),
        "geneve_opts: expected options of Geneve of 252 bytes in all at most",
    ),
}


@pytest.mark.parametrize(("most", "more", "want"), MUCH.values(), ids=MUCH)
def test_what_the_kernel_has_no_room_for_is_told(most: str, more: str, want: str) -> None:
    assert told(most) == []
    (found,) = told(more)
    assert want in found
