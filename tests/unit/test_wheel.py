"""The wheel that setuptools builds: its files, its metadata, and what a registry would show of it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from configparser import ConfigParser
from email import message_from_string
from zipfile import ZipFile

import pytest

from tailrace import __version__
from wheel_files import ROOT, build_wheel, files_of_wheel

pytestmark = [pytest.mark.slow, pytest.mark.needs("process")]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
METADATA = f"tailrace-{__version__}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_the_files_that_the_package_needs_and_no_others(wheel):
    assert wheel.name == f"tailrace-{__version__}-py3-none-any.whl"
    files = {name for name in ZipFile(wheel).namelist() if not name.startswith(METADATA)}
    assert files == set(files_of_wheel())
    assert {"tailrace/py.typed", "tailrace/spark/conf/log4j2.properties", "tailrace/console/static/query.html"} <= files


def test_the_metadata_name_the_version_the_licence_and_each_extra(wheel):
    metadata = message_from_string(ZipFile(wheel).read(f"{METADATA}/METADATA").decode())
    assert (metadata["Name"], metadata["Version"]) == ("tailrace", __version__)
    assert metadata["License-Expression"] == PROJECT["license"]
    assert f"{METADATA}/licenses/LICENSE" in ZipFile(wheel).namelist()
    assert {*metadata.get_all("Provides-Extra")} == PROJECT["optional-dependencies"].keys()
    core = [each for each in metadata.get_all("Requires-Dist") if "extra ==" not in each]
    assert len(core) == len(PROJECT["dependencies"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text()


def test_the_command_and_the_provider_of_airflow_are_entry_points(wheel):
    points = ConfigParser()
    points.read_string(ZipFile(wheel).read(f"{METADATA}/entry_points.txt").decode())
    found = {(group, name): value for group in points.sections() for name, value in points[group].items()}
    declared = {("console_scripts", name): value for name, value in PROJECT["scripts"].items()}
    for group, entries in PROJECT["entry-points"].items():
        declared |= {(group, name): value for name, value in entries.items()}
    assert found == declared


def test_a_registry_would_take_the_wheel_and_show_the_readme(wheel):
    done = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "PASSED" in done.stdout) == (0, True), done.stdout + done.stderr
