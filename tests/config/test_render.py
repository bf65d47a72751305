# SPDX-License-Identifier: GPL-2.0-or-later
"""Templates -> text with the origin of every line, and every way a template can be wrong."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from netgroupd.config import process
from netgroupd.config.facts import Facts, Hardware
from netgroupd.config.render import Limits, Rendered, render
from netgroupd.config.sources import Trust, read_sources
from netgroupd.errors import Problem
from tests.apart import apart

Outcome: TypeAlias = tuple[tuple[Rendered, ...], tuple[Problem, ...]]
Run: TypeAlias = Callable[..., Outcome]
FACTS = Facts("leaf1", 4 << 30, (Hardware("swp1", "mlxsw_spectrum", "02:00:00:00:00:01"),))
_LIMITS = Limits()
TRUST = Trust.of_user(os.getuid(), os.getgid())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write files, read them as a configuration, render them."""
    tmp_path.chmod(0o755)

    def of(files: Mapping[str, str], limits: Limits = _LIMITS) -> Outcome:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        sources, problems = read_sources([tmp_path], trust=TRUST)
        assert problems == ()
        return render(sources, facts=lambda: FACTS, templates=[tmp_path], limits=limits, trust=TRUST)

    return of


def shown(outcome: Outcome) -> list[str]:
    """Write each rendered line with its origin."""
    assert outcome[1] == ()
    return [
        f"{Path(file).name}:{line} {text}"
        for one in outcome[0]
        for number, text in enumerate(one.text.splitlines(), 1)
        for file, line in [one.lines.origin(number)]
    ]


def complaints(outcome: Outcome) -> list[str]:
    """Write each problem with the base name of its file."""
    return [str(problem._replace(file=Path(problem.file).name)) for problem in outcome[1]]


