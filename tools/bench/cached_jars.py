"""Jars from Maven in the user's cache, fetched the first time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from bench.maven import Artifact, fetch


@dataclass(frozen=True)
class CachedJars:
    """A directory of the user's cache with the jars of some artifacts.

    Attributes
    ----------
    name : str
        The name of the directory.
    are_alone : bool
        Whether the artifacts come without their dependencies.
    """

    name: str
    artifacts: tuple[Artifact, ...]
    are_alone: bool = False

    @property
    def are_there(self) -> bool:
        """Whether all jars are fetched."""
        return self._complete.exists()

    def bring(self) -> Path:
        """Fetch the jars unless they are there; return their directory.

        Raises
        ------
        RuntimeError
            When this fails, with Ivy's message.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        with FileLock(self._directory / ".lock"):  # several processes may want them
            if not self.are_there:
                for artifact in self.artifacts:
                    fetch(artifact, self._directory, alone=self.are_alone)
                self._complete.touch()
        return self._directory

    @property
    def _directory(self) -> Path:
        return Path.home() / ".cache" / "tailrace" / self.name

    @property
    def _complete(self) -> Path:
        return self._directory / "complete"
