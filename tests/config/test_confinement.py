# SPDX-License-Identifier: GPL-2.0-or-later
"""What a hostile template does to the host: nothing, whoever runs it and on whichever kernel."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("run_attacks.py")
_CANARY = "canary.txt"
_OTHER_USER = 65533

# Were the worker not confined, none of these would do harm: signal 0 only asks, and nothing is mounted nowhere.
# Each is one line of Python in a template; what is said of it must contain the words.
RUDE = {
    "read_shadow": ("open('/etc/shadow').read()", "cannot touch files"),
    "read_own_template": ("open('{here}/read_own_template.mako').read()", "cannot touch files"),
    "list_root": ("import os; os.listdir('/')", "cannot touch files"),
    "write_file": ("open('{here}/new', 'w').write('x')", "cannot touch files"),
    "remove_canary": ("import os; os.unlink('{here}/canary.txt')", "cannot touch files"),
    "make_directory": ("import os; os.mkdir('{here}/new')", "cannot touch files"),
    "run_shell": ("import os; os.system('touch {here}/new')", "cannot start programs"),
    "fork": ("import os; os.fork()", "cannot start programs"),
    "exec": ("import os; os.execv('/bin/true', ['true'])", "cannot start programs"),
    "spawn": ("import os; os.posix_spawn('/bin/true', ['true'], dict())", "cannot start programs"),
    "import_subprocess": ("import subprocess", "cannot import subprocess"),
    "import_module": ("import http.client", "cannot import http"),
    "import_socket": ("import socket; socket.socket()", "cannot import socket"),
    "native_socket": ("import _socket; _socket.socket()", "cannot import _socket"),
    "kill_parent": ("import os; os.kill(os.getppid(), 0)", "cannot send signals"),
    "kill_all": ("import os; os.kill(-1, 0)", "cannot send signals"),
    "native_code": ("import ctypes; ctypes.CDLL(None).getpid()", "cannot call native code"),
    "loop_for_ever": ("while True: pass", "more processor time"),
    "loop_against_exceptions": (
        "exec('while True:\\n try:\\n  while True: pass\\n except BaseException: pass')",
        "time",
    ),
    "loop_in_c": ("sum(range(10**15))", "more processor time"),
    "eat_memory": ("x = [bytearray(1 << 20) for i in range(10**6)]", "out of memory"),
    "one_huge_string": ("x = 'a' * (1 << 40)", "out of memory"),
    "recurse": ("f = lambda g: g(g); f(f)", "without end"),
    "exit": ("import sys; sys.exit(0)", "SystemExit"),
    "exit_hard": ("import os; os._exit(0)", "ended its worker"),
    "close_pipes": ("import os; os.closerange(0, 100)", ""),
    "garbage_to_renderer": ("import os; os.write(4, b'\\xff' * 4096)", "sent no text"),
    "forged_header": ("import os; os.write(4, (5).to_bytes(4, 'big') + bytes(8) + b'[1,2]')", "sent no text"),
    "forged_size": ("import os; os.write(4, (2).to_bytes(4, 'big') + b'\\xff' * 8 + b'{}')", "sent no text"),
    "interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
}

# Each is an expression that fails with EACCES, or gives what the system call gives: -1.
REFUSED = {
    "open_shadow": "os.open('/etc/shadow', os.O_RDONLY)",
    "open_proc_mem": "os.open('/proc/self/mem', os.O_RDWR)",
    "open_for_writing": "os.open('{here}/new', os.O_CREAT | os.O_WRONLY)",
    "unlink": "os.unlink('{here}/canary.txt')",
    "rename": "os.rename('{here}/canary.txt', '{here}/new')",
    "chmod": "os.chmod('{here}/canary.txt', 0o777)",
    "mkdir": "os.mkdir('{here}/new')",
    "stat": "os.stat('/etc/passwd')",
    "listdir": "os.listdir('/')",
    "chdir": "os.chdir('/')",
    "chroot": "os.chroot('/')",
    "pipe": "os.pipe()",
    "fork": "os.fork()",
    "exec": "os.execv('/bin/true', ['true'])",
    "setuid_root": "os.setuid(0)",
    "kill_parent": "os.kill(os.getppid(), 0)",
    "kill_all": "os.kill(-1, 0)",
    "socket_inet": "libc.socket(2, 1, 0)",
    "socket_netlink": "libc.socket(16, 3, 0)",
    "socket_unix": "libc.socket(1, 1, 0)",
    "ptrace_parent": "libc.ptrace(16, os.getppid(), 0, 0)",
    "read_parent_memory": "libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0)",
    "unshare": "libc.unshare(0x40000000)",
    "mount": "libc.mount(b'none', b'/nowhere', b'tmpfs', 0, None)",
    "prctl": "libc.prctl(38, 0, 0, 0, 0)",
    "bpf": "libc.syscall(321, 0, None, 0)",
    "io_uring": "libc.syscall(425, 1, None)",
    "clone3": "libc.syscall(435, None, 0)",
    "x32_getpid": "libc.syscall(0x40000000 + 39)",
    "raise_limits": "libc.setrlimit(0, bytes(16))",
    "fork_in_c": "libc.fork()",
    "system_in_c": "libc.system(b'touch {here}/new')",
}


def _templates(here: Path) -> dict[str, str]:
    rude = {name: f"a: 1\n<%\n{code.replace('{here}', str(here))}\n%>\n" for name, (code, _) in RUDE.items()}
    gigabyte = "a: 1\n% for i in range(1 << 20):\n${'x' * 1000}\n% endfor\n"
    return {**rude, "good": "host: ${host.name}\n", "gigabyte": gigabyte}


def _attempts(here: Path) -> dict[str, str]:
    """Templates that write down what became of an attempt instead of failing."""
    return {
        name: "<%\nimport os, ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ntry:\n    got = "
        + code.replace("{here}", str(here))
        + "\n    got = f'{got} {ctypes.get_errno()}'\nexcept OSError as error:\n    got = f'-1 {error.errno}'\n%>${got}"
        for name, code in REFUSED.items()
    }


def _run(directory: Path, library: Path, user: str, *options: str) -> dict[str, Any]:
    """Render a directory as somebody and give what the program printed."""
    other = _OTHER_USER if user == "unprivileged" and os.geteuid() == 0 else None
    done = subprocess.run(
        [getattr(sys, "_base_executable", sys.executable), "-S", library / _SCRIPT.name, directory, *options],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(library), "PATH": os.environ["PATH"]},
        timeout=240,
        check=False,
        user=other,
        group=other,
        extra_groups=None if other is None else (),
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)
    return results


@pytest.fixture(scope="session")
def library() -> Iterator[Path]:
    """Everything a worker needs, where any user may read it."""
    place = Path(tempfile.mkdtemp(prefix="netgroupd-library-"))
    for package in ("netgroupd", "mako", "markupsafe", "yaml"):
        found = find_spec(package)
        assert found
        assert found.origin
        ignored = shutil.ignore_patterns("__pycache__", "*.tmp")
        shutil.copytree(Path(found.origin).parent, place / package, ignore=ignored)
    native = find_spec("_yaml")  # where PyYAML keeps its C loader, by distribution
    if native and native.origin:
        shutil.copytree(Path(native.origin).parent, place / "_yaml", dirs_exist_ok=True)
    shutil.copy(_SCRIPT, place)
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    yield place
    shutil.rmtree(place)


def _lay_out(templates: dict[str, str], directory: Path) -> None:
    for name, text in templates.items():
        (directory / f"{name}.mako").write_text(text)
    (directory / _CANARY).write_text("alive")
    if os.geteuid() == 0:
        # What the process may do by its user's rights alone, it must not do from a template.
        subprocess.run(["chown", "-R", str(_OTHER_USER), directory], check=True)
    directory.chmod(0o755)


@pytest.fixture(scope="session")
def outcome(library: Path) -> Iterator[Any]:
    """Run all templates once per way of running them."""
    places = []

    @cache
    def of(kind: str, user: str, *options: str) -> tuple[Path, dict[str, Any]]:
        here = Path(tempfile.mkdtemp(prefix="netgroupd-attacks-"))
        places.append(here)
        _lay_out(_templates(here) if kind == "rude" else _attempts(here), here)
        return here, _run(here, library, user, *options)

    yield of
    for place in places:
        shutil.rmtree(place)


# With Landlock it is the same for both users: what the unprivileged one lacks is taken from root first.
RUNS = pytest.mark.parametrize(
    ("user", "kernel"), [("root", "landlock"), ("root", "no-landlock"), ("unprivileged", "no-landlock")]
)


@RUNS
@pytest.mark.parametrize("attack", sorted(RUDE))
def test_attack_is_stopped_with_a_sentence_at_its_place(outcome: Any, user: str, kernel: str, attack: str) -> None:
    _, results = outcome("rude", user, kernel)
    [problem] = results[f"{attack}.mako"]["problems"]
    file, line, column, message = problem[:4]
    assert Path(file).name == f"{attack}.mako"
    assert line in (1, 3)
    assert column >= 1
    assert RUDE[attack][1] in message
    assert results[f"{attack}.mako"]["text"] == []


@RUNS
def test_gigabyte_is_stopped(outcome: Any, user: str, kernel: str) -> None:
    _, results = outcome("rude", user, kernel)
    [problem] = results["gigabyte.mako"]["problems"]
    assert "more than 1 MiB" in problem[3] or "out of memory" in problem[3]


@RUNS
@pytest.mark.parametrize("kind", ["rude", "refused"])
def test_attacks_leave_everything_as_it_was(outcome: Any, user: str, kernel: str, kind: str) -> None:
    options = (kernel, "no-manners") if kind == "refused" else (kernel,)
    here, results = outcome(kind, user, *options)
    names = _templates(here) if kind == "rude" else _attempts(here)
    assert sorted(path.name for path in here.iterdir()) == sorted([*(f"{name}.mako" for name in names), _CANARY])
    assert (here / _CANARY).read_text() == "alive"
    assert results["problems"] == []


@RUNS
def test_a_decent_template_still_renders(outcome: Any, user: str, kernel: str) -> None:
    _, results = outcome("rude", user, kernel)
    assert results["good.mako"] == {"text": ["host: lab\n"], "problems": []}


@RUNS
@pytest.mark.parametrize("attempt", sorted(REFUSED))
def test_kernel_refuses_without_help_from_python(outcome: Any, user: str, kernel: str, attempt: str) -> None:
    _, results = outcome("refused", user, kernel, "no-manners")
    assert results[f"{attempt}.mako"]["problems"] == []
    result, errno = results[f"{attempt}.mako"]["text"][0].strip().split()
    # 127 << 8 is how system() says that it could not start a shell.
    assert (result, errno) in (("-1", "13"), ("32512", "13"))


def test_the_other_user_is_another_user(outcome: Any) -> None:
    _, results = outcome("rude", "unprivileged", "no-landlock")
    assert results["uid"] == (_OTHER_USER if os.geteuid() == 0 else os.geteuid())


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_who_has_no_home_and_no_name_can_render(library: Path) -> None:
    code = (
        "import os, sys, netgroupd.engine.files, netgroupd.service.file_answers, netgroupd.cli.render\n"
        "from netgroupd.cli.main import main\n"
        "del os.environ['HOME']\n"
        "os.setuid(54321)\n"
        "sys.exit(main(['render', '--config', '/dev/null']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=library, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
