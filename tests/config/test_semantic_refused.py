# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel refuses is told before; ``tests.vm.test_refused`` asks the kernel about the same cases."""

import pytest

from tests.config.reading import told
from tests.vm.refused_cases import REFUSED, TAKEN


@pytest.mark.parametrize(("text", "want"), REFUSED)
def test_what_the_kernel_refuses_is_told(text: str, want: str) -> None:
    assert f"a.yaml:{want}" in told(text)


@pytest.mark.parametrize(
    "text",
    [
        *TAKEN,
        pytest.param(
            "links:\n  d[1-2]: {kind: dummy}\n  m1: {kind: macsec, link: d1}\n  m2: {kind: macsec, link: d2}\n"
            "  m3: {kind: macsec, link: d1, sci_port: 2}\n  m4: {kind: macsec, link: d1, mac: 02:00:00:00:00:01}\n",
            id="channels_of_their_own",
        ),
        pytest.param(
            "links:\n  b: {kind: bond, numtxqueues: 20}\n  p1: {kind: dummy, master: b, port: {queue_id: 20}}\n"
            "  p[2-3]: {kind: dummy, master: b, port: {queue_id: 0}}\n",
            id="queues_of_a_bond",
        ),
        pytest.param(
            "sysctl: {net.ipv6.conf.default.disable_ipv6: 1}\n"
            "links:\n  d: {kind: dummy, sysctl: {ipv6.disable_ipv6: 0}, addresses: ['2001:db8::1/64']}\n",
            id="a_link_with_ipv6",
        ),
        pytest.param("links: {d: {kind: dummy, up: on}}\nnexthops: {5: {via: 192.0.2.1, fdb: on}}\n", id="fdb"),
    ],
)
def test_what_it_takes_is_not(text: str) -> None:
    assert not told(text)


@pytest.mark.parametrize("known", [("b", "p"), ("b",)])
def test_of_a_bond_that_is_there_nobody_knows_the_queues(known: tuple[str, ...]) -> None:
    text = "links:\n  b: {kind: bond}\n  p: {kind: dummy, master: b, port: {queue_id: 17}}\n"
    assert not told(text, known=known)


def test_bonds_have_a_name_for_their_list() -> None:
    want = "2:3: 'bonding_masters' cannot name a link; the kernel lists the names of its bonds in a file of that name"
    assert told("links:\n  bonding_masters: {kind: dummy}\n") == [f"a.yaml:{want}"]
