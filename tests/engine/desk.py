# SPDX-License-Identifier: GPL-2.0-or-later
"""An engine on a kernel in memory, with a directory of its own for everything."""

from pathlib import Path

from netgroupd.engine.boot import configure
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.engine.report import Result
from netgroupd.kernel.fake.kernel import FakeKernel
from tests.engine.universe import UNIVERSE


class Desk:
    """An engine with its files and its kernel at hand."""

    def __init__(self, directory: Path) -> None:
        self.kernel = FakeKernel()
        self.config = directory / "config"
        self.config.mkdir()
        self.paths = Paths((self.config,), directory / "state", directory / "group")

    @property
    def engine(self) -> Engine:
        return Engine(self.paths, connect=lambda _netns: self.kernel)

    def wants(self, text: str) -> None:
        (self.config / "all.yaml").write_text(UNIVERSE.get(text, text))

    def boot(self) -> Result:
        """What the daemon does when it is started for the first time in a boot."""
        return configure(self.engine, self.paths.state.with_name("spare"))

    def there(self) -> dict[tuple[str, object], object]:
        return {(obj.cls, obj.key): dict(obj.attrs) for obj in self.kernel.state}
