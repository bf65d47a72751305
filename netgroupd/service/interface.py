# SPDX-License-Identifier: GPL-2.0-or-later
"""The introspection XML of the bus objects, as shipped in ``schemas/``."""

MANAGER = "org.netgroup1.Manager"
JOB = "org.netgroup1.Job"
GROUP = "org.netgroup1.Group"
ROOT = "/org/netgroup1"


def interface(name: str) -> str:
    """The XML that describes interface ``name``."""
    from netgroupd.engine.paths import shipped  # noqa: PLC0415 - who asks the daemon need not wait for what reads files

    places = shipped() / "schemas", shipped().parent / "dbus-1/interfaces"  # the first in a checkout
    paths = [place / f"{name}.xml" for place in places]
    found = next((path for path in paths if path.exists()), None)
    assert found is not None, f"{name}.xml is not installed in any of {paths}"
    return found.read_text(encoding="utf-8")
