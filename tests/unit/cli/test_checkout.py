"""What the wheel holds, and what the commands say whose packages it does not hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.cli.checkout import require_checkout
from tailrace.cli.frames import BinsOption
from tailrace.generators.frame_histograms import Bins
from tailrace.ground.errors import Refused
from wheel_files import ROOT, files_of_wheel

OUTSIDE = ("bench", "demo", "generators")
RUN = """
import sys
from tailrace.cli.commands import main
assert main.__code__.co_filename.startswith(sys.argv[1]), main.__code__.co_filename
sys.argv = ["tailrace", *sys.argv[2:]]
main()
"""


def test_the_wheel_has_neither_benchmarks_nor_the_demonstration_nor_their_data() -> None:
    files = files_of_wheel()
    assert not [file for file in files if Path(file).parts[1] in OUTSIDE]
    rooms = {path.parent.name for path in (ROOT / "include" / "tailrace").glob("*/__init__.py")}
    assert {Path(file).parts[1] for file in files if len(Path(file).parts) > 2} == rooms - set(OUTSIDE)
    assert {"tailrace/py.typed", "tailrace/spark/conf/log4j2.properties"} <= set(files)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what the wheel holds."""
    site = tmp_path_factory.mktemp("site")
    for file in files_of_wheel():
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "include" / file, site / file)
    return site


def tailrace(site: Path, home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN, str(site), *options]
    environment = os.environ | {"PYTHONPATH": str(site), "COLUMNS": "400"}
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.needs("process")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "missing"),
    [
        (["demo"], "tailrace.demo and tailrace.generators, which are"),
        (["bench", "aggregate"], "tailrace.bench and tailrace.generators, which are"),
        (["replay", "--output", "out"], "tailrace.generators, which is"),
        (["frames", "--output", "out", "film.mp4"], "tailrace.generators, which is"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_that_is_not_installed_says_what_to_do(installed, tmp_path, options, missing) -> None:
    done = tailrace(installed, tmp_path, *options)
    said = f"tailrace {options[0]}: it needs {missing} not installed with tailrace"
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert (
        f"right would be: a checkout of tailrace's repository: make setup, and there .venv/bin/tailrace {options[0]}"
        in (done.stderr)
    )
    assert not [*tmp_path.iterdir()], "nothing is written"


@pytest.mark.needs("process")
@pytest.mark.slow
def test_the_other_commands_work_where_the_package_is_installed(installed, tmp_path) -> None:
    query = (ROOT / "include" / "queries").glob("*.yaml")
    done = tailrace(installed, tmp_path, "validate", str(next(query)))
    assert done.returncode == 0, done.stderr
    listed = tailrace(installed, tmp_path, "--help")
    assert listed.returncode == 0
    assert "replay" in listed.stdout


def test_in_a_checkout_nothing_is_missing() -> None:
    require_checkout("demo", *OUTSIDE)
    with pytest.raises(Refused, match=r"needs tailrace\.films, which is not installed"):
        require_checkout("show", "films")


def test_the_options_of_frames_are_the_bins_that_can_be_counted() -> None:
    assert [option.value for option in BinsOption] == [bins.value for bins in Bins]
