"""Settings of Spark under a local master: it listens on loopback alone, asks for a secret, and starts fast.

Spark makes the secret itself where the master is local, so no command line and no file holds one. Where the master is
a cluster's, executors on other machines must reach the driver: see `cluster_master`.
"""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

from tailrace.spark.class_archive import ClassArchive

_LOCAL = re.compile(r"local(\[.*\])?")
_HOST = "127.0.0.1"
# The JVM passes on rows that it can't read; so it spends most of its time on its own start and on Spark's planning,
# where the optimizing compiler and a parallel collector cost more than they give: two fifths of all CPU time.
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def conf(master: str) -> dict[str, str]:
    """Spark's settings for a driver of this master."""
    if not _LOCAL.fullmatch(master):
        return {}
    return {
        "spark.driver.bindAddress": _HOST,
        "spark.driver.host": _HOST,
        "spark.authenticate": "true",
        "spark.driver.defaultJavaOptions": f"{_JVM} {ClassArchive().jvm_options}".rstrip(),
        "spark.pyspark.driver.python": sys.executable,  # of spark-submit, which would take PYSPARK_DRIVER_PYTHON
    }


def environment(master: str) -> dict[str, str]:
    """Environment variables for the JVM of a driver of this master; to be set before it starts."""
    if not _LOCAL.fullmatch(master):
        return {}
    # With a Python by this name Spark would look for data sources that other packages bring, in a process of its own.
    # Its scripts would ask the same Python where Spark is, so it gets that, too.
    return {"SPARK_LOCAL_IP": _HOST, "PYSPARK_DRIVER_PYTHON": "none", "SPARK_HOME": spark_home()}


def spark_home() -> str:
    """The directory of the installed PySpark, found without the second that importing it takes."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent)
