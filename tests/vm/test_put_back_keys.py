# SPDX-License-Identifier: GPL-2.0-or-later
"""A link of WireGuard that comes back has the keys that it had, whichever files hold them and whatever they say now."""

import base64
from pathlib import Path

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn
from tests.vm.link_cases import KEY_FILES

pytestmark = pytest.mark.vm("stock")

_PEER = f"public_key: {'A' * 43}="
_TUNNEL = "links: {{w0: {{kind: wireguard, private_key_file: {}, peers: [{{" + _PEER + ", preshared_key_file: {}}}]}}}}"
_BEFORE = _TUNNEL.format(*KEY_FILES)
AFTER = {
    "deleted": "links: {d0: {kind: dummy}}",
    "of_another_kind": "links: {w0: {kind: dummy}}",
    "with_other_keys": _TUNNEL.format(*reversed(KEY_FILES)),
    "with_another_private_key": _TUNNEL.format(KEY_FILES[1], KEY_FILES[1]),
    "without_keys": "links: {w0: {kind: wireguard, private_key_file: null, peers: []}}",
}


@pytest.fixture(autouse=True)
def keys() -> None:
    for number, path in enumerate(KEY_FILES, 1):
        Path(path).write_bytes(base64.b64encode(bytes([8 * number] * 31 + [64])))


@pytest.mark.parametrize("name", AFTER)
def test_keys_come_back(engine_in: EngineIn, name: str) -> None:
    engine_in("here", _BEFORE).apply()
    engine = engine_in("here", AFTER[name])
    engine.apply(confirm_s=60)
    engine.rollback()
    assert not engine_in("here", _BEFORE).diff().steps


def test_keys_come_back_when_the_rest_is_refused(engine_in: EngineIn) -> None:
    engine_in("here", _BEFORE).apply()
    with pytest.raises(KernelError, match="too big gso_max_size"):
        engine_in(
            "here",
            "links: {w0: {kind: dummy}, v0: {kind: vlan, link: w0, id: 3}, d1: {kind: dummy, gso_max_size: 524280}}",
        ).apply()
    assert not engine_in("here", _BEFORE).diff().steps


@pytest.mark.parametrize("name", ["deleted", "with_another_private_key"])
def test_key_that_no_file_has_any_more_keeps_nothing_else_from_coming_back(engine_in: EngineIn, name: str) -> None:
    engine_in("here", _BEFORE).apply()
    Path(KEY_FILES[0]).write_bytes(base64.b64encode(bytes([96] * 32)))
    engine = engine_in("here", AFTER[name])
    engine.apply(confirm_s=60)
    told = engine.rollback().plan.warnings
    assert "the private key that w0 had is in no file that is known, and is not back" in told
    assert engine.pending() is None
    assert "private_key_file" in str(engine_in("here", _BEFORE).diff().steps)
