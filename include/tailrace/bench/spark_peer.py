"""A contestant on Spark as Spark is by default: in a process, a session and a JVM of its own.

The session of our queries has settings of ours, down to the JVM's compiler and collector, which suit a JVM that passes
rows on. A contestant that computes in the JVM would pay for them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from tailrace.bench.peer_process import PeerProcess

_LOOPBACK = "127.0.0.1"
# What our sessions leave in the environment of this process, by which the JVM would start as ours does.
_OURS = ("PYSPARK_DRIVER_PYTHON", "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS")


class SparkPeer(PeerProcess):
    """Spark in a process of its own, whose session lives from the first call to the last.

    Parameters
    ----------
    name : str
        The contestant's.
    directory : Path
        Directory of its log.
    cores : int
        The number of its shuffle partitions, as of our tasks: its default of 200 is for clusters.
    jars : sequence of Path
        Jars beside those that PySpark has.
    """

    def __init__(self, name: str, directory: Path, cores: int, jars: Sequence[Path] = ()) -> None:
        command = [sys.executable, "-m", "tailrace.bench.spark_job"]
        super().__init__(f"Spark ({name})", command, variables(), directory / name / "spark.log")
        self._settings = settings(cores, jars)

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.jvm_options: list[str] = self.submit({"settings": self._settings})["jvm_options"]
        except BaseException:  # nobody else would end it
            self.__exit__(None, None, None)
            raise
        return self

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of a module with the session and arguments that JSON can hold; return its answer."""
        return self.submit({"function": f"{function.__module__}:{function.__name__}", "arguments": arguments})


def settings(cores: int, jars: Sequence[Path] = ()) -> dict[str, str]:
    """Return the settings of the session: Spark's defaults but for its address, its heap (as ours) and silence."""
    return {
        "spark.master": "local[*]",
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.driver.host": _LOOPBACK,
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        **({"spark.jars": ",".join(map(str, jars))} if jars else {}),
    }


def variables() -> dict[str, str]:
    """Return the environment of the process: this one's, without what makes a JVM start as ours does."""
    inherited = {name: value for name, value in os.environ.items() if name not in _OURS}
    return inherited | {"SPARK_LOCAL_IP": _LOOPBACK, "PYSPARK_PYTHON": sys.executable}