def test_plain_yaml_passes_through_without_a_worker(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(process, "_spawn", never)
    assert shown(run({"10-a.yaml": "a: ${b}\n% x\n"})) == ["10-a.yaml:1 a: ${b}", "10-a.yaml:2 % x"]


ORIGINS = [
    pytest.param(
        "% for v in range(2):\nbr-${v}:\n  stp: true\n\n% endfor\nend: 1\n",
        ["2 br-0:", "3   stp: true", "4 ", "2 br-1:", "3   stp: true", "4 ", "6 end: 1"],
        id="loop",
    ),
    pytest.param(
        "% for v in range(2):\n% for w in (7, 8):\n${v}${w}: \\\n{}\n% endfor\n% endfor\n",
        ["3 07: {}", "3 08: {}", "3 17: {}", "3 18: {}"],
        id="nested_loops_and_a_joined_line",
    ),
    pytest.param("## a comment\n<%doc>\nmore\n</%doc>\na: 1\n", ["4 ", "5 a: 1"], id="comments"),
    pytest.param("<%\nx = 1\ny = 2\n%>\na: ${x}\n", ["4 ", "5 a: 1"], id="python_block"),
    pytest.param("a: |\n  ${'1\\n2\\n3'}\nb: 1\n", ["1 a: |", "2   1", "2 2", "2 3", "3 b: 1"], id="lines_of_a_value"),
    pytest.param("a:\n  - ${'x'}\n  - ${'y'} ${'z'}\n", ["1 a:", "2   - x", "3   - y z"], id="values"),
    pytest.param("a: |\n%% x\nb: 1\n", ["1 a: |", "2 % x", "3 b: 1"], id="escaped_percent"),
    pytest.param(
        '<%def name="f(x)">\n  ${x}: 1\n  more: 2\n</%def>\\\na:\n${f("k")}\\\nb: 3\n',
        ["5 a:", "1 ", "2   k: 1", "3   more: 2", "7 b: 3"],
        id="definition",
    ),
    pytest.param(
        '<%def name="each()">\\\n% for v in range(2):\n${caller.body(v=v)}\\\n% endfor\n</%def>\\\n'
        '<%self:each args="v">\\\nk${v}: 1\n</%self:each>\\\nend: 1\n',
        ["7 k0: 1", "7 k1: 1", "9 end: 1"],
        id="call_with_a_body",
    ),
    pytest.param(
        "<%\nfor v in range(2):\n    context.write(f'k{v}: 1\\n')\n%>\\\n", ["3 k0: 1", "3 k1: 1"], id="written"
    ),
    pytest.param("a: 1\r\nb: ${2}\r\n", ["1 a: 1", "2 b: 2"], id="carriage_returns"),
    pytest.param("<%text>a: ${x}\n% for\n</%text>b: 1\n", ["1 a: ${x}", "2 % for", "3 b: 1"], id="verbatim"),
]


@pytest.mark.parametrize(("template", "want"), ORIGINS)
def test_every_line_knows_its_origin(run: Run, template: str, want: list[str]) -> None:
    assert [line.partition(":")[2] for line in shown(run({"10-a.mako": template}))] == want


def test_lines_of_an_included_file_are_its_own(run: Run) -> None:
    files = {
        "10-a.mako": 'links:\n  <%include file="parts/b.mako"/>\nend: 1\n',
        "parts/b.mako": '% for v in (1, 2):\n  br${v}: {}\n% endfor\n<%include file="c.mako" args="n=5"/>',
        "parts/c.mako": '<%page args="n"/>\\\n  c${n}: {}\n',
    }
    want = ["10-a.mako:1 links:", "b.mako:2     br1: {}", "b.mako:2   br2: {}", "c.mako:2   c5: {}", "10-a.mako:2 "]
    assert shown(run(files)) == [*want, "10-a.mako:3 end: 1"]


def test_two_templates_can_include_the_same_file(run: Run) -> None:
    part = "p${names('swp1-2')[v]}: 1\n"
    files = {
        "10-a.mako": '<%include file="parts/p.mako" args="v=0"/>',
        "20-b.mako": 'b: 1\n<%include file="parts/p.mako" args="v=1"/>',
        "30-c.mako": '<%include file="parts/p.mako" args="v=2"/>',
        "parts/p.mako": f'<%page args="v"/>\\\n{part}',
    }
    rendered, problems = run(files)
    origins = [[Path(one.lines.origin(number)[0]).name for number in (1, 2)] for one in rendered]
    assert [one.text for one in rendered] == ["pswp1: 1\n", "b: 1\npswp2: 1\n"]
    assert (origins[0][0], origins[1]) == ("p.mako", ["20-b.mako", "p.mako"])
    [problem] = problems
    assert (Path(problem.file).name, problem.line, problem.hint.rpartition("/")[2]) == ("p.mako", 2, "30-c.mako:1")


def test_definitions_come_from_another_file(run: Run) -> None:
    files = {
        "10-a.mako": '<%namespace name="lib" file="parts/lib.mako"/>\\\nlinks:\n${lib.bridge(3)}\\\n',
        "parts/lib.mako": '<%def name="bridge(n)">\\\n  br${n}: {}\n</%def>\\\n',
    }
    assert shown(run(files)) == ["10-a.mako:2 links:", "lib.mako:2   br3: {}"]


def test_position_of_a_rendered_word_is_that_in_the_template(run: Run) -> None:
    [one], _ = run({"10-a.mako": "links:\n% for v in range(1000, 1003):\n  br-${v}: {kind: brigde}\n% endfor\n"})
    problem = one.problem(4, 19, "no such kind")
    assert (problem.line, problem.column) == (3, 19)
    assert problem.text == "  br-${v}: {kind: brigde}"


VOCABULARY = [
    pytest.param("${host.name} ${host.memory}", "leaf1 4294967296", id="host"),
    pytest.param("${[link.name for link in host.links if link.driver == 'mlxsw_spectrum']}", "['swp1']", id="links"),
    pytest.param("${' '.join(names('swp1-2.100'))}", "swp1.100 swp2.100", id="names"),
    pytest.param("${numbers('1-3,7')} ${fold([3, 1, 2, 7])}", "[1, 2, 3, 7] 1-3,7", id="numbers"),
    pytest.param("${address('10.0.0.1/16', 256)} ${address('::ff', 1)}", "10.0.1.1/16 ::100", id="address"),
    pytest.param("${mac('02:00:00:00:00:ff', 1)}", "02:00:00:00:01:00", id="mac"),
    pytest.param(
        "${subnet('10.0.0.0/8', 24, 257)} ${subnet('fd00::/32', 64, 1)}", "10.1.1.0/24 fd00:0:0:1::/64", id="subnet"
    ),
    pytest.param("${variables('vars/site.yaml')['vlans'][1]}", "20", id="variables"),
    pytest.param(
        "${'no' | yaml} ${[1, None, True] | yaml} ${range(2) | yaml}", '"no" [1, null, true] [0, 1]', id="yaml"
    ),
    pytest.param("<%! import json, re, math, ipaddress %>${math.floor(2.5)}", "2", id="modules"),
]


@pytest.mark.parametrize(("template", "want"), VOCABULARY)
def test_names_that_templates_have(run: Run, template: str, want: str) -> None:
    rendered, problems = run({"10-a.mako": template, "vars/site.yaml": "vlans: [10, 20]\n"})
    assert problems == ()
    assert rendered[0].text == want


WRONG = [
    pytest.param(
        "a: 1\n% for v in x\n% endfor", "2:1: '% for v in x' does not open a block; end the line with ':'", id="colon"
    ),
    pytest.param("a: 1\n% for v in (1, 2):\nb: 2\n", "2:1: '% for' is never closed; add '% endfor'", id="open_loop"),
    pytest.param("a: 1\n% endfor\n", "2:1: there is no '% for' that this line could end", id="only_end"),
    pytest.param(
        "% for v in (1,):\n% if v:\na\n% endfor\n% endif\n", "4:1: '% endfor' where '% endif' is expected", id="crossed"
    ),
    pytest.param("a: 1\n  b: ${1 +\n", "2:6: '${' is never closed; add the '}'", id="open_expression"),
    pytest.param("a: 1\nb: ${1 if}\n", "2:4: not Python: invalid syntax in '1 if'", id="not_python"),
    pytest.param("a: 1\n  b: ${ }\n", "2:6: there is nothing between '${' and '}'", id="empty_expression"),
    pytest.param("% x = 1", "1:1: '% x = 1' does not open a block; a name is given a value by <% x = 1 %>", id="set"),
    pytest.param("a: 1\n<% x = \n", "2:1: '<%' is never closed; add the '%>'", id="open_block"),
    pytest.param(
        "a: 1\n<%foo/>\n",
        "2:1: there is no tag <%foo>; they are include, namespace, def, block, call, page, text and doc",
        id="tag",
    ),
    pytest.param("a: 1\nb: ${nmes('x')}\n", "2:6: unknown name 'nmes'; did you mean 'names'?", id="name"),
    pytest.param("a: 1\nb: ${1 // 0}\n", "2:4: integer division or modulo by zero (ZeroDivisionError)", id="division"),
    pytest.param("a: ${1}${{}['k']}\n", "1:8: there is no 'k'", id="second_expression"),
    pytest.param(
        "a: 1\n<%\n[].sotr()\n%>",
        "3:1: 'list' object has no attribute 'sotr' (AttributeError); did you mean 'sort'?",
        id="in_a_block",
    ),
    pytest.param("% for v in 5:\n% endfor", "1:1: 'int' object is not iterable (TypeError)", id="control_line"),
    pytest.param("a: ${fail('needs a spine; set spine in vars')}", "1:4: needs a spine; set spine in vars", id="fail"),
    pytest.param("a: ${numbers('5-1')}", "1:4: 5-1 runs backwards: 5 is greater than 1 (ValueError)", id="notation"),
    pytest.param(
        "a: ${mac('02:00', 1)}", "1:4: '02:00' is not a MAC address such as 02:00:00:00:00:01 (ValueError)", id="mac"
    ),
    pytest.param("a: ${variables('../x.yaml')}", "1:4: there is no file '../x.yaml' to include", id="outside"),
    pytest.param(
        'a: 1\n<%include file="/etc/shadow"/>',
        "2:1: 'etc/shadow' cannot be included; only *.mako and *.yaml can",
        id="absolute",
    ),
    pytest.param(
        '<%include file="vars/bd.yaml"/>',
        "1:1: there is no file 'vars/bd.yaml' to include; did you mean 'vars/bad.yaml'?",
        id="near",
    ),
    pytest.param('<%include file="10-a.mako"/>', "1:1: the template includes or calls itself without end", id="itself"),
    pytest.param("<% context.write(5) %>", "1:1: this expression gives a int, not text", id="not_text"),
    pytest.param("<% import yamll %>", "1:1: templates cannot import yamll; they have collections", id="module"),
    pytest.param("<%! x = 1 / 0 %>", "1:1: division by zero (ZeroDivisionError)", id="module_level"),
    pytest.param("<%! def f(: %>", "1:1: not Python: invalid syntax", id="module_level_syntax"),
    pytest.param("\n<%page cached='True'/>a", "", id="cache"),
]


@pytest.mark.parametrize(("template", "want"), WRONG)
def test_mistake_is_reported_where_it_is(run: Run, template: str, want: str) -> None:
    rendered, problems = run({"10-a.mako": template, "vars/bad.yaml": "a: [\n"})
    assert rendered == ()
    [complaint] = complaints((rendered, problems))
    assert complaint.startswith(f"10-a.mako:{want}")


def test_every_unknown_name_and_every_file_is_reported_at_once(run: Run) -> None:
    outcome = run({"10-a.mako": "a: ${x}\nb: ${y}${x}\n", "20-b.mako": "ok: 1\n", "30-c.mako": "% if z:\n% endif\n"})
    want = ["10-a.mako:1:6: unknown name 'x'", "10-a.mako:2:6: unknown name 'y'", "30-c.mako:1:6: unknown name 'z'"]
    assert complaints(outcome) == want
    assert [one.text for one in outcome[0]] == ["ok: 1\n"]


def test_mistake_in_an_included_file_names_it_and_the_way_there(run: Run, tmp_path: Path) -> None:
    files = {
        "10-a.mako": 'a: 1\n\n<%include file="parts/b.mako"/>',
        "parts/b.mako": 'b: 1\n<%include file="c.mako"/>',
        "parts/c.mako": "c: 1\nd: 2\n  e: ${1 + 'x'}",
    }
    [problem] = run(files)[1]
    assert (problem.file, problem.line, problem.column) == (str(tmp_path / "parts/c.mako"), 3, 6)
    assert problem.text == "  e: ${1 + 'x'}"
    assert problem.hint == f"included from {tmp_path}/parts/b.mako:2, from {tmp_path}/10-a.mako:3"


def test_syntax_error_in_an_included_file_is_at_its_line(run: Run, tmp_path: Path) -> None:
    files = {"10-a.mako": '<%include file="parts/b.mako"/>', "parts/b.mako": "a: 1\n% for v in (1,):\n"}
    [problem] = run(files)[1]
    assert (problem.file, problem.line) == (str(tmp_path / "parts/b.mako"), 2)


def test_included_file_of_somebody_else_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/b.mako").write_text("b: 1\n")
    (tmp_path / "parts/b.mako").chmod(0o666)
    [complaint] = complaints(run({"10-a.mako": '<%include file="parts/b.mako"/>'}))
    assert complaint.startswith("10-a.mako:1:1: the file can be written by everybody (mode 0666)")


def test_included_link_that_leads_out_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/passwd.mako").symlink_to("/etc/passwd")
    rendered, problems = run({"10-a.mako": '<%include file="parts/passwd.mako"/>'})
    assert rendered == ()
    assert "the link leads out of the configuration" in problems[0].message


def test_template_after_one_that_killed_its_worker_is_rendered(run: Run) -> None:
    outcome = run({"10-a.mako": "<% import os; os._exit(1) %>", "20-b.mako": "b: 1\n"})
    assert complaints(outcome) == ["10-a.mako:1:1: the template ended its worker"]
    assert [one.text for one in outcome[0]] == ["b: 1\n"]


def test_sleeping_template_is_ended_at_its_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LATE_S", 60)  # a busy host may let it explain itself only later
    outcome = run({"10-a.mako": "a: 1\n<%\nimport time\ntime.sleep(1000)\n%>"}, Limits(wall_s=1))
    [complaint] = complaints(outcome)
    assert complaint.startswith("10-a.mako:4:1: the template takes more time than it is given")


@pytest.mark.parametrize("late_s", [0, 0.5])
def test_time_is_that_of_all_templates_together(run: Run, monkeypatch: pytest.MonkeyPatch, late_s: float) -> None:
    late = f"arm = signal.setitimer\nsignal.setitimer = lambda *all: (arm(*all), time.sleep({late_s}))\n"
    monkeypatch.setattr(process, "BOOT", f"import signal, time\n{late}{process.BOOT}")
    files = {"10-a.mako": "<% import time; time.sleep(1000) %>", "20-b.mako": "b: 1\n"}
    assert complaints(run(files, Limits(wall_s=1)))[1:] == [
        "20-b.mako:1:1: not rendered: the templates before it took all the time there is"
    ]


def test_slow_start_is_not_held_against_the_template(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BOOT", "import time; time.sleep(4)\n" + process.BOOT)
    assert shown(run({"10-a.mako": "a: ${1}\n"}, Limits(wall_s=3))) == ["10-a.mako:1 a: 1"]


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_worker_and_no_descriptor_is_left_behind(run: Run) -> None:
    def counted() -> None:
        before = _open_descriptors()
        run({"10-a.mako": "a: 1\n", "20-b.mako": "<% import os; os._exit(1) %>", "30-c.mako": "c: ${d}\n"})
        assert _open_descriptors() == before
        with pytest.raises(ChildProcessError):
            os.wait()

    apart(counted)


def test_sentence_cannot_drive_a_terminal(run: Run) -> None:
    [problem] = run({"10-a.mako": "<% fail('\\x1b[2Jgone\\n' + 'x' * 10000) %>"})[1]
    assert problem.message.isprintable()
    assert len(problem.message) <= 500


def test_output_beyond_the_limit_is_refused(run: Run) -> None:
    [complaint] = complaints(run({"10-a.mako": "${'x' * 2000000}"}, Limits(output=1 << 20)))
    assert complaint.startswith("10-a.mako:1:1: gives more than 1 MiB of text")


def test_worker_has_nothing_of_its_parent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETGROUPD_SECRET", "hidden")
    rendered, _ = run({"10-a.mako": "<% import os %>${sorted(os.environ)} ${os.geteuid()}"})
    assert "SECRET" not in rendered[0].text
    assert not rendered[0].text.endswith(" 0")


FORGE = """<%
import json, os, struct
def forge(header, payload=b""):
    head = json.dumps(header).encode()
    os.write(4, struct.pack(">IQ", len(head), len(payload)) + head + payload)
%>"""


def test_forged_request_gets_no_file_outside(run: Run) -> None:
    wanted = [
        ("shadow", "/etc/x"),
        ("../etc/x.mako", ""),
        ("/etc/shadow", ""),
        ("../../../etc/shadow", "a/b"),
        ("etc/shadow", "/x"),
    ]
    asked = "".join(
        f"<% forge({{'fetch': {name!r}, 'from': {includer!r}}}) %>${{b'missing' in os.read(3, 65536)}}\n"
        for name, includer in wanted
    )
    rendered, problems = run({"10-a.mako": f"{FORGE}{asked}"})
    assert problems == ()
    assert rendered[0].text.split() == ["True"] * len(wanted)


FORGED = [
    pytest.param({"faults": [[0, 10**30, 10**30, "x" * 10**5, "\x1b[2J"]]}, (7, 4), id="fault_far_away"),
    pytest.param({"faults": [[7, 1, 1, "x", ""]]}, (1, 1), id="fault_in_no_file"),
    pytest.param({"faults": "x"}, (1, 1), id="fault_of_no_shape"),
    pytest.param({"faults": 5}, (1, 1), id="faults_that_are_a_number"),
    pytest.param({"faults": []}, (1, 1), id="no_faults"),
    pytest.param({"text": -1}, (1, 1), id="text_of_negative_size"),
    pytest.param({"text": 10**9}, (1, 1), id="text_that_is_not_there"),
    pytest.param({"fetch": ["x"], "from": 5}, (1, 1), id="request_of_no_shape"),
    pytest.param({"what": 1}, (1, 1), id="of_no_kind"),
]


@pytest.mark.parametrize(("header", "place"), FORGED)
def test_forged_answer_is_believed_no_further_than_it_goes(
    run: Run, header: Mapping[str, object], place: tuple[int, int]
) -> None:
    rendered, problems = run({"10-a.mako": f"{FORGE}<% forge({header!r}); os._exit(0) %>\nabc"})
    assert rendered == ()
    [problem] = problems
    assert (problem.line, problem.column) == place
    assert str(problem).isprintable()
    assert len(str(problem)) < 2000


def test_missing_library_is_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LIBRARIES", ("mako", "no_such_library"))
    [problem] = run({"10-a.mako": "a: 1\n", "20-b.yaml": "b: 1\n"})[1]
    assert problem.message == "templates need the Python library no_such_library, which is not installed"


def test_worker_that_does_not_start_is_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BOOT", "raise ImportError")
    [problem] = run({"10-a.mako": "a: 1\n"})[1]
    assert problem.message == "the process that renders templates did not start"


def test_file_asked_for_again_is_held_once(run: Run) -> None:
    forge = "".join("<% forge({'fetch': 'parts/b.mako', 'from': ''}); os.read(3, 65536) %>" for _ in range(20))
    rendered, problems = run({"10-a.mako": f"{FORGE}{forge}a: 1", "parts/b.mako": "b: 1"})
    assert problems == ()
    assert len(rendered[0].lines.files) == 2
