# SPDX-License-Identifier: GPL-2.0-or-later
"""Rendered line -> template line, and what is done with a worker's table that lies."""

from array import array

import pytest

from netgroupd.config.linemap import LINE_BITS, LineMap, Lines, column_in, from_bytes
from netgroupd.config.node import pack
from netgroupd.config.render import Rendered
from netgroupd.config.report import Report
from netgroupd.config.sources import Source

SOURCE = Source("/etc/netgroup/10-a.mako", "10-a.mako", "one\ntwo\nthree")


def packed(*codes: int) -> bytes:
    return array("Q", codes).tobytes()


def test_plain_file_is_its_own_map() -> None:
    lines = LineMap((SOURCE,))
    assert lines.origin(2) == (SOURCE.path, 2)
    assert lines.locate(2, 3, SOURCE.text, Lines()) == (SOURCE, 2, 3)


def test_lines_beyond_the_end_belong_to_the_last() -> None:
    lines = from_bytes([SOURCE], packed(1, 3), "a\nb")
    assert [lines.origin(number) for number in (0, 1, 2, 9)] == [(SOURCE.path, line) for line in (1, 1, 3, 3)]


LIES = [
    pytest.param(packed(1), id="too_few"),
    pytest.param(packed(1, 2, 3), id="too_many"),
    pytest.param(packed(1, 4), id="beyond_the_file"),
    pytest.param(packed(1, 0), id="line_zero"),
    pytest.param(packed(1, (1 << LINE_BITS) + 1), id="unknown_file"),
    pytest.param(packed(1, 2)[:-1], id="half_an_entry"),
]


@pytest.mark.parametrize("table", LIES)
def test_table_that_does_not_fit_is_refused(table: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_bytes([SOURCE], table, "a\nb")


COLUMNS = [
    pytest.param("mtu: 90000", "mtu: 90000", 6, 6, id="same_text"),
    pytest.param("br-${v}: {kind: brigde}", "br-1000: {kind: brigde}", 17, 17, id="word_after_an_expression"),
    pytest.param("${name}: {kind: x}", "swp1: {kind: x}", 8, 11, id="word_moved_left"),
    pytest.param("  id: ${v + 9}", "  id: 5000", 7, 7, id="result_of_an_expression"),
    pytest.param("  ${body()}", "  kind: brigde", 9, 3, id="result_of_a_call"),
]


@pytest.mark.parametrize(("template", "rendered", "column", "want"), COLUMNS)
def test_column_in_template(template: str, rendered: str, column: int, want: int) -> None:
    assert column_in(template, rendered, column) == want


@pytest.mark.parametrize(("number", "want"), [(1, "one"), (3, "three"), (4, ""), (9, "")])
def test_one_line_of_a_text(number: int, want: str) -> None:
    assert Lines().of(SOURCE.text, number) == want


def test_objects_of_a_template_know_their_place_in_it_and_share_it() -> None:
    line = "  {d${v}: {kind: dummy}, last: {kind: dummy}}"
    lines = [line.replace("${v}", str(v)) for v in (8, 9, 10)]
    source, text = Source("a.mako", "a.mako", f"links:\n% for v in (8, 9, 10):\n{line}\n% endfor\n"), "\n".join(lines)
    report = Report([Rendered(source, text, from_bytes([source], packed(3, 3, 3), text))])
    places = [*((number, 4) for number in (1, 2, 3)), (1, lines[0].index("last") + 1), (3, lines[2].index("last") + 1)]
    got = [report.origin(pack(0, *place)) for place in places]
    assert got == [("a.mako", 3, 4)] * 3 + [("a.mako", 3, line.index("last") + 1)] * 2
    assert got[0] is got[1]
