# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan says it takes is what is sent: some links are said in more than one message."""

import pytest

from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.messages import messages
from netgroupd.plan.step import Op, Step


def link(**attrs: Value) -> Object:
    return Object("link", ("d0",), {"kind": "dummy", **attrs})


def change(before: Object, **attrs: Value) -> Step:
    return Step(Op.CHANGE, before, before._replace(attrs={**before.attrs, **attrs}), attrs)


def create(want: Object) -> Step:
    return Step(Op.CREATE, None, want, want.attrs)


NAMED = link(altnames=("a", "b"))


@pytest.mark.parametrize(
    ("step", "count"),
    [
        pytest.param(create(link(mtu=1400)), 1, id="made"),
        pytest.param(create(link(alias="x", carrier=False)), 2, id="made_with_what_is_forgotten"),
        pytest.param(create(link(altnames=("a", "b"))), 2, id="made_with_names"),
        pytest.param(create(link(altnames=())), 1, id="made_without_names"),
        pytest.param(create(link(alias="x", altnames=("a",))), 3, id="made_with_both"),
        pytest.param(create(link(kind="wireguard", listen_port=5)), 2, id="wireguard"),
        pytest.param(create(link(kind="wireguard")), 1, id="wireguard_without_options"),
        pytest.param(change(link(kind="wireguard"), listen_port=5), 1, id="option_of_wireguard"),
        pytest.param(change(link(), alias="x"), 1, id="alias"),
        pytest.param(change(NAMED, altnames=("a", "c")), 2, id="another_name"),
        pytest.param(change(NAMED, altnames=("a", "b", "c")), 1, id="one_name_more"),
        pytest.param(change(NAMED, altnames=("a",), mtu=1400), 2, id="one_name_less_and_more"),
        pytest.param(Step(Op.DELETE, NAMED, None), 1, id="deleted"),
    ],
)
def test_messages_of_a_link_are_counted(step: Step, count: int) -> None:
    assert messages([step, step]) == 2 * count
