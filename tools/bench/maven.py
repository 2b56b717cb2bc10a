"""Fetches artifacts from Maven, with their dependencies, by PySpark's Ivy."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pyspark


@dataclass(frozen=True)
class Artifact:
    """A Maven artifact."""

    group: str
    name: str
    version: str


def fetch(artifact: Artifact, directory: Path, alone: bool = False) -> None:
    """Fetch an artifact and its dependencies, or the artifact alone, as jars into a directory.

    Raises
    ------
    RuntimeError
        When this fails, with Ivy's message.
    """
    ivy = ("-cp", os.pathsep.join(map(str, find_pyspark_jars("ivy-*.jar"))), "org.apache.ivy.Main")
    dependency = ("-dependency", artifact.group, artifact.name, artifact.version, "-confs", "default")
    extent = ("-notransitive",) if alone else ()
    run(java(), *ivy, *dependency, *extent, "-retrieve", f"{directory}/[artifact]-[revision].[ext]")


def find_pyspark_jars(pattern: str) -> list[Path]:
    """Return the paths of PySpark's jars that match a file name pattern."""
    return sorted(Path(pyspark.__file__).with_name("jars").glob(pattern))


def java() -> str:
    """Return the path of Java, or its name if it is to be found on PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def run(*command: str) -> None:
    """Run a command.

    Raises
    ------
    RuntimeError
        When it fails; names the command and quotes the end of its output.
    """
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}: {process.stdout[-2000:]}")
