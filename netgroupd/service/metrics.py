# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts for Prometheus as a text file, for the node exporter's textfile collector."""

from contextlib import suppress
from pathlib import Path

# name: (type, what it is)
METRICS = {
    "netgroup_generation": ("gauge", "The number of the last configuration that was applied."),
    "netgroup_drift_objects": ("gauge", "Owned objects that differ from what was applied."),
    "netgroup_objects": ("gauge", "Owned objects by class."),
    "netgroup_changes_total": ("counter", "Changes that ended, by kind and result."),
    "netgroup_change_seconds_total": ("counter", "Time spent on changes, by kind."),
    "netgroup_errors_total": ("counter", "Errors by name."),
    "netgroup_failed": ("gauge", "Whether something is not as the files ask for because it failed."),
    "netgroup_repairs_total": ("counter", "Drift that was repaired."),
}


class Metrics:
    """Values by name and labels; ``write`` makes the file of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, float] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count ``amount`` more."""
        key = _key(name, labels)
        self._values[key] = self._values.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Replace a gauge."""
        self._values[_key(name, labels)] = value

    def text(self) -> str:
        """The exposition format: help, type, then each value."""
        lines = []
        for name, (kind, meaning) in METRICS.items():
            rows = [
                f"{key} {value:.15g}" for key, value in sorted(self._values.items()) if key.partition("{")[0] == name
            ]
            if rows:
                lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *rows]
        return "\n".join(lines) + "\n"

    def write(self) -> None:
        """Replace the file in one go, so that no scrape sees half of it."""
        scratch = self._path.with_suffix(".new")
        try:
            scratch.write_text(self.text(), encoding="utf-8")
            scratch.chmod(0o644)
            scratch.replace(self._path)
        except OSError:  # no descriptor or no space: the next change writes it
            with suppress(OSError):
                scratch.unlink(missing_ok=True)


def _key(name: str, labels: dict[str, str]) -> str:
    assert name in METRICS
    inside = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{name}{{{inside}}}" if inside else name
