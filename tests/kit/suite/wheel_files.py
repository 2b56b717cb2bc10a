"""The files of the wheel by the settings of pyproject.toml; the sdist and the wheel themselves."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[3]
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "include/tailrace/*", "dags/*", "plugins/*", "spark_apps/*")
_BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_{form}(sys.argv[1]))"


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


def data_files_of_wheel() -> list[str]:
    """List the files that an installation puts under `share/tailrace`, as the wheel names them there."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    return [f"{place}/{file.name}" for place, globs in declared.items() for glob in globs for file in ROOT.glob(glob)]


def build(directory: Path) -> tuple[Path, Path]:
    """Build the sdist of this tree and the wheel of that sdist, by the build backend and without the network.

    The tree is copied without what git ignores. A file that is not in the sdist is therefore not in the wheel.

    Parameters
    ----------
    directory : Path
        An empty directory for the copy, the sdist and the wheel.

    Returns
    -------
    sdist, wheel : Path
    """
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *_SOURCES]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and (ROOT / name).is_file():
            (directory / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / "tree" / name)
    sdist = _build("sdist", directory / "tree", directory)
    with tarfile.open(sdist) as archive:
        archive.extractall(directory / "unpacked", filter="data")
    (unpacked,) = (directory / "unpacked").iterdir()
    return sdist, _build("wheel", unpacked, directory)


def _build(form: str, tree: Path, directory: Path) -> Path:
    command = [sys.executable, "-c", _BUILD.format(form=form), str(directory)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory / done.stdout.splitlines()[-1]
