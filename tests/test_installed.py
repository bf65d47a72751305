# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no program is found beside the package, wherever that was installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STAGE = Path(__file__).parents[1] / ".ci/stage"
_ASK = """
import json
from netgroupd.config.render import shipped_templates
from netgroupd.engine.paths import shipped
from netgroupd.service.interface import JOB, MANAGER, GROUP, interface
for name in (JOB, MANAGER, GROUP):
    interface(name)
print(json.dumps([str(shipped_templates()), str(shipped())]))
"""


@pytest.mark.parametrize("packages", ["lib/python3/dist-packages", "lib64/python3.12/site-packages"])
def test_files_are_found_below_any_prefix(tmp_path: Path, packages: str) -> None:
    subprocess.run([STAGE, tmp_path], check=True)
    prefix = tmp_path / "usr"
    place = prefix / packages
    if not place.exists():
        place.parent.mkdir(parents=True)
        (prefix / "lib/python3/dist-packages").rename(place)
    program = f"import sys; sys.path.insert(0, {str(place)!r}){_ASK}"
    said = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    templates, share = map(Path, json.loads(said.stdout))
    assert templates == share / "templates" == prefix / "share/netgroup/templates"
    assert (share / "kernel-patches/series").is_file()
