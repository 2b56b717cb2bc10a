"""Separate environment for a peer of the benchmarks: a Python package of its own versions, and jars from Maven."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tailrace.bench.progress import Tell


@dataclass(frozen=True)
class Artifact:
    """An artifact of Maven's."""

    group: str
    name: str
    version: str


@dataclass(frozen=True)
class Peer:
    """What a peer's environment holds.

    Attributes
    ----------
    name, version : str
        Of the peer.
    package : str
        The Python package that pip installs, with its version: apache-flink==2.3.0.
    artifact : Artifact
        The jar that is needed beside the package.
    """

    name: str
    version: str
    package: str
    artifact: Artifact


class PeerEnvironment:
    """Installation of a peer in a directory, made by the first call of `make`.

    Parameters
    ----------
    peer : Peer
    directory : Path
        Directory of the installation; a complete one is used as it is.
    """

    def __init__(self, peer: Peer, directory: Path) -> None:
        self.peer = peer
        self.directory = directory.absolute()
        self.python = self.directory / "venv" / "bin" / "python"
        self._jars = self.directory / "jars"
        self._completion_file = self.directory / f"{peer.name.lower().replace(' ', '-')}-{peer.version}"

    @property
    def jars(self) -> list[Path]:
        """The jars from Maven."""
        return sorted(self._jars.glob("*.jar"))

    def make(self, tell: Tell) -> None:
        """Install the peer unless it is complete: from PyPI by pip, and from Maven by the Ivy that PySpark has.

        Raises
        ------
        RuntimeError
            When a step fails; names its command and quotes the end of its output.
        """
        if self._completion_file.exists():
            return
        tell(f"installing {self.peer.name} {self.peer.version} in {self.directory}, which takes a few minutes")
        self.directory.mkdir(parents=True, exist_ok=True)
        _run(sys.executable, "-m", "venv", "--clear", str(self.python.parents[1]))
        _run(str(self.python), "-m", "pip", "install", "--quiet", self.peer.package)
        ivy = ("-cp", os.pathsep.join(map(str, find_pyspark_jars("ivy-*.jar"))), "org.apache.ivy.Main")
        artifact = self.peer.artifact
        dependency = ("-dependency", artifact.group, artifact.name, artifact.version, "-confs", "default")
        _run(_java(), *ivy, *dependency, "-retrieve", f"{self._jars}/[artifact]-[revision].[ext]")
        self._completion_file.touch()

    def variables(self) -> dict[str, str]:
        """Return the environment variables of its processes."""
        return dict(os.environ)


def find_pyspark_jars(pattern: str) -> list[Path]:
    """Return the paths of the jars that our PySpark brings, by a file name pattern."""
    return sorted(Path(pyspark.__file__).with_name("jars").glob(pattern))


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def _run(*command: str) -> None:
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}: {process.stdout[-2000:]}")
