"""Separate environment for a peer of the benchmarks: a Python package with its own versions, and jars from Maven."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.maven import Artifact, fetch, run
from bench.progress import Echo


@dataclass(frozen=True)
class Peer:
    """The content of a peer's environment.

    Attributes
    ----------
    name, version : str
        The name and version of the peer.
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

    def make(self, echo: Echo) -> None:
        """Install the peer unless it is complete: from PyPI by pip, and from Maven by PySpark's Ivy.

        Raises
        ------
        RuntimeError
            When a step fails; names its command and quotes the end of its output.
        """
        if self._completion_file.exists():
            return
        echo(f"installing {self.peer.name} {self.peer.version} in {self.directory}, which takes a few minutes")
        self.directory.mkdir(parents=True, exist_ok=True)
        run(sys.executable, "-m", "venv", "--clear", str(self.python.parents[1]))
        run(str(self.python), "-m", "pip", "install", "--quiet", self.peer.package)
        fetch(self.peer.artifact, self._jars)
        self._completion_file.touch()

    def command(self, program: Path) -> list[str]:
        """Return the command that runs a program under the peer's own Python."""
        return [str(self.python), "-I", str(program)]

    def variables(self) -> dict[str, str]:
        """Return the environment variables of its processes."""
        return dict(os.environ)
