# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernel source + the series + a configuration -> cached images to boot.

    <cache>/kernel/<key>/         vmlinux, config, for a PC bzImage: complete or not there
    <cache>/kernel/tree/<name>/   source and objects, kept so that a change costs only itself

A key is the digest of everything that goes into an image, so nothing is built
twice, and two checkouts with different patches never get in each other's way.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from netgroupd.errors import LabError
from netgroupd.lab import tree
from netgroupd.lab.patches import Patch, apply_series, read_series

CHECKOUT = Path(__file__).resolve().parents[2]
_PACKAGE = "linux-source-6.12"
_TARBALL = Path("/usr/src/linux-source-6.12.tar.xz")
_BYTES_NEEDED = 4 << 30
_TOOLS = ("bc", "bison", "flex", "gcc", "ld", "make", "patch", "setpriv", "strip", "tar", "xz")
_IMAGES_KEPT = 16
# In the key: raise it when the way an image is made changes.
_RECIPE = "1"


class Arch(Enum):
    """What a kernel runs on, by the kernel's name for it."""

    PC = "x86"
    USER_MODE = "um"  # a process of the host


class Flavour(NamedTuple):
    """One kernel to build from the source."""

    name: str
    series: str
    fragments: tuple[str, ...]


FLAVOURS = {
    flavour.name: flavour
    for flavour in (
        Flavour("stock", series="", fragments=("config",)),
        Flavour("patched", series="series", fragments=("config",)),
        Flavour("debug", series="series", fragments=("config", "config.debug")),
        Flavour("kcsan", series="series", fragments=("config", "config.kcsan")),
        Flavour("bare", series="", fragments=("config", "config.bare")),
        Flavour("flat", series="", fragments=("config", "config.flat")),
        Flavour("counting", series="series.counting", fragments=("config",)),
    )
}


class Recipe(NamedTuple):
    """Everything that goes into an image."""

    flavour: Flavour
    arch: Arch
    version: str
    config: bytes
    patches: tuple[Patch, ...]

    @property
    def key(self) -> str:
        """Return the name of the image in the cache."""
        parts = (_RECIPE.encode(), self.version.encode(), self.config, *(patch.content for patch in self.patches))
        digest = hashlib.sha256()
        for part in parts:
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()[:16]

    @property
    def tree(self) -> str:
        """Return the name of the directory in which it is compiled."""
        of_arch = "" if self.arch is Arch.PC else f"{self.arch.value}-"
        return f"{of_arch}{self.flavour.name}-{self.version}"


