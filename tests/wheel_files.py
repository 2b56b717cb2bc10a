"""The files of the wheel by the settings of pyproject.toml, and the wheel itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SOURCES = ("pyproject.toml", "README.md", "LICENSE")
_IGNORED = shutil.ignore_patterns("__pycache__", "*.parquet", "*.npz", "*.mp4")
_BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


def files_of_wheel() -> list[str]:
    """List the files that setuptools takes of `include`: the packages that it finds, and the data of `tailrace`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = settings["packages"]["find"]
    (where,) = found["where"]
    taken = []
    for directory in sorted(path.parent for path in (ROOT / where).rglob("__init__.py")):
        name = ".".join(directory.relative_to(ROOT / where).parts)
        if _matches(name, found["include"]):
            taken += list(directory.glob("*.py"))
    assert settings["package-data"].keys() == {"tailrace"}
    taken += [file for glob in settings["package-data"]["tailrace"] for file in (ROOT / where / "tailrace").glob(glob)]
    return [str(file.relative_to(ROOT / where)) for file in taken]


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def build_wheel(directory: Path) -> Path:
    """Build the wheel of a copy of this tree, by the build backend of pyproject.toml and without the network.

    Parameters
    ----------
    directory : Path
        An empty directory for the copy and the wheel.
    """
    tree = directory / "tree"
    shutil.copytree(ROOT / "include" / "tailrace", tree / "include" / "tailrace", ignore=_IGNORED)
    for name in _SOURCES:
        shutil.copy(ROOT / name, tree / name)
    command = [sys.executable, "-c", _BUILD, str(directory)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = directory.glob("*.whl")
    return wheel
