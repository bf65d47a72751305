# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``netgroupctl show`` tells of what is there, of which the kernel knows more than anybody has asked for."""

from pathlib import Path

import pytest

from netgroupd.cli.main import main
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Attrs, Object

CONFIG = """\
links:
  d[1-2]: {kind: dummy, up: true, alias: asked, ethtool: {features: {tso: false}}, addresses: ["192.0.2.{1}/24"]}
routes: [{to: 198.51.100.0/24, dev: d2}]
tc:
  d1:
    qdiscs: [{parent: root, handle: "1:", kind: fq_codel, limit: 1000}]
    ingress:
      - pref: 10
        protocol: ip
        flower: {dst_ip: "10.0.0.[1-2]"}
        action: {police: {rate: 8mbit, burst: 10kb, control: drop}}
"""
POLICE: Attrs = {"kind": "police", "rate": 1_000_000, "burst": 10_240, "control": "drop", "overhead": 0, "mtu": 2040}
NOT_ASKED: dict[str, Attrs] = {
    "link": {"mac": "02:00:00:00:00:01", "txqueuelen": 1000},
    "ethtool": {"gso": True},
    "qdisc": {"flows": 1024},
}

LINKS = ["dummy d[1-2]  up  mtu 1500  alias asked (2)"]
ON_D1 = [
    "qdisc d1  clsact  kind clsact",
    "qdisc d1  root  handle 1:  kind fq_codel  limit 1000",
    "filter d1 ingress pref 10 dst_ip 10.0.0.[1-2]  kind flower  protocol ip  "
    "actions (kind police rate 8mbit burst 10240 control drop) (2)",
]


@pytest.fixture
def applied(host: Path, kernel: FakeKernel, capsys: pytest.CaptureFixture[str]) -> FakeKernel:
    """The kernel of a host on which the configuration is in effect, as a real one tells of it."""
    (host / "config/all.yaml").write_text(CONFIG)
    assert main(["--offline", "apply"]) == 0
    for number, obj in enumerate([*kernel.state]):
        more: Attrs = NOT_ASKED.get(obj.cls, {})
        if obj.cls == "filter":
            more = {"handle": number, "actions": (POLICE,)}
        elif obj.cls == "address":
            more = {"label": obj.name, "scope": "global", "valid_lft": "forever"}
        kernel.state.add(obj._replace(attrs={**obj.attrs, **more}))
    capsys.readouterr()
    return kernel


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["links"], LINKS, id="links"),
        pytest.param(["addresses"], ["address d[1-2]  192.0.2.1…192.0.2.2/24 (2)"], id="addresses"),
        pytest.param(["tc"], ON_D1, id="folded_whatever_the_handles_are"),
        pytest.param(["tc", "d1"], ON_D1, id="of_a_link"),
        pytest.param(["route", "d2"], ["route 198.51.100.0/24  dev d2"], id="by_a_link"),
        pytest.param(["ethtool", "d2"], ["ethtool d2  features  tso off"], id="drivers"),
    ],
)
def test_what_is_there_is_told_as_far_as_it_was_asked_for(
    words: list[str], told: list[str], applied: FakeKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--offline", "show", *words]) == 0
    assert capsys.readouterr().out.splitlines() == told


def test_link_that_nobody_asked_for_is_told_in_short(applied: FakeKernel, capsys: pytest.CaptureFixture[str]) -> None:
    d1 = applied.state.of("link")[("d1",)]
    applied.state.add(Object("link", ("d9",), d1.attrs))
    assert main(["--offline", "show", "links", "d9"]) == 0
    assert capsys.readouterr().out == "dummy d9  up  mtu 1500\n"


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["neighbours", "d1"], 1, "there is no neighbour 'd1' that is owned or configured"),
        (["vrf", "d1"], 1, "there is no VRF 'd1' that is owned or configured"),
        (["d1", "d2"], 64, "'d1' is not among what can be listed: link, group, vrf, "),
    ],
)
def test_what_is_not_there_is_told(
    words: list[str], status: int, told: str, applied: FakeKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--offline", "show", *words]) == status
    assert capsys.readouterr().err.startswith(f"error: {told}")