def cache_directory() -> Path:
    """Return where everything that takes long to make is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netgroupd"


def recipe(name: str, checkout: Path = CHECKOUT, arch: Arch = Arch.PC) -> Recipe:
    """Return what goes into the image of that name.

    Raises:
        LabError: There is no such image, or no kernel source.
    """
    if name not in FLAVOURS:
        raise LabError(f"no kernel is called {name!r}; there are {', '.join(FLAVOURS)}")
    flavour = FLAVOURS[name]
    directory = checkout / "kernel-patches"
    if not directory.is_dir():
        raise LabError(f"{directory} is not there, and the lab's kernel is built from it")
    of_arch = (directory / f"{fragment}.{arch.value}" for fragment in flavour.fragments)
    fragments = [*(directory / fragment for fragment in flavour.fragments), *filter(Path.exists, of_arch)]
    config = b"".join(fragment.read_bytes() for fragment in fragments)
    patches = read_series(directory / flavour.series) if flavour.series else ()
    return Recipe(flavour, arch, _source_version(), config, patches)


def find_image(name: str, checkout: Path = CHECKOUT, arch: Arch = Arch.PC) -> Path:
    """Return a kernel that QEMU can boot, or this host can start: from the cache, or built now.

    Raises:
        LabError: It cannot be built.
    """
    wanted = recipe(name, checkout, arch)
    image = _image(wanted)
    if not image.exists():
        with _lock():
            if not image.exists():
                with _ending_properly():
                    _build(wanted, checkout)
    image.touch()
    return image


def _image(wanted: Recipe) -> Path:
    return cache_directory() / "kernel" / wanted.key / "vmlinux"


def _source_version() -> str:
    query = ("dpkg-query", "--show", "--showformat=${Version}", _PACKAGE)
    if not _TARBALL.exists():
        raise LabError(f"{_TARBALL} is not there (Debian: apt-get install {_PACKAGE})")
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout


@contextmanager
def _lock() -> Iterator[None]:
    """Let one process at a time build; the others wait, and then find it built."""
    directory = cache_directory() / "kernel"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("kernel: another process is building, waiting for it", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _ending_properly() -> Iterator[None]:
    """Let SIGTERM, which timeout(1) sends, end a build as Ctrl-C does: the tree stays usable."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _build(wanted: Recipe, checkout: Path) -> None:
    """Build one image, and the unpatched one first: the others start from its objects."""
    if missing := [tool for tool in _TOOLS if not shutil.which(tool)]:
        raise LabError(
            f"building the kernel needs {', '.join(missing)} (Debian: apt-get install "
            f"bc binutils bison flex gcc libc6-dev libelf-dev {_PACKAGE} make patch xz-utils)"
        )
    trees = cache_directory() / "kernel" / "tree"
    trees.mkdir(exist_ok=True)
    base = recipe("stock", checkout, wanted.arch)
    stock = tree.Tree(trees / base.tree)
    if not stock.complete():
        _check_space(trees)
        _forget_other_versions(trees, wanted.version)
        stock.unpack(_TARBALL)
    if not _image(base).exists() or not stock.configured_as(base.config):
        _make(base, stock)
    _image(base).touch()
    if wanted.key == base.key:
        return
    own = tree.Tree(trees / wanted.tree)
    if not own.complete() or not own.configured_as(wanted.config):
        _check_space(trees)
        own.copy(stock)
    written = apply_series(wanted.patches, stock.path, own.path)
    print(f"kernel: {len(wanted.patches)} patches, {written} files differ from the last build", flush=True)
    _make(wanted, own)


def _make(wanted: Recipe, source: tree.Tree) -> None:
    """Compile, and put the result into the cache in one step."""
    target = _image(wanted).parent
    spent = source.make(wanted.arch.value, wanted.config, f"-netgroupd-{wanted.flavour.name}")
    scratch = target.with_name(f"{target.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    subprocess.run(("strip", "-o", scratch / "vmlinux", source.path / "vmlinux"), check=True)
    if wanted.arch is Arch.PC:
        shutil.copyfile(source.path / "arch/x86/boot/bzImage", scratch / "bzImage")
    shutil.copyfile(source.path / ".config", scratch / "config")
    (scratch / "cpu-seconds").write_text(f"{spent:.0f}\n")
    shutil.rmtree(target, ignore_errors=True)
    scratch.rename(target)
    _forget_old_images(target.parent)
    print(f"kernel: {wanted.flavour.name} built with {spent / 60:.1f} CPU minutes: {target}", flush=True)


def _forget_old_images(directory: Path) -> None:
    """Keep those that were used last; every state of the patches that was ever tried has left one."""
    images = sorted(directory.glob("*/vmlinux"), key=lambda image: image.stat().st_mtime, reverse=True)
    for image in images[_IMAGES_KEPT:]:
        shutil.rmtree(image.parent)


def _check_space(directory: Path) -> None:
    free = shutil.disk_usage(directory).free
    if free < _BYTES_NEEDED:
        raise LabError(
            f"building the kernel needs {_BYTES_NEEDED >> 30} GiB free in {directory}, there are {free / 2**30:.1f}; "
            "XDG_CACHE_HOME can name another place"
        )


def _forget_other_versions(trees: Path, version: str) -> None:
    """Drop the trees of source packages that have since been replaced."""
    for old in trees.iterdir():
        if not old.name.endswith(f"-{version}"):
            shutil.rmtree(old)
