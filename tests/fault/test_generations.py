# SPDX-License-Identifier: GPL-2.0-or-later
"""Generations of which a disk kept something else: it is told as such, whatever it is."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.engine.record.disk import read_json
from netgroupd.engine.record.generations import Generations
from netgroupd.errors import JournalError, UsageError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
from netgroupd.plan.serialise import Json
from tests.engine.desk import Desk

CARD = Object("link", ("eth0",), {"kind": "", "up": False, "mtu": 1500, "group": 0})
TEXT = """
groups: {cards: {id: 7, mtu: 1400}}
links: {eth0: {up: true, group: cards, addresses: [192.0.2.%d/24]}, d0: {kind: dummy, group: cards}}
tc: {d0: {ingress: [{pref: 1, matchall: {}, action: drop, optional: true}]}}
"""
_OTHERS: tuple[Json, ...] = (None, 7, -1.5, "", [], [["text"]], {}, {"a": {}}, [7], [[7, []]])


@pytest.fixture
def host(tmp_path: Path) -> Desk:
    host = Desk(tmp_path)
    host.kernel = FakeKernel([CARD])
    for number in (5, 6):
        host.wants(TEXT % number)
        host.engine.apply()
    return host


def asked(host: Desk) -> None:
    """Everything that reads the generations; each may tell that they make no sense."""
    engine = host.engine
    reads = (engine.history, engine.status, engine.diff, engine.drift, engine.recover, engine.decided_against)
    for read in (*reads, engine.apply, engine.rollback, lambda: engine.rollback(1)):
        try:
            read()
        except (JournalError, UsageError) as error:
            # A number can be read, and be none that there is.
            told = "makes no sense" if isinstance(error, JournalError) else "there is no generation"
            assert told in str(error)  # noqa: PT017 - it need not be raised


def written(name: str, was: Json) -> Iterator[bytes]:
    """All that a file may be that is JSON and has something else in one place; the index also as it once was."""
    form = gzip.compress if name != "index" else bytes
    for other in _OTHERS:
        yield form(json.dumps(other).encode())
        for field in was:
            yield form(json.dumps({**was, field: other}).encode())
        for place in range(6 if name == "index" else 0):
            first, *rest = was["generations"]
            listed = [[*first[:place], other, *first[place + 1 :]], *rest]
            yield form(json.dumps({**was, "generations": listed}).encode())


@pytest.mark.parametrize("name", ["index", "1", "2", "1.replaced"])
def test_file_with_something_else_in_one_place_is_read_or_told_to_make_no_sense(host: Desk, name: str) -> None:
    path = host.paths.state / "generations" / name
    kept = {file: file.read_bytes() for file in path.parent.iterdir()}
    for content in written(name, read_json(path)):
        for file in path.parent.iterdir():
            file.unlink()
        for file, was in kept.items():
            file.write_bytes(was)
        path.write_bytes(content)
        asked(host)


@pytest.mark.parametrize("name", ["index", "2", "1.replaced"])
def test_file_with_a_bit_turned_is_as_it_was_or_told_to_make_no_sense(host: Desk, name: str) -> None:
    path = host.paths.state / "generations" / name
    was, written = read_json(path), path.read_bytes()
    for place in range(len(written)):
        turned = bytearray(written)
        turned[place] ^= 1 << place % 8
        path.write_bytes(turned)
        try:
            assert read_json(path) == was
        except JournalError as error:
            assert "move it away" in str(error)  # noqa: PT017 - the header has bits that mean nothing


def test_index_of_an_older_version_is_read_and_has_a_checksum_from_then_on(host: Desk) -> None:
    path, generations = host.paths.state / "generations/index", Generations(host.paths.state)
    listed = generations.all()
    path.write_text(json.dumps(read_json(path)))
    assert generations.all() == listed
    host.engine.rollback()
    assert path.read_bytes().startswith(b"\x1f\x8b")
