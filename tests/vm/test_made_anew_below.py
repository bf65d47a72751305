# SPDX-License-Identifier: GPL-2.0-or-later
"""A link that a tunnel sends by is made anew: the tunnel stays, and sends by it again, also after a refusal."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.plan.step import AnyStep
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import Stumbling

pytestmark = pytest.mark.vm("stock")

_IPV4 = "local: 192.0.2.1, remote: 192.0.2.2"
_IPV6 = "local: '2001:db8::1', remote: '2001:db8::2'"
_KEYED = "ikey: 2, okey: 3"
_TUNNELS = {
    "gre": _IPV4,
    "gretap": _IPV4,
    "erspan": f"{_IPV4}, {_KEYED}",
    "ipip": _IPV4,
    "sit": _IPV4,
    "vti": _IPV4,
    "ip6gre": _IPV6,
    "ip6gretap": _IPV6,
    "ip6erspan": f"{_IPV6}, {_KEYED}",
    "ip6tnl": _IPV6,
    "vti6": _IPV6,
    "xfrm": "if_id: 5",
}
_FILE = "links: {{below: {{kind: {}, up: true, mtu: 1400}}, t: {{kind: {}, {}, dev: below, up: true, mtu: 1290}}}}\n"


class _Once(Kernels):
    """A kernel that is told all at once."""

    told = False

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        assert not self.told, steps
        self.told = True
        return super().apply(steps, progress)


def _stumbling(at: int, netns: str | None) -> Stumbling:
    kernel = Stumbling(netns)
    kernel.stumbles_at = at
    return kernel


def _shown() -> str:
    """What there is of the tunnel, without its number."""
    return here("ip -d link show dev t").partition(":")[2]


@pytest.mark.parametrize("kind", _TUNNELS)
def test_tunnel_sends_by_it_again(engine_in: EngineIn, kind: str) -> None:
    was, goal = (_FILE.format(lower, kind, _TUNNELS[kind]) for lower in ("dummy", "ifb"))
    engine_in("here", was).apply()
    before = _shown()
    assert "dev below" in before or "t@below" in before
    steps = len(engine_in("here", goal).diff().steps)
    for at in range(steps):
        with pytest.raises(KernelError):
            engine_in("here", goal, partial(_stumbling, at)).apply()
        assert _shown() == before, f"refused step {at} of {steps}"
    engine_in("here", goal, _Once).apply()
    assert _shown() == before
    assert not engine_in("here", goal).diff().steps


@pytest.mark.parametrize("said", [", port: {backup_port: below}", ""], ids=["of_the_file", "by_hand"])
def test_port_has_its_backup_again(engine_in: EngineIn, said: str) -> None:
    text = f"links: {{b: {{kind: bridge}}, t: {{kind: dummy, master: b{said}}}, below: {{kind: %s, master: b}}}}\n"
    was, goal = text % "dummy", text % "gretap, external: true"
    engine_in("here", was).apply()
    here("bridge link set dev t backup_port below")
    steps = len(engine_in("here", goal).diff().steps)
    for at in range(steps):
        with pytest.raises(KernelError):
            engine_in("here", goal, partial(_stumbling, at)).apply()
        assert "backup_port below" in _shown(), f"refused step {at} of {steps}"
    engine_in("here", goal, _Once).apply()
    assert "backup_port below" in _shown()
