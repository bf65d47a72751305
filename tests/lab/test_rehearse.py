# SPDX-License-Identifier: GPL-2.0-or-later
"""`netgroupctl rehearse` as it is where the package is installed, on a host that has something already."""

import json
import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
# Nothing of this is seen outside: the package lies over /usr.
INSTALLED = """\
set -e
mount -t overlay overlay -o lowerdir="$1/usr:/usr" /usr
shift
cd /
exec "$@"
"""
# The host is a fake, so that this machine's own network is not looked at.
REHEARSE = """\
import sys
from netgroupd.cli.main import main
from netgroupd.engine.engine import Engine
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
other = Object("link", ("other",), {"kind": "bridge", "mtu": 1500, "up": False, "group": 0})
card = Object("link", ("ens9",), {"mtu": 1500, "up": False, "group": 0})
number = Object("sriov", ("ens9",), {"num_vfs": 2})
Engine.__init__.__kwdefaults__["connect"] = lambda _netns: FakeKernel([other, card, number])
sys.exit(main(["--offline", "rehearse", "--json", "--config", sys.argv[1]]))
"""
FILES = """\
links:
  br-[1-20]: {kind: bridge, up: true}
  other: {mtu: 1400}
  ens9: {num_vfs: 16, vfs: {"[0-15]": {vlan: 5}}}
"""


def test_installed_command_rehearses_a_change_of_this_host(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir(mode=0o755)
    (config / "10-bridges.yaml").write_text(FILES)
    subprocess.run([CHECKOUT / ".ci/stage", tmp_path / "root"], check=True)
    alone = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    command = [sys.executable, "-c", REHEARSE, str(config)]
    got = subprocess.run(
        [*alone, "sh", "-c", INSTALLED, "sh", str(tmp_path / "root"), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (got.returncode, got.stdout[:1]) == (0, "{"), got.stderr
    told = json.loads(got.stdout)
    assert (told["verified"], told["summary"].partition(";")[0]) == (True, "36 to create, 2 to change, 1 to recreate")
