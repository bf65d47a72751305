# SPDX-License-Identifier: GPL-2.0-or-later
"""`check` and `render` on files, as they are typed."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from netgroupd.cli.main import main

TEMPLATE = """\
links:
% for v in range(2):
  br-${v}:
    kind: bridge
<%include file="ports.mako" args="v=v"/>\\
% endfor
"""
INCLUDED = """\
<%page args="v"/>\\
    ports: swp1.${v}
    knid: this is not checked
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "10-bridges.mako").write_text(TEMPLATE)
    (tmp_path / "ports.mako").write_text(INCLUDED)
    (tmp_path / "20-plain.yaml").write_text("links:\n  swp1: {up: true}\n")
    return tmp_path


def netgroupctl(*arguments: object, module: str = "netgroupd.cli.main") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


on_a_fake = partial(netgroupctl, module="tests.cli.on_a_fake")


def test_render_tells_the_line_of_each_line_through_loops_and_includes(place: Path) -> None:
    got = netgroupctl("render", "--origins", "--config", place / "10-bridges.mako", "--config", place / "20-plain.yaml")
    bridges = [
        f"{where}:{text}"
        for v in (0, 1)
        for where, text in (
            ("10-bridges.mako:3", f"  br-{v}:"),
            ("10-bridges.mako:4", "    kind: bridge"),
            ("ports.mako:2", f"    ports: swp1.{v}"),
            ("ports.mako:3", "    knid: this is not checked"),
        )
    ]
    want = ["10-bridges.mako:1:links:", *bridges, "20-plain.yaml:1:links:", "20-plain.yaml:2:  swp1: {up: true}"]
    assert got.stdout.replace(f"{place}/", "").splitlines() == want


def test_rendered_lines_come_as_json_too(place: Path) -> None:
    got = netgroupctl("render", "--origins", "--json", "--config", place / "10-bridges.mako")
    want = {"file": f"{place}/ports.mako", "line": 2, "text": "    ports: swp1.0"}
    assert json.loads(got.stdout)["lines"][3] == want


def test_render_prints_what_check_would_refuse(place: Path) -> None:
    got = netgroupctl("render", "--config", place / "10-bridges.mako")
    assert (got.returncode, got.stdout.count("knid")) == (0, 2)


def test_render_fails_where_the_template_does(place: Path) -> None:
    (place / "ports.mako").write_text("${missing}")
    got = netgroupctl("render", "--config", place / "10-bridges.mako")
    assert (got.returncode, got.stdout) == (1, "")
    assert "ports.mako:1:3: unknown name 'missing'" in got.stderr


def test_show_without_a_word_is_everything_that_is_asked_for(place: Path) -> None:
    link = "{kind: dummy, alias: 'a [[b]]', sysctl: {ipv4.rp_filter: 0}}"
    (place / "30-more.yaml").write_text(f"links:\n  d[1-3]: {link}\nrules:\n- {{pref: 5, lookup: 7}}\n")
    argv = ("show", "--desired", "--config", place / "20-plain.yaml", "--config", place / "30-more.yaml")
    assert on_a_fake(*argv).stdout.splitlines() == [
        "dummy d[1-3]  alias a [b] (3)",
        "link swp1  up",
        "sysctl net/ipv4/conf/d[1-3]/rp_filter  value 0 (3)",
        "rule 5  inet  lookup 7",
    ]
    assert {obj["class"] for obj in json.loads(on_a_fake(*argv, "--json").stdout)} == {"link", "sysctl", "rule"}


ON_ONE_HOOK = """\
links: {"d[1-2]": {kind: dummy}}
tc:
  d[1-2]: {qdiscs: {kind: htb, handle: "1:"}, classes: {classid: "1:1", rate: 5}, ingress: {pref: 1, matchall: {}}}
"""


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (("filter", "d2"), ["filter d2 ingress pref 1  kind matchall  protocol all"]),
        (("classes",), ["class d[1-2]  1:1  parent 1:  rate 40bit  kind htb (2)"]),
        (("class", "d1"), ["class d1  1:1  parent 1:  rate 40bit  kind htb"]),
    ],
)
def test_show_takes_what_its_lines_begin_with(place: Path, asked: tuple[str, ...], shown: list[str]) -> None:
    (place / "hook.yaml").write_text(ON_ONE_HOOK)
    ended = on_a_fake("show", "--desired", "--config", place / "hook.yaml", *asked)
    assert ended.stdout.splitlines() == shown


IN_VRFS = """\
links:
  d[1-3]: {kind: dummy, addresses: ["10.0.{1}.1/24"]}
vrfs:
  red: {table: 7, links: "d[1-2]"}
  blue: {table: 8, links: d3}
routes:
- {to: 10.9.0.0/16, via: 10.0.1.2, vrf: red}
- {to: 10.9.0.0/16, via: 10.0.3.2, vrf: blue}
neighbours:
- {dev: d2, ip: 10.0.2.2, lladdr: "02:00:00:00:00:02"}
- {dev: d3, ip: 10.0.3.2, lladdr: "02:00:00:00:00:03"}
"""


