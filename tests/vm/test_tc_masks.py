# SPDX-License-Identifier: GPL-2.0-or-later
"""Masks of flower of one preference: the kernel asks them as they came, which is as the file has them."""

import re

import pytest

from tests.vm.hosts import EngineIn, here

_MASKS = {
    "of_keys": ['{dst_ip: "10.0.0.0/8"}', '{dst_ip: "10.0.[0-1].[0-99]", ip_proto: tcp}', "{ip_proto: udp}"],
    "of_lengths": ['{dst_ip: "10.0.0.0/8"}', '{dst_ip: "10.[0-199].0.0/16"}', '{dst_ip: "10.0.1.[0-199]"}'],
    "of_few": ['{ct_state: "+trk"}', '{ct_state: "+trk", src_ip: "192.0.2.[8-12]"}', '{dst_ip: "10.0.1.0/24"}'],
}
_PROGRAM = '[{bpf: {control: drop, bytecode: "1,6 0 0 0"}}]'  # which the kernel takes aside of others


@pytest.mark.parametrize("masks", _MASKS.values(), ids=_MASKS)
@pytest.mark.parametrize("actions", [("drop", "pass", _PROGRAM), (_PROGRAM, "drop", "pass"), ("pass",) * 3])
@pytest.mark.parametrize("turn", [1, -1], ids=["as_it_is", "reversed"])
def test_masks_are_asked_in_the_order_of_the_file(
    engine_in: EngineIn, masks: list[str], actions: tuple[str, ...], turn: int
) -> None:
    rules = [
        f"      - {{pref: 5, chain: 3, protocol: ip, flower: {mask}, classid: '1:{number}', action: {action}}}\n"
        for number, (mask, action) in enumerate(zip(masks[::turn], actions, strict=True), 1)
    ]
    first = "      - {pref: 4, chain: 1, protocol: ip, flower: {dst_ip: 10.9.9.9}, action: drop}\n"
    text = f"links: {{d: {{kind: dummy}}}}\ntc:\n  d:\n    ingress:\n{first}{''.join(rules)}"
    engine_in("here", text).apply()
    told = here("tc filter show dev d ingress chain 3")
    asked = [match[2] for match in re.finditer(r"handle (0x\w+).*classid 1:(\d)", told)]
    assert [*dict.fromkeys(asked)] == ["1", "2", "3"]
