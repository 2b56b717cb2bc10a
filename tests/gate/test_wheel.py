"""The sdist and the wheel that setuptools builds: their files, their metadata, and what a registry would show."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
from configparser import ConfigParser
from email import message_from_string
from zipfile import ZipFile

import pytest

from kit.suite.wheel_files import ROOT, build, data_files_of_wheel, files_of_wheel
from tailrace import __version__

pytestmark = [pytest.mark.slow, pytest.mark.gate, pytest.mark.needs("process")]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"tailrace-{__version__}"
METADATA = f"{NAME}.dist-info"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def wheel(built):
    return built[1]


def test_the_wheel_has_the_files_that_the_package_needs_and_no_others(wheel):
    assert wheel.name == f"{NAME}-py3-none-any.whl"
    files = {name for name in ZipFile(wheel).namelist() if not name.startswith(METADATA)}
    data = {f"{NAME}.data/data/{name}" for name in data_files_of_wheel()}
    assert files == {*files_of_wheel(), *data}
    assert {"tailrace/py.typed", "tailrace/spark/conf/log4j2.properties", "tailrace/console/static/query.html"} <= files
    assert f"{NAME}.data/data/share/tailrace/dags/streams.py" in data
    assert not [name for name in files if name.endswith((".jar", ".parquet", ".npz", ".mp4"))]


def test_the_sdist_has_what_the_wheel_is_built_of_and_no_tests_or_samples(built):
    with tarfile.open(built[0]) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    needed = {f"include/{name}" for name in files_of_wheel()}
    assert needed | {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"} <= files
    assert {name.partition("/")[0] for name in files if "/" in name} == {"include", "dags", "plugins", "spark_apps"}


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


def test_a_registry_would_take_both_and_show_the_readme(built):
    done = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *map(str, built)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout + done.stderr
