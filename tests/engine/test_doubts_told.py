# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check warns of is told by diff and apply too, and where the kernel refuses; what a host lacks by line."""

import base64
import errno
from pathlib import Path

import pytest

from netgroupd.engine import key_files
from netgroupd.errors import ConfigError, KernelError
from tests.engine.desk import Desk

FAR = "gateway 192.0.2.1 is in no network of 'a'; if it is there nevertheless: onlink: true"
TEXT = """
links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}}
routes:
- {to: 10.9.0.0/16, via: 192.0.2.1, dev: a}
- {to: 10.8.0.0/16, via: 10.0.0.2, dev: a}
"""


@pytest.mark.parametrize(("refused", "told"), [("10.9.0.0/16", True), ("10.8.0.0/16", False)])
def test_doubt_of_a_line_is_told_where_the_kernel_refuses_it(tmp_path: Path, refused: str, told: bool) -> None:
    desk = Desk(tmp_path)
    desk.kernel.refuse = lambda step: errno.ENETUNREACH if refused in str(step) else 0
    desk.wants(TEXT)
    with pytest.raises(KernelError) as caught:
        desk.engine.apply()
    assert (FAR in str(caught.value)) is told


@pytest.mark.parametrize("verb", ["check", "diff", "apply"])
@pytest.mark.parametrize(("file", "number"), [("b.yaml", "7"), ("b.mako", "${3 + 4}")])
def test_what_the_host_lacks_is_told_with_its_line(tmp_path: Path, file: str, number: str, verb: str) -> None:
    desk = Desk(tmp_path)
    desk.wants(TEXT)
    line = f"- {{to: 10.7.0.0/16, nhid: {number}}}"
    (desk.config / file).write_text(f"routes:\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        getattr(desk.engine, verb)()
    assert [(one.line, one.text) for one in caught.value.problems if not one.warning] == [(2, line)]


def test_what_a_check_warns_of_diff_and_apply_tell_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.wants(TEXT)
    (desk.config / "old.yml").touch()
    checked = desk.engine.check()[1]
    assert [one.message for one in checked] == ["this file is not read", FAR.partition(";")[0]]
    assert desk.engine.diff().doubts == desk.engine.apply().plan.doubts == checked
    assert desk.engine.apply().plan.doubts == checked  # also where there is nothing to do


def test_going_back_tells_nothing_of_the_files(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.wants(TEXT)
    desk.engine.apply()
    assert desk.engine.repair(frozenset({"a"})).plan.doubts == ()
    assert desk.engine.rollback(0).plan.doubts == desk.engine.rollback(1).plan.doubts == ()


TUNNELS = """links:
  wg[1-3]: {{kind: wireguard, private_key_file: "{0}/{{1}}", peers: [{{public_key: {1}, preshared_key_file: {0}/psk}}]}}
"""


@pytest.fixture
def tunnels(tmp_path: Path) -> Desk:
    """A desk whose files want three tunnels, of which the first has both its keys."""
    keys, key = tmp_path / "keys", base64.b64encode(bytes(32)).decode()
    keys.mkdir()
    for name in ("1", "psk"):
        (keys / name).write_text(key)
    desk = Desk(tmp_path)
    desk.wants(TUNNELS.format(keys, key))
    return desk


@pytest.mark.parametrize("verb", ["check", "diff", "apply"])
def test_key_file_that_is_none_is_told_with_its_line_before_anything_is_done(tunnels: Desk, verb: str) -> None:
    keys = tunnels.config.with_name("keys")
    (keys / "psk").write_text("no key")
    with pytest.raises(ConfigError) as caught:
        getattr(tunnels.engine, verb)()
    assert [(one.line, one.text[:8], one.message) for one in caught.value.problems] == [
        (2, "  wg[1-3", f"there is no key in {keys}/psk (and 2 more of this line)"),
        (2, "  wg[1-3", f"cannot read the key file {keys}/2: No such file or directory (and 1 more of this line)"),
    ]
    assert not tunnels.there()


def test_key_files_may_be_missing_where_what_is_not_installed_is_checked(tunnels: Desk) -> None:
    tunnels.paths = tunnels.paths._replace(installed=False)
    assert [(one.line, one.warning) for one in tunnels.engine.check()[1]] == [(2, True)]
    with pytest.raises(ConfigError):
        tunnels.engine.apply()


@pytest.mark.parametrize("uid", [0, 1000])
def test_key_file_that_may_not_be_read_is_only_doubtful_for_who_is_not_root(
    tunnels: Desk, uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> bytes:
        raise OSError(errno.EACCES, f"cannot read the key file {path}: Permission denied")

    monkeypatch.setattr(key_files, "key_in", refuse)
    monkeypatch.setattr("os.geteuid", lambda: uid)
    if uid:
        assert tunnels.engine.diff().doubts == tunnels.engine.check()[1] != ()
    else:
        with pytest.raises(ConfigError):
            tunnels.engine.check()


def test_going_back_asks_for_no_key_beforehand(tunnels: Desk) -> None:
    for name in ("2", "3"):
        (tunnels.config.with_name("keys") / name).write_text(base64.b64encode(bytes(32)).decode())
    tunnels.engine.apply()
    tunnels.wants("links: {}")
    tunnels.engine.apply()
    (tunnels.config.with_name("keys") / "2").unlink()
    tunnels.engine.rollback()
    assert ("link", ("wg2",)) in tunnels.there()


def test_key_file_that_the_daemon_does_not_see_is_doubtful(tunnels: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = tunnels.config.with_name("keys")
    (keys / "2").write_text((keys / "1").read_text())
    (keys / "3").write_text((keys / "1").read_text())
    assert not tunnels.engine.check()[1]
    monkeypatch.setattr(key_files, "_HIDDEN", f"{keys}/")
    (told,) = tunnels.engine.check()[1]
    hint = "the daemon sees nothing below /home, /root and /run/user"
    assert (told.message, told.hint) == (
        f"the key file {keys}/1 is not the daemon's to read (and 5 more of this line)",
        hint,
    )
