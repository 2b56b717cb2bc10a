"""What Airflow loads of tailrace is found in a checkout, and where a wheel has put it."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

import tailrace
from tailrace.embedded.embedded_platform import FOLDERS, airflow_files
from tailrace.ground.errors import Refused

ROOT = Path(__file__).parents[2]


def install(environment: Path) -> Path:
    """Lay out what the wheel's data-files are in an environment; return its site-packages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    site = environment / "lib" / "python3" / "site-packages"
    information = site / "tailrace-0.1.0.dist-info"
    information.mkdir(parents=True)
    records = []
    for place, globs in settings["data-files"].items():
        for file in (file for glob in globs for file in ROOT.glob(glob)):
            (environment / place).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, environment / place)
            records.append(f"../../../{place}/{file.name},,\n")
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tailrace\nVersion: 0.1.0\n")
    (information / "RECORD").write_text("".join(records))
    return site


def test_in_a_checkout_they_are_its_own():
    assert airflow_files() == ROOT


def test_a_wheel_brings_all_of_them_and_they_are_found_there(tmp_path, monkeypatch):
    site = install(tmp_path)
    monkeypatch.setattr(tailrace, "__file__", str(site / "tailrace" / "__init__.py"))
    monkeypatch.syspath_prepend(site)
    directory = airflow_files()
    for folder in FOLDERS:
        names = {file.name for file in (ROOT / folder).glob("*.py")}
        assert {file.name for file in (directory / folder).iterdir()} == names
        assert names


def test_a_package_without_them_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tailrace, "__file__", str(tmp_path / "lib" / "site" / "tailrace" / "__init__.py"))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(Refused, match="it has no dags and no plugins and no spark_apps for Airflow to load"):
        airflow_files()
