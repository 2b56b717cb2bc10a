"""Separate environment for Apache Flink: its Python package, and the jar by which it reads and writes Parquet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

from tailrace.bench.progress import Tell

VERSION = "2.3.0"
_JAR = "flink-sql-parquet"
_JAR_PATTERNS = ("hadoop-client-*.jar", "zstd-jni-*.jar")
"""File names of the jars that Flink needs for Parquet and does not bring; PySpark has them."""


class FlinkEnvironment:
    """Installation of Flink in a directory, made by the first call of `make`.

    Parameters
    ----------
    directory : Path
        Directory of the installation, about 900 MB; a complete one is used as it is.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.python = self.directory / "venv" / "bin" / "python"
        self._jars = self.directory / "jars"
        self._completion_file = self.directory / f"flink-{VERSION}"

    def make(self, tell: Tell) -> None:
        """Install Flink unless it is complete: from PyPI by pip, and from Maven by the Ivy that PySpark has.

        Raises
        ------
        RuntimeError
            When a step fails; names its command and quotes the end of its output.
        """
        if self._completion_file.exists():
            return
        tell(f"installing Apache Flink {VERSION} in {self.directory}, which takes a few minutes")
        self.directory.mkdir(parents=True, exist_ok=True)
        _run(sys.executable, "-m", "venv", "--clear", str(self.python.parents[1]))
        _run(str(self.python), "-m", "pip", "install", "--quiet", f"apache-flink=={VERSION}")
        ivy = ("-cp", os.pathsep.join(map(str, _find_pyspark_jars("ivy-*.jar"))), "org.apache.ivy.Main")
        artifact = ("-dependency", "org.apache.flink", _JAR, VERSION, "-confs", "default")
        _run(_java(), *ivy, *artifact, "-retrieve", f"{self._jars}/[artifact]-[revision].[ext]")
        self._completion_file.touch()

    def variables(self) -> dict[str, str]:
        """Return the environment variables of its processes."""
        pyspark_jars = [jar for pattern in _JAR_PATTERNS for jar in _find_pyspark_jars(pattern)]
        return os.environ | {
            "HADOOP_CLASSPATH": os.pathsep.join(map(str, [*self._jars.glob(f"{_JAR}-*.jar"), *pyspark_jars]))
        }


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def _find_pyspark_jars(pattern: str) -> list[Path]:
    """Return the paths of the jars that PySpark brings, by a file name pattern."""
    return sorted(Path(pyspark.__file__).with_name("jars").glob(pattern))


def _run(*command: str) -> None:
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}: {process.stdout[-2000:]}")
