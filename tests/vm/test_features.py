# SPDX-License-Identifier: GPL-2.0-or-later
"""What is found out about a kernel, that finding it out changes nothing, and that without any one of it all is done."""

import subprocess

import pytest

from netgroupd.kernel.features import Features, features, probe
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import EVERYTHING
from netgroupd.kernel.netlink.socket import Socket
from tests.vm.hosts import EngineIn

ALL = Features(*[True] * len(Features._fields))
FILE = """
groups: {{both: {{mtu: {mtu}, up: on, members: [{a}, {b}]}}}}
links:
  d[n=1-4]: {{kind: dummy, group: {a}, mac: "{{02:00:00:00:0{net}:00 + n}}", addresses: ["10.{net}.{{n}}.1/24"]}}
  e[n=1-4]: {{kind: dummy, group: {b}, mac: "{{02:00:00:00:0e:00 + n}}", addresses: ["fd00:{net}:{{n}}::1/64"]}}
tc:
  d1:
    ingress:
      - {{pref: 10, protocol: ip, flower: {{dst_ip: "10.{net}.[0-1].[1-100]"}}, action: drop}}
"""
STEPS = (
    FILE.format(a="a", b="b", mtu=1400, net=1),
    FILE.format(a="c", b="d", mtu=1300, net=2),
    "{}",
)


@pytest.mark.vm("stock")
def test_stock_kernel_has_none_of_our_features() -> None:
    assert features() == Features()


@pytest.mark.vm("patched")
def test_patched_kernel_has_what_its_series_adds() -> None:
    assert features() == ALL


def test_probing_changes_no_link() -> None:
    with Kernel() as kernel, Socket() as socket:
        before = kernel.dump(EVERYTHING).classes
        probe(socket)
        assert kernel.dump(EVERYTHING).classes == before


def test_probing_leaves_nothing_in_the_log_of_the_kernel() -> None:
    def log() -> str:
        return subprocess.run(["dmesg"], check=True, capture_output=True, text=True).stdout

    before = log()
    with Socket() as socket:
        probe(socket)
    assert log().removeprefix(before) == ""


@pytest.mark.vm("patched")
def test_kernel_that_lacks_any_one_feature_gets_to_the_same(engine_in: EngineIn) -> None:
    def connect(netns: str | None) -> Kernels:
        return Kernels(netns, assume=ALL._replace(**{netns: False} if netns in Features._fields else {}))

    for text in STEPS:
        engine_in("everything", text, connect).apply()
        with Kernel("everything") as kernel:
            want = kernel.dump(EVERYTHING).classes
        for lacking in Features._fields:
            engine_in(lacking, text, connect).apply()
            with Kernel(lacking) as kernel:
                assert kernel.dump(EVERYTHING).classes == want
    assert ("d1",) not in want["link"]
