# SPDX-License-Identifier: GPL-2.0-or-later
"""The benches' own machinery: every script can start, tables print, plot and survive a failure."""

import importlib
import resource
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import __main__ as runner
from bench import stacks
from bench.costs import messages_of
from bench.harness import Cell, Table, as_json, markdown, significant
from bench.peer_files import Size, ip_lines, ip_removal, netgroupd
from bench.plot import svg
from netgroupd.config import load
from netgroupd.config.facts import Facts
from netgroupd.config.known import Known
from netgroupd.errors import LabError
from netgroupd.lab.kernel import FLAVOURS

SCRIPTS = {path.stem for path in Path(runner.__file__).parent.glob("*.py") if "def measure(" in path.read_text()}

SVG = "{http://www.w3.org/2000/svg}"
SIZES = Table(
    "t",
    "Over sizes",
    ("128 links", "2,048 links"),
    {"slow": (Cell((1.0, 2.0, 3.0)), Cell((9.0,))), "fast": (Cell((0.1,)), Cell((0.2,))), "x": (Cell(), Cell())},
)
KINDS = Table("k", "By kind", ("made",), {"dummy": (Cell((3.0,)),), "vlan": (Cell((4.0,)),), "vrf": (Cell(note="no"),)})


def test_every_script_is_run() -> None:
    assert {bench.name for bench in runner.BENCHES} == SCRIPTS
    assert {kernel for bench in runner.BENCHES for kernel in bench.kernels} <= set(FLAVOURS)


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_script_can_start(name: str) -> None:
    assert callable(importlib.import_module(f"bench.{name}").measure)


def test_a_table_shows_medians_spread_and_what_is_missing() -> None:
    assert "| slow | 2 ±1 s | 9 s |" in markdown(SIZES)
    assert "| x | – | – |" in markdown(SIZES)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.0000153, "0.0000153"), (0.5, "0.5"), (99.96, "100"), (1234567.0, "1,234,567")]
)
def test_a_figure_has_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(("table", "shape", "marks"), [(SIZES, "circle", 4), (KINDS, "rect", 3)])
def test_a_table_is_drawn_with_a_mark_for_each_figure(table: Table, shape: str, marks: int) -> None:
    drawn = ElementTree.fromstring(svg(as_json(table)))
    assert len(drawn.findall(SVG + shape)) == marks


def test_a_bar_says_its_unit_or_which_of_several_columns_it_is() -> None:
    both = KINDS._replace(columns=("made", "removed"), rows={"dummy": (Cell((3.0,)), Cell((4.0,)))})
    for table, told in ((KINDS, ["3 s", "4 s"]), (both, ["3 made", "4 removed"])):
        texts = [text.text for text in ElementTree.fromstring(svg(as_json(table))).iter(f"{SVG}text")]
        assert set(told) <= set(texts)


def test_long_names_have_room_beside_their_bars() -> None:
    name = "what a row is called when it must say much " * 2
    drawn = ElementTree.fromstring(svg(as_json(KINDS._replace(rows={name: KINDS.rows["vlan"], **KINDS.rows}))))
    (label,) = (text for text in drawn.iter(f"{SVG}text") if text.text == name)
    assert float(label.attrib["x"]) > 6 * len(name)


def test_figures_that_are_alike_fill_the_picture_and_their_marks_have_room() -> None:
    rates = {"a": tuple(Cell((rate,), "Mbit/s") for rate in (13_600.0, 15_600.0))}
    drawn = ElementTree.fromstring(svg(as_json(SIZES._replace(rows=rates))))
    marks = [text for text in drawn.iter(f"{SVG}text") if text.text and text.text.endswith("Mbit/s")]
    assert [mark.text for mark in marks] == ["10,000 Mbit/s", "20,000 Mbit/s"]
    assert all(float(mark.attrib["x"]) > 6 * len(mark.text or "") for mark in marks)


def test_each_message_of_a_packet_is_counted() -> None:
    packet = b"".join(struct.pack("=IHHII", 16 + size, 18, 1, 0, 0) + bytes((size + 3) & ~3) for size in (0, 5, 16))
    assert [len(message) for message in messages_of(memoryview(packet))] == [16, 21, 32]


def test_the_peers_get_the_same_stack(tmp_path: Path) -> None:
    size = Size(vlans=3, ports=2)
    netgroupd(size, tmp_path)
    names = {
        str(link.key[0]) for link in load([tmp_path], facts=Facts, links=Known(("p0", "p1"))).state.of("link").values()
    }
    made = {line.split("name ")[-1].split()[0] for line in ip_lines(size).replace("add br", "add name br").splitlines()}
    gone = {line.split()[2] for line in ip_removal(size).splitlines()}
    assert names == made == gone
    assert len(made) == size.links


def test_a_bench_that_fails_is_on_the_page_and_stops_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any) -> None:
        raise LabError("the guest ended after 3.0 s")

    monkeypatch.setattr(runner, "in_guest", refuse)
    told = list(runner.run_one(runner.Bench("groups", ("stock", "patched")), runner.Ask(), tmp_path))
    assert len(told) == 2
    assert "**groups did not finish on patched**: the guest ended after 3.0 s" in runner.page(tmp_path)


def test_a_part_that_fails_leaves_the_others_theirs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = []

    def refuse_first(*asked: Any) -> None:
        run.append(asked[-1])
        if run == [("--only", "a")]:
            raise LabError("the guest ended after 3.0 s")

    monkeypatch.setattr(runner, "in_guest", refuse_first)
    bench = runner.Bench("stacks", ("patched",), parts=(("--only", "a"), ("--only", "b")))
    assert list(runner.run_one(bench, runner.Ask(), tmp_path)) == [
        "stacks on patched: --only a: the guest ended after 3.0 s"
    ]
    assert run == [("--only", "a"), ("--only", "b")]
    run.clear()
    assert not list(runner.run_one(bench, runner.Ask(quick=True), tmp_path))
    assert run == [()]


def test_a_kernel_as_a_process_has_one_processor_or_the_bench_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []
    monkeypatch.setattr(runner, "user_mode_image", lambda name, guest: asked.append((name, guest.cpus)))
    with pytest.raises(LabError, match="no kernel runs as a process of this host"):
        runner.in_guest(runner.Bench("dumps"), "stock", runner.Ask(process=True), tmp_path)
    assert asked == [("stock", 1)]


def test_host_with_few_maps_for_a_process_is_told_how_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maps = tmp_path / "max_map_count"
    monkeypatch.setattr(runner, "_MAPS", maps)
    bench = runner.Bench("stacks", memory_mib=2 * resource.getpagesize() >> 10)
    maps.write_text("2047\n")
    assert runner.short_of_maps([bench]).endswith(": sysctl vm.max_map_count=2048")
    maps.write_text("2048\n")
    assert not runner.short_of_maps([bench])


@pytest.mark.parametrize("name", stacks.NAMES)
def test_a_stack_can_be_cut_to_any_size(name: str, tmp_path: Path) -> None:
    text = stacks.cut((stacks.STACKS / f"{name}.yaml").read_text(), 2)
    (tmp_path / "stack.yaml").write_text(text)
    (tmp_path / "ports.yaml").write_text("links:\n  swp[1-128]: {kind: dummy}\n")
    assert 128 < len(load([tmp_path], facts=Facts).state.of("link")) < 1000
