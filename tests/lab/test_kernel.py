# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing is built twice, and nothing half built is ever found.

The source is a tarball of two files and make is a script that counts its runs;
all else is what really happens.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netgroupd.errors import LabError
from netgroupd.lab import kernel
from tests.apart import apart
from tests.waiting import eventually

CHECKOUT = Path(__file__).parents[2]
PATCH = "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int b;\n"
MAKE = """\
#!/bin/sh
for target; do :; done
case $target in
tinyconfig) : >.config ;;
olddefconfig) sed -i /CONFIG_IMPOSSIBLE/d .config ;;
bzImage | vmlinux)
	echo built >>"$BUILDS"
	if [ -e "$HANG" ]; then echo "  CC      a.o"; exec sleep 60; fi
	if grep -q broken a.c; then echo "a.c:1:1: error: this is C"; exit 2; fi
	cp a.c vmlinux
	if [ $target = bzImage ]; then mkdir -p arch/x86/boot; cp a.c arch/x86/boot/bzImage; fi
	echo "  LD      vmlinux" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with a configuration, beside an empty cache, a source and a make."""
    for directory in ("bin", "source/linux", "checkout/kernel-patches", "cache"):
        (tmp_path / directory).mkdir(parents=True)
    for name, script in (("make", MAKE), ("strip", 'cp "$3" "$2"\n'), ("dpkg-query", "printf 6\n")):
        (tmp_path / "bin" / name).write_text(script if name == "make" else f"#!/bin/sh\n{script}")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "source/linux/a.c").write_text("int a;\n")
    tarball = tmp_path / "linux.tar"
    subprocess.run(["tar", "-c", "-f", tarball, "-C", tmp_path / "source", "linux"], check=True)
    (tmp_path / "checkout/kernel-patches/config").write_text("CONFIG_A=y\n")
    monkeypatch.setattr(kernel, "_TARBALL", tarball)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
    monkeypatch.setenv("HANG", str(tmp_path / "hang"))
    return tmp_path / "checkout"


def _builds(checkout: Path) -> int:
    counted = checkout.parent / "builds"
    return len(counted.read_text().splitlines()) if counted.exists() else 0


def _add_patch(checkout: Path, content: str = PATCH) -> None:
    (checkout / "kernel-patches/0001.patch").write_text(content)
    (checkout / "kernel-patches/series").write_text("0001.patch\n")


def test_image_is_built_once(checkout: Path) -> None:
    first = kernel.find_image("stock", checkout)
    assert first.read_text() == "int a;\n"
    assert kernel.find_image("stock", checkout) == first
    assert _builds(checkout) == 1


def test_patched_kernel_without_patches_is_the_stock_one(checkout: Path) -> None:
    assert kernel.find_image("patched", checkout) == kernel.find_image("stock", checkout)
    assert _builds(checkout) == 1


def test_patched_kernel_holds_the_patch_and_the_stock_one_does_not(checkout: Path) -> None:
    _add_patch(checkout)
    assert kernel.find_image("patched", checkout).read_text() == "int b;\n"
    assert kernel.find_image("stock", checkout).read_text() == "int a;\n"


def test_patch_put_back_as_it_was_is_found_in_the_cache(checkout: Path) -> None:
    _add_patch(checkout)
    first = kernel.find_image("patched", checkout)
    _add_patch(checkout, PATCH.replace("int b", "int c"))
    assert kernel.find_image("patched", checkout).read_text() == "int c;\n"
    _add_patch(checkout)
    builds = _builds(checkout)
    assert kernel.find_image("patched", checkout) == first
    assert _builds(checkout) == builds


def test_other_configuration_is_another_image(checkout: Path) -> None:
    first = kernel.find_image("stock", checkout)
    (checkout / "kernel-patches/config").write_text("CONFIG_B=y\n")
    second = kernel.find_image("stock", checkout)
    assert second != first
    assert (second.parent / "config").read_text() == "CONFIG_B=y\n"


