# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker is heard whatever descriptors are in use, and with few of them."""

import os
import resource

import pytest

from netgroupd.config.facts import Facts
from netgroupd.config.render import Limits, render
from netgroupd.config.sources import Source, Trust
from netgroupd.errors import Problem
from tests.apart import apart

_TRUST = Trust.of_user(os.getuid(), os.getgid())


def problems() -> tuple[Problem, ...]:
    """What is said of a template that is right."""
    source = Source("a.mako", "a.mako", "links: {}\n")
    return render([source], facts=Facts, templates=(), limits=Limits(), trust=_TRUST)[1]


@pytest.mark.parametrize("number", [97, 98, 99, 100, 101])
def test_worker_is_heard_whatever_the_numbers_of_its_pipes(number: int) -> None:
    held = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while held[-1] < number - 1:
            held.append(os.dup(held[-1]))
        assert problems() == ()
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_worker_needs_no_more_descriptors_than_it_uses() -> None:
    def with_few() -> None:
        os.closerange(3, 1 << 10)  # what the tests and their guests have open
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        assert problems() == ()

    apart(with_few)