def test_show_vrf_is_all_that_is_in_it_and_nothing_else(place: Path) -> None:
    (place / "30-vrfs.yaml").write_text(IN_VRFS)
    argv = ("show", "--desired", "--config", place / "30-vrfs.yaml", "vrf")
    assert on_a_fake(*argv, "red").stdout.splitlines() == [
        "dummy d[1-2]  master red (2)",
        "vrf red  table 7",
        "address d[1-2]  10.0.1.1…10.0.2.1/24 (2)",
        "route 10.9.0.0/16 table 7  via 10.0.1.2",
        "neighbour d2  10.0.2.2  lladdr 02:00:00:00:00:02",
    ]
    assert [line.split() for line in on_a_fake(*argv).stdout.splitlines()[1:]] == [
        ["red", "2", "d[1-2]"],
        ["blue", "1", "d3"],
    ]
    assert netgroupctl(*argv[:-1], "red").stdout == netgroupctl(*argv, "red").stdout


def test_show_link_is_all_that_is_on_it(place: Path) -> None:
    (place / "30-vrfs.yaml").write_text(f"{IN_VRFS}- {{dev: d2, ip: 10.0.2.9, proxy: true}}\n")
    argv = ("show", "--desired", "--config", place / "30-vrfs.yaml")
    assert on_a_fake(*argv, "d2").stdout.splitlines() == [
        "dummy d2  master red",
        "address d2  10.0.2.1/24",
        "neighbour d2  10.0.2.2  lladdr 02:00:00:00:00:02",
        "neighbour d2  10.0.2.9  proxy",
    ]
    ended = on_a_fake(*argv, "linkz")
    said = "error: there is no link 'linkz' that is owned or configured; did you mean 'link'?\n"
    assert (ended.returncode, ended.stderr) == (1, said)


GROUPS = """\
groups: {access: {up: true}, empty: {up: true}, edge: {members: [access]}, core: {members: [edge]}}
links: {"acc[1-3]": {kind: dummy, group: access}, ring: {kind: dummy, group: edge}, other: {kind: dummy, group: 7}}
"""


@pytest.mark.parametrize(
    ("group", "shown"),
    [
        ("access", ["dummy acc[1-3]  group access  up (3)"]),
        ("edge", ["dummy acc[1-3]  group access  up (3)", "dummy ring      group edge"]),
        ("core", ["dummy acc[1-3]  group access  up (3)", "dummy ring      group edge"]),
        ("empty", []),
        ("7", ["dummy other  group 7"]),
        ("nosuch", ["error: there is no group 'nosuch' that is owned or configured"]),
    ],
)
def test_show_group_is_the_links_of_it_and_of_the_groups_inside(place: Path, group: str, shown: list[str]) -> None:
    (place / "groups.yaml").write_text(GROUPS)
    ended = on_a_fake("show", "--desired", "--config", place / "groups.yaml", "group", group)
    assert (ended.stdout + ended.stderr).splitlines() == shown
    assert ended.returncode == (group == "nosuch")


def test_show_groups_has_all_of_them(place: Path) -> None:
    (place / "groups.yaml").write_text(GROUPS)
    shown = on_a_fake("show", "--desired", "--config", place / "groups.yaml", "groups").stdout.splitlines()
    assert {line.split()[0]: line.split()[1] for line in shown[1:]} == dict(
        core="4", edge="4", access="3", empty="0", netgroupd="0", **{"7": "1"}
    )


@pytest.mark.parametrize(
    ("argv", "status", "told"),
    [
        (["--netns", "", "show", "links"], 1, "error: '' is no name of a network namespace"),
        (["--netns", "..", "show", "links"], 1, "error: '..' is no name of a network namespace"),
        (["--netns", "/dev/null", "show", "links"], 1, "error: /dev/null is no network namespace"),
        (["check", "--config", ""], 64, "error: --config has an empty path"),
        (
            ["status", "--netns", "", "--wait-online", "1"],
            64,
            "error: --wait-online asks the daemon; it cannot be offline",
        ),
        (["watch", "--offline"], 64, "error: watch shows what the daemon sees; it cannot be offline"),
        (["rehearse", "--memory", "lots"], 64, "error: --memory: expected a size such as 512M or 4G, not 'lots'"),
        (
            ["graph", "--output", "net.gif"],
            64,
            "error: --output: expected a name that ends in .svg or .png, not 'net.gif'",
        ),
        (["reload", "--offline"], 64, "error: reload is for the daemon; without it, use apply"),
    ],
)
def test_what_makes_no_sense_is_refused(argv: list[str], status: int, told: str) -> None:
    ended = netgroupctl(*argv)
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (status, "", told)


