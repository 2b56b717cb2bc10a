"""A contestant on Spark with Spark's defaults, in its own process, session and JVM.

The session of our queries has our own settings, down to the JVM's compiler and collector, which suit a JVM that only
passes on rows. They would slow down a contestant that computes in the JVM.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from bench.peer_process import PeerProcess

_LOOPBACK = "127.0.0.1"
_TOOLS = str(Path(__file__).resolve().parents[1])
# Variables that our sessions leave in this process's environment, with which the JVM would start like ours.
_OURS = ("PYSPARK_DRIVER_PYTHON", "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS")


class SparkPeer(PeerProcess):
    """Spark in a separate process, whose session lives from the first call to the last.

    Parameters
    ----------
    name : str
        The contestant's name.
    directory : Path
        Directory of its log.
    cores : int
        The number of its shuffle partitions, like our tasks; the default of 200 is for clusters.
    jars : sequence of Path
        Jars in addition to PySpark's.
    """

    def __init__(self, name: str, directory: Path, cores: int, jars: Sequence[Path] = ()) -> None:
        command = [sys.executable, "-m", "bench.spark_job"]
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
        """Call a function of a module with the session and JSON arguments; return its answer."""
        return self.submit({"function": f"{function.__module__}:{function.__name__}", "arguments": arguments})


def settings(cores: int, jars: Sequence[Path] = ()) -> dict[str, str]:
    """Return the settings of the session: Spark's defaults except for its address, its heap (like ours) and silence."""
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
    """Return the environment of the process: this one's, with `tools`, without variables of our own JVMs."""
    inherited = {name: value for name, value in os.environ.items() if name not in _OURS}
    path = os.pathsep.join(filter(None, [_TOOLS, inherited.get("PYTHONPATH")]))
    return inherited | {"SPARK_LOCAL_IP": _LOOPBACK, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
