# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be beside something that no file says and that stays is refused by ``diff``, as the kernel would."""

import pytest

from netgroupd.engine import undescribed
from netgroupd.errors import ConfigError, VerifyError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

_GRE = "links:\n  g: {kind: gre, %s}\n"
_ON_D = "links:\n  d: {kind: dummy, up: on, addresses: [10.0.0.1/24, '2001:db8::1/64'], %s}\n"
_LIVING = "links:\n  d: {kind: dummy, up: on, addresses: [{address: %s}]}\n"
_BESIDE = _ON_D % "neighbours: [{ip: 10.0.0.2, %s}]"
CASES = [
    *(
        pytest.param(
            _GRE % "external: on", _GRE % f"{field}: on", f"'g' cannot have '{field}': it is external", id=field
        )
        for field in ("iseq", "oseq", "icsum", "ocsum")
    ),
    pytest.param(
        _LIVING % "10.0.0.1/24, valid_lft: 1000, preferred_lft: 500",
        _LIVING % "10.0.0.1/24, preferred_lft: forever",
        "seconds, and cannot be preferred for forever; say its valid_lft too",
        id="for_ever",
    ),
    pytest.param(
        _LIVING % "'2001:db8::1/64', valid_lft: 1000, preferred_lft: 500",
        _LIVING % "'2001:db8::1/64', preferred_lft: 2000",
        "seconds, and cannot be preferred for 2000; say its valid_lft too",
        id="too_long",
    ),
    pytest.param(
        _BESIDE % "managed: on",
        _BESIDE % "router: on",
        "10.0.0.2 on 'd' is managed, and stays so: the kernel finds out whether it is a router; leave `router` out",
        id="router",
    ),
]
_SIT = "links:\n  s: {kind: sit, local: 10.0.0.1, %s}\n"
_LIMITED = """links:
  b: {kind: bridge%s}
  p: {kind: dummy, master: b, vlans: [{vid: 5%s}]}
"""


def test_length_that_is_too_short_for_the_prefix_that_stays_is_told_before(engine_in: EngineIn) -> None:
    engine_in("here", _SIT % "6rd_prefix: '2001:db8::', 6rd_prefixlen: 32").apply()
    engine = engine_in("here", _SIT % "6rd_prefixlen: 16")
    told = "6rd_prefix 2001:db8:: of 's' has bits behind its 6rd_prefixlen of 16; say its '6rd_prefix' too"
    with pytest.raises(ConfigError, match=told):
        engine.diff()
    engine = engine_in("here", _SIT % "6rd_prefix: '2001::', 6rd_prefixlen: 16")
    engine.apply()
    assert not engine.diff().steps


@pytest.mark.parametrize(("before", "after", "told"), CASES)
def test_what_stays_and_does_not_fit_is_told_before(
    engine_in: EngineIn, monkeypatch: pytest.MonkeyPatch, before: str, after: str, told: str
) -> None:
    engine_in("here", before).apply()
    engine = engine_in("here", after)
    with pytest.raises(ConfigError, match=r"all\.yaml:2:") as error:
        engine.diff()
    assert told in str(error.value)
    monkeypatch.setattr(undescribed, "unfit", lambda *_: ())
    with pytest.raises(VerifyError):  # the kernel forgets it
        engine.apply()


def test_number_of_groups_that_no_bridge_takes_is_told_before(engine_in: EngineIn) -> None:
    engine_in("here", _LIMITED % (", vlan_filtering: on", "")).apply()
    engine = engine_in("here", _LIMITED % ("", ", mcast_max_groups: 9"))
    told = "takes no number of groups for VLAN 5 of 'p'; set mcast_vlan_snooping of 'b'"
    with pytest.raises(ConfigError, match=told):
        engine.diff()
    engine = engine_in("here", _LIMITED % (", mcast_vlan_snooping: on", ", mcast_max_groups: 9"))
    engine.apply()
    assert not engine.diff().steps


def test_host_that_starts_has_all_the_rest(engine_in: EngineIn) -> None:
    limited = _LIMITED % (", vlan_filtering: on", ", mcast_max_groups: 9")
    trouble = engine_in("here", f"{limited}  d: {{kind: dummy, addresses: 10.0.0.1/24}}\n").apply(in_part=True).trouble
    assert "Multicast snooping disabled on this VLAN" in str(trouble)
    assert "10.0.0.1/24" in here("ip address show dev d")


@pytest.mark.parametrize("more", ["valid_lft: forever", "valid_lft: 3000"])
def test_address_that_is_told_for_how_long_it_is_valid_is_preferred_as_long(engine_in: EngineIn, more: str) -> None:
    engine_in("here", _LIVING % "'2001:db8::1/64', valid_lft: 1000, preferred_lft: 500").apply()
    engine = engine_in("here", _LIVING % f"'2001:db8::1/64', {more}, preferred_lft: 2000")
    engine.apply()
    assert not engine.diff().steps
    engine.rollback()
