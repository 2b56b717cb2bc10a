"""Finds the files that Airflow loads of tailrace: DAG files, plugins, and the entry points of Spark apps."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import tailrace
from tailrace.ground.errors import refuse

FOLDERS = ("dags", "plugins", "spark_apps")
"""The folders, which lie beside each other."""

_DAG_FILE = "share/tailrace/dags/streams.py"  # where a wheel puts one of them, below the environment


def airflow_files() -> Path:
    """Return the directory of these folders: the checkout, or where the wheel was installed.

    Raises
    ------
    Refused
        When neither has them.
    """
    checkout = Path(tailrace.__file__).resolve().parents[2]
    for directory in (checkout, *_of_wheel()):
        if all((directory / name).is_dir() for name in FOLDERS):
            return directory
    remedy = "the wheel, installed by pip or uv, or a checkout of tailrace's repository"
    raise refuse(f"tailrace in {checkout}", f"it has no {' and no '.join(FOLDERS)} for Airflow to load", remedy)


def _of_wheel() -> Iterator[Path]:
    """Yield the directory in which the wheel has put them, by its list of files."""
    for distribution in metadata.distributions(name="tailrace"):
        for file in distribution.files or ():
            if str(file).endswith(_DAG_FILE):
                yield Path(str(file.locate())).resolve().parents[1]
