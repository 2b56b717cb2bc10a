"""An environment of its own for Apache Flink: its Python package, and the jar by which it reads and writes Parquet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

from tailrace.bench.progress import Tell

VERSION = "2.3.0"
_JAR = "flink-sql-parquet"
_BORROWED = ("hadoop-client-*.jar", "zstd-jni-*.jar")
"""What Flink's Parquet needs and does not bring: PySpark has it."""


class FlinkEnvironment:
    """Flink in a directory, made there when it is first asked for.

    Parameters
    ----------
    directory : Path
        Holds it, about 900 MB; one that is there whole is used as it is.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.python = self.directory / "venv" / "bin" / "python"
        self._jars = self.directory / "jars"
        self._made = self.directory / f"flink-{VERSION}"

    def make(self, tell: Tell) -> None:
        """Bring what is missing: from PyPI by pip, and from Maven by the Ivy that PySpark has.

        Raises
        ------
        RuntimeError
            When a step fails; tells its command and what it wrote last.
        """
        if self._made.exists():
            return
        tell(f"installing Apache Flink {VERSION} in {self.directory}, which takes a few minutes")
        self.directory.mkdir(parents=True, exist_ok=True)
        _run(sys.executable, "-m", "venv", "--clear", str(self.python.parents[1]))
        _run(str(self.python), "-m", "pip", "install", "--quiet", f"apache-flink=={VERSION}")
        ivy = ("-cp", os.pathsep.join(map(str, _pyspark("ivy-*.jar"))), "org.apache.ivy.Main")
        artifact = ("-dependency", "org.apache.flink", _JAR, VERSION, "-confs", "default")
        _run(_java(), *ivy, *artifact, "-retrieve", f"{self._jars}/[artifact]-[revision].[ext]")
        self._made.touch()

    def variables(self) -> dict[str, str]:
        """The environment of its processes."""
        borrowed = [jar for pattern in _BORROWED for jar in _pyspark(pattern)]
        return os.environ | {
            "HADOOP_CLASSPATH": os.pathsep.join(map(str, [*self._jars.glob(f"{_JAR}-*.jar"), *borrowed]))
        }


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def _pyspark(pattern: str) -> list[Path]:
    """Jars that PySpark brings."""
    return sorted(Path(pyspark.__file__).with_name("jars").glob(pattern))


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stdout[-2000:]}")
