# SPDX-License-Identifier: GPL-2.0-or-later
"""Send the tests marked ``vm`` or ``vm_systemd`` into the lab; run the others here.

Every test under tests/vm/ is a lab test, and runs on each kernel that its
marker names, on one processor or as many ``cpus`` as one says, for both or by kernel; ``[stock]`` and
``[patched]`` in its id tell which kernel.  Inside the
guest the same collection runs again, for one kernel.
"""

import resource
from pathlib import Path

import pytest

from tests.vm_place import GUEST_KERNEL, PLACE, Place

_KERNELS = ("stock", "patched")
_VM_TESTS = Path(__file__).parent / "vm"
_ON_THE_HOST = Place(systemd=False, kernel="", cpus=0)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests of the patched kernel run on another with the same patches, which looks for mistakes."""
    parser.addoption("--patched", choices=("patched", "debug", "kcsan"), default="patched", metavar="FLAVOUR")


def pytest_configure(config: pytest.Config) -> None:
    """Load the half that belongs here: each imports what would cost the other seconds."""
    # The daemons of the tests, which are threads, keep more open than the 1,024 files of most shells.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if not GUEST_KERNEL:
        config.pluginmanager.import_plugin("tests.vm_outer")
        config.pluginmanager.import_plugin("tests.untimed")


def _lab_marker(node: pytest.Item | pytest.Collector) -> pytest.Mark | None:
    """Return the marker that sends a test to the lab."""
    for name in ("vm_systemd", "vm"):
        if marker := node.get_closest_marker(name):
            return marker
    return pytest.mark.vm.mark if node.path.is_relative_to(_VM_TESTS) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each kernel."""
    if marker := _lab_marker(metafunc.definition):
        kernels = [kernel for kernel in marker.args or _KERNELS if GUEST_KERNEL in (None, kernel)]
        metafunc.fixturenames.append("lab_kernel")
        metafunc.parametrize("lab_kernel", kernels)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note where each test runs, and put those of one guest together, last."""
    for item in items:
        if marker := _lab_marker(item):
            item.add_marker(marker.name)
            kernel = item.callspec.params["lab_kernel"]  # type: ignore[attr-defined]  # every lab test is parametrized
            # In the guest of one kernel a test of the other has no parameter, but pytest's own mark for that.
            said = next((mark.kwargs["cpus"] for mark in item.iter_markers(marker.name) if "cpus" in mark.kwargs), 1)
            cpus = said.get(kernel, 1) if isinstance(said, dict) else said
            item.stash[PLACE] = Place(systemd=marker.name == "vm_systemd", kernel=str(kernel), cpus=cpus)
    items.sort(key=lambda item: item.stash.get(PLACE, _ON_THE_HOST))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Never let a lab test touch the network of the machine somebody sits at."""
    assert GUEST_KERNEL or PLACE not in item.stash


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End with the counts alone on a line, for whoever reads only that."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if GUEST_KERNEL or reporter is None or config.option.collectonly:
        return
    counts = {outcome: len(reporter.stats.get(outcome, [])) for outcome in ("passed", "failed", "error", "skipped")}
    failed = counts["failed"] + counts["error"]
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    reporter.write_line(f"{counts['passed']} passed, {failed} failed{skipped}")
