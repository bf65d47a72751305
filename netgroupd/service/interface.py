# SPDX-License-Identifier: GPL-2.0-or-later
"""The introspection XML of the bus objects, as shipped in ``schemas/``."""

from netgroupd.engine.paths import shipped

MANAGER = "org.netgroup1.Manager"
JOB = "org.netgroup1.Job"
GROUP = "org.netgroup1.Group"
ROOT = "/org/netgroup1"

_PLACES = (
    shipped() / "schemas",  # a checkout
    shipped().parent / "dbus-1/interfaces",
)


def interface(name: str) -> str:
    """The XML that describes interface ``name``."""
    paths = [place / f"{name}.xml" for place in _PLACES]
    found = next((path for path in paths if path.exists()), None)
    assert found is not None, f"{name}.xml is not installed in any of {paths}"
    return found.read_text(encoding="utf-8")