def test_check_says_that_there_is_no_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "network.conf").write_text("links: {}\n")
    ended = on_a_fake("check", "--config", tmp_path)
    want = f"{tmp_path}:1:1: warning: there is no file here; only names in .mako and .yaml are read\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", want)


DOUBTFUL = """links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}}
routes:
  - {to: 10.9.0.0/16, via: 192.0.2.1, dev: a}
"""


@pytest.mark.parametrize("files", [{"10.yml": ""}, {"10.yml": "", "20.yaml": DOUBTFUL}], ids=["no file", "doubtful"])
@pytest.mark.parametrize("verb", ["diff", "apply"])
def test_what_check_warns_of_is_told_once_and_in_the_same_words(
    host: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], verb: str
) -> None:
    for name, text in files.items():
        (host / "config" / name).write_text(text)
    main(["--offline", "--json", "check"])
    told = json.loads(capsys.readouterr().out)["warnings"]
    assert len(told) == 2
    main(["--offline", "check"])
    checked = capsys.readouterr().err
    main(["--offline", "--json", verb])
    said = capsys.readouterr()
    assert (json.loads(said.out)["problems"], said.err) == (told, "")
    main(["--offline", verb])
    said = capsys.readouterr()
    assert (said.err, "warning: " in said.out) == (checked, False)


def test_a_fifo_is_no_network_namespace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    ended = netgroupctl("--netns", str(tmp_path / "fifo"), "show", "links")
    assert (ended.returncode, ended.stderr) == (1, f"error: {tmp_path}/fifo is no network namespace\n")


def test_a_path_that_is_too_long_is_a_problem_of_its_own() -> None:
    path = "x" * 300
    ended = netgroupctl("render", "--config", path)
    assert (ended.returncode, ended.stderr) == (1, f"{path}:1:1: cannot be read: File name too long\n")


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("render {}/20-plain.yaml >/dev/full", 1, "error: cannot write the result: No space left on device\n"),
        ("--help >/dev/full", 1, "error: cannot write the result: No space left on device\n"),
        ("--help", "broken pipe", ""),
        ("check {}/20-plain.yaml >&-", 0, ""),
        ("check --json {}/bad.yaml", "broken pipe", ""),
        ("show --desired {}/20-plain.yaml", "ascii", ""),
    ],
)
def test_a_stream_that_does_not_take_it_is_told_in_a_sentence(
    place: Path, command: str, status: int | str, told: str
) -> None:
    (place / "20-plain.yaml").write_text("links: {é: {kind: dummy}}\n")
    (place / "bad.yaml").write_text("links:\n" + "".join(f"  d{number}: {{kind: dumy}}\n" for number in range(2000)))
    line = f"{sys.executable} -m tests.cli.on_a_fake " + command.replace(" {}", f" --config {place}")
    if status == "broken pipe":
        line = f"{{ {line}; echo $? >&2; }} | true"
        told = "1\n"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii" if status == "ascii" else "utf-8"}
    ended = subprocess.run(line, shell=True, capture_output=True, text=True, check=False, env=environment)
    assert ended.stderr == told
    assert ended.returncode == (status if isinstance(status, int) else 0)
    if status == "ascii":
        assert ended.stdout == "dummy \\xe9\n"


@pytest.mark.vm("stock")
def test_check_loads_only_what_it_needs(place: Path) -> None:
    code = (
        "import sys, netgroupd.cli.main as m; m.main(sys.argv[1:]); "
        "print(*(name for name in sys.modules if name.startswith(('netgroupd', 'gi', 'yaml', 'mako'))))"
    )
    argv = [sys.executable, "-c", code, "check", "--config", str(place / "20-plain.yaml")]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    said, loaded = ran.stdout.splitlines()
    assert said == "the configuration can be used"
    unneeded = {
        "netgroupd.engine.engine",
        "netgroupd.kernel.layer3.routes",
        "netgroupd.plan.present",
        "gi",
        "yaml",
        "mako",
    }
    assert not unneeded & set(loaded.split())


def test_estimate_counts_in_the_words_of_status(place: Path) -> None:
    (place / "many.yaml").write_text("links: {'lo': {addresses: ['10.0.[0-7].[1-250]/32']}, 'e[1-2]': {up: true}}\n")
    got = on_a_fake("estimate", "--config", place / "many.yaml")
    assert "\n3 links, 2,000 addresses: " in got.stdout


def test_place_without_netlink_is_told_in_a_sentence(place: Path) -> None:
    """As these tests run in one, outside of the lab."""
    got = netgroupctl("check", "--config", place / "20-plain.yaml")
    told = "error: open a netlink socket: Address family not supported by protocol\n"
    assert (got.returncode, got.stdout, got.stderr) == (1, "", told)
