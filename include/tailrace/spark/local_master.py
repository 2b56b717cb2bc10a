"""Spark's settings for a local master: it listens on loopback only, requires a secret, and starts fast.

With a local master Spark creates the secret itself, so that no command line or file contains one. With a cluster's
master, executors on other machines must reach the driver: see `cluster_master`.
"""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

from tailrace.spark.class_archive import ClassArchive

_LOCAL = re.compile(r"local(\[.*\])?")
_HOST = "127.0.0.1"
# The JVM only passes on opaque rows. So it spends most of its time on its own start and on Spark's planning, in which
# the optimizing compiler and a parallel collector cost more than they gain: two fifths of all CPU time.
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def conf(master: str) -> dict[str, str]:
    """Return Spark's settings for a driver of this master."""
    if not _LOCAL.fullmatch(master):
        return {}
    return {
        "spark.driver.bindAddress": _HOST,
        "spark.driver.host": _HOST,
        "spark.authenticate": "true",
        "spark.driver.defaultJavaOptions": f"{_JVM} {ClassArchive().jvm_options}".rstrip(),
        "spark.pyspark.driver.python": sys.executable,  # for spark-submit, which would use PYSPARK_DRIVER_PYTHON
    }


def environment(master: str) -> dict[str, str]:
    """Return environment variables for the JVM of a driver of this master; set them before it starts."""
    if not _LOCAL.fullmatch(master):
        return {}
    # With a Python of this name Spark would search for other packages' data sources, in a separate process. Its scripts
    # would also ask that Python for Spark's location, which is therefore given, too.
    return {"SPARK_LOCAL_IP": _HOST, "PYSPARK_DRIVER_PYTHON": "none", "SPARK_HOME": spark_home()}


def spark_home() -> str:
    """Return the directory of the installed PySpark, found without importing it, which takes a second."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent)
