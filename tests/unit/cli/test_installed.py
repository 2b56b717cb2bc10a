"""What the wheel holds is the whole package, and its commands need nothing of a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit.suite.wheel_files import ROOT, files_of_wheel

RUN = """
import sys
from tailrace.cli.commands import main
assert main.__code__.co_filename.startswith(sys.argv[1]), main.__code__.co_filename
sys.argv = ["tailrace", *sys.argv[2:]]
main()
"""


def test_the_wheel_has_every_room_and_its_data() -> None:
    files = files_of_wheel()
    rooms = {path.parent.name for path in (ROOT / "include" / "tailrace").glob("*/__init__.py")}
    assert {Path(file).parts[1] for file in files if len(Path(file).parts) > 2} == rooms
    assert {"tailrace/py.typed", "tailrace/spark/conf/log4j2.properties"} <= set(files)


def tailrace(site: Path, home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN, str(site), *options]
    environment = os.environ | {"PYTHONPATH": str(site), "COLUMNS": "400"}
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.needs("process")
@pytest.mark.slow
def test_commands_work_where_the_package_is_installed(tmp_path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    for file in files_of_wheel():
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "include" / file, site / file)
    query = (ROOT / "include" / "queries").glob("*.yaml")
    done = tailrace(site, home, "validate", str(next(query)))
    assert done.returncode == 0, done.stderr
    listed = tailrace(site, home, "--help")
    assert (listed.returncode, "rebuild" in listed.stdout) == (0, True)
