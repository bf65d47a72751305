# SPDX-License-Identifier: GPL-2.0-or-later
"""netgroupctl on a host without a link: ``python -m tests.cli.on_a_fake VERB …``."""

import sys

from netgroupd.cli.main import main
from netgroupd.engine.engine import Engine
from netgroupd.engine.files import Files
from netgroupd.kernel.fake.kernel import FakeKernel

for each in (Engine, Files):
    each.__init__.__kwdefaults__["connect"] = lambda _netns: FakeKernel()  # type: ignore[index]  # it has some

if __name__ == "__main__":
    sys.exit(main())
