# SPDX-License-Identifier: GPL-2.0-or-later
"""`netgroupctl rehearse` as it is where the package is installed, on a host that has something already."""

import json
import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
# Nothing of this is seen outside: the package lies over /usr, and the network is empty but for one bridge.
HOST = """\
set -e
mount -t overlay overlay -o lowerdir="$1/usr:/usr" /usr
ip link add other type bridge
shift
cd /
exec "$@"
"""


def test_installed_command_rehearses_a_change_of_this_host(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir(mode=0o755)
    (config / "10-bridges.yaml").write_text("links:\n  br-[1-20]: {kind: bridge, up: true}\n  other: {mtu: 1400}\n")
    subprocess.run([CHECKOUT / ".ci/stage", tmp_path / "root"], check=True)
    alone = ["unshare", "--mount", "--net", *(["--map-root-user"] if os.geteuid() else [])]
    command = [sys.executable, "-m", "netgroupd.cli.main", "rehearse", "--json", "--config", str(config)]
    got = subprocess.run(
        [*alone, "sh", "-c", HOST, "sh", str(tmp_path / "root"), *command], capture_output=True, text=True, check=False
    )
    assert (got.returncode, got.stdout[:1]) == (0, "{"), got.stderr
    told = json.loads(got.stdout)
    assert (told["verified"], told["summary"].partition(";")[0]) == (True, "20 to create, 1 to change")
