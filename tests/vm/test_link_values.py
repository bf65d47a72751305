# SPDX-License-Identifier: GPL-2.0-or-later
"""What files may say of a link and what the kernel takes are the same, at the ends of numbers and beside others.

A value is refused by both, or the link has it and there is nothing left to do.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import EVERYTHING
from netgroupd.model.attr import Attr
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import differing
from netgroupd.plan.step import Op, Step
from tests.config.reading import problems
from tests.vm.link_cases import BASE, Case, of_kinds

_LOWER = tuple(f"low{number}" for number in range(4))
_OF_OTHERS = frozenset({"private_key_file", "peers", "active_slave", "primary", "offload"})  # files, ports, hardware
_CASES = [case for case in of_kinds() if case.name not in _OF_OTHERS]
_SIX: Attrs = {"id": 5, "remote": "2001:db8::1"}
_VARIANTS: Mapping[str, Sequence[Attrs]] = {
    "vxlan": (
        _SIX,
        {"external": True},
        {"external": True, "vnifilter": True},
        {"id": 5, "gbp": True},
        {"external": True, "learning": False, "gpe": True},
    ),
    "geneve": (_SIX, {"external": True}),
    **dict.fromkeys(("gre", "gretap", "ip6gre", "ip6gretap", "ipip", "ip6tnl"), ({"external": True}, {})),
    "erspan": ({"external": True}, {"erspan_ver": 0}, {"erspan_ver": 2}),
    "ip6erspan": ({"external": True}, {"erspan_ver": 2}),
    "ipip": ({"ttl": 64}, {"external": True}),
    "sit": ({"ttl": 64}, {}),
    "gre": ({"external": True}, {"pmtudisc": False}, {}),
    "xfrm": ({"external": True},),
    "macvlan": tuple({"link": "low0", "mode": mode} for mode in ("passthru", "source", "private", "bridge")),
    "bridge": ({"stp_state": True}, {"vlan_filtering": True}, {"mcast_snooping": False}),
    "hsr": ({"slave1": "low0", "slave2": "low1", "proto": "prp"},),
    "tun": ({"mode": "tun"},),
    "vlan": ({"link": "low0", "id": 5, "protocol": "802.1ad"},),
}


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """The kernel with the links that the others stand on."""
    with Kernel() as opened:
        lower = [Object("link", (name,), {"kind": "dummy", "up": True}) for name in _LOWER]
        assert not opened.apply([Step(Op.CREATE, None, link, link.attrs) for link in lower])
        yield opened


def _ends(row: Attr) -> tuple[Value, ...]:
    schema = row.type.schema
    if "oneOf" in schema:
        schema = schema["oneOf"][0]  # type: ignore[index]
    low, high, words = (schema.get(key) for key in ("minimum", "maximum", "enum"))
    if isinstance(words, list):
        return tuple(words)
    return (
        tuple(dict.fromkeys((low, low + 1, high - 1, high))) if isinstance(low, int) and isinstance(high, int) else ()
    )


def _taken(kernel: Kernel, attrs: Attrs) -> str:
    """What is wrong with a link that is made so, "" if nothing is."""
    link = Object("link", ("it",), {**attrs, "group": GROUP_BASE})
    if refused := kernel.apply([Step(Op.CREATE, None, link, link.attrs)]):
        return str(refused[0].refusal)
    have = kernel.dump(EVERYTHING).link("it")
    assert have
    assert not kernel.apply([Step(Op.DELETE, have, None)])
    left = differing(link, have)
    return f"differs by {dict(left)}" if left else ""


def _disagreements(kernel: Kernel, made: Iterator[Attrs]) -> str:
    found = []
    for attrs in made:
        said = problems(f"links:\n  it: {json.dumps(attrs)}\n", known=_LOWER)
        told = [str(problem) for problem in said if not problem.warning]
        taken = _taken(kernel, attrs)
        if (told and not taken) or (taken and not said):
            found.append(f"{attrs}: {taken or 'taken'}, {told}")
    return "\n".join(found)


def _with(case: Case, base: Attrs, value: Value) -> Attrs:
    return {"kind": case.kind, **base, case.name: value}


def test_at_the_ends_of_what_files_may_say_the_kernel_has_no_other_opinion(kernel: Kernel) -> None:
    made = (_with(case, case.attrs, value) for case in _CASES for value in _ends(case.row))
    assert _disagreements(kernel, made) == ""


def test_what_files_refuse_beside_other_things_the_kernel_refuses_or_forgets(kernel: Kernel) -> None:
    made = (
        _with(case, base, value)
        for case in _CASES
        for base in (BASE.get(case.kind, {}), *_VARIANTS.get(case.kind, ()))
        for value in (case.first, case.second)
        if case.name not in base
    )
    assert _disagreements(kernel, made) == ""