def test_kernel_for_a_process_is_built_beside_that_for_a_pc(checkout: Path) -> None:
    (checkout / "kernel-patches/config.um").write_text("CONFIG_A=n\nCONFIG_C=y\n")
    _add_patch(checkout)
    pc = kernel.find_image("patched", checkout)
    process = kernel.find_image("patched", checkout, kernel.Arch.USER_MODE)
    assert pc.read_text() == process.read_text() == "int b;\n"
    assert (process.parent / "config").read_text().endswith("CONFIG_A=n\nCONFIG_C=y\n")
    assert (pc.parent / "bzImage").exists()
    assert not (process.parent / "bzImage").exists()
    assert _builds(checkout) == 4
    tree = checkout.parent / "cache/netgroupd/kernel/tree"
    assert {path.name for path in tree.iterdir()} == {"stock-6", "patched-6", "um-stock-6", "um-patched-6"}


def test_unpatched_image_outlives_those_that_start_from_it(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_IMAGES_KEPT", 2)
    for name in "bcd":
        _add_patch(checkout, PATCH.replace("int b", f"int {name}"))
        kernel.find_image("patched", checkout)
    assert _builds(checkout) == 1 + 3


def test_option_that_cannot_be_had_is_named(checkout: Path) -> None:
    (checkout / "kernel-patches/config").write_text("CONFIG_A=y\nCONFIG_IMPOSSIBLE=y\n")
    with pytest.raises(LabError, match=r"cannot be had as asked: CONFIG_IMPOSSIBLE$"):
        kernel.find_image("stock", checkout)


def test_compiler_error_is_shown_and_leaves_no_image(checkout: Path) -> None:
    _add_patch(checkout, PATCH.replace("int b", "broken"))
    with pytest.raises(LabError, match=r"a\.c:1:1: error: this is C"):
        kernel.find_image("patched", checkout)
    _add_patch(checkout)
    assert kernel.find_image("patched", checkout).read_text() == "int b;\n"


def test_full_disk_is_said_before_anything_is_done(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_BYTES_NEEDED", 1 << 60)
    with pytest.raises(LabError, match=r"needs \d+ GiB free in .* XDG_CACHE_HOME"):
        kernel.find_image("stock", checkout)
    assert list((checkout.parent / "cache/netgroupd/kernel/tree").iterdir()) == []


def test_absent_source_names_its_package(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_TARBALL", Path("/nonexistent/linux.tar.xz"))
    with pytest.raises(LabError, match=r"apt-get install linux-source-6\.12"):
        kernel.find_image("stock", checkout)


def test_absent_tools_are_named_before_the_build_begins(checkout: Path) -> None:
    def without_tools() -> None:
        os.environ["PATH"] = str(checkout.parent / "bin")
        with pytest.raises(LabError, match=r"needs bc, bison, flex, gcc, .*apt-get install bc binutils"):
            kernel.find_image("stock", checkout)

    apart(without_tools)


def test_place_that_is_no_checkout_is_said(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=f"{tmp_path}/kernel-patches is not there"):
        kernel.find_image("stock", tmp_path)


def test_unknown_flavour_lists_those_there_are(checkout: Path) -> None:
    with pytest.raises(LabError, match="'vanilla'; there are stock, patched, debug"):
        kernel.find_image("vanilla", checkout)


def _in_another_process(checkout: Path) -> subprocess.Popen[str]:
    program = (
        "from pathlib import Path\nfrom netgroupd.lab import kernel\n"
        f"kernel._TARBALL = Path({str(checkout.parent / 'linux.tar')!r})\n"
        f"print(kernel.find_image('stock', Path({str(checkout)!r})))\n"
    )
    return subprocess.Popen([sys.executable, "-c", program], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)


def test_two_at_once_build_once(checkout: Path) -> None:
    with _in_another_process(checkout) as one, _in_another_process(checkout) as other:
        assert one.stdout
        assert other.stdout
        images = {one.stdout.read().splitlines()[-1], other.stdout.read().splitlines()[-1]}
    assert len(images) == 1
    assert _builds(checkout) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_build_leaves_nothing_to_trip_over(checkout: Path, number: signal.Signals) -> None:
    hang = checkout.parent / "hang"
    hang.touch()
    with _in_another_process(checkout) as builder:
        eventually((checkout.parent / "builds").exists)
        builder.send_signal(number)
    assert not list((checkout.parent / "cache/netgroupd/kernel").glob("*/vmlinux"))
    tree = checkout.parent / "cache/netgroupd/kernel/tree/stock-6"
    (tree / "object.o").touch()
    hang.unlink()
    assert kernel.find_image("stock", checkout).read_text() == "int a;\n"
    # What was compiled is kept, unless nobody could see to it that nothing is half done.
    assert (tree / "object.o").exists() == (number is not signal.SIGKILL)
