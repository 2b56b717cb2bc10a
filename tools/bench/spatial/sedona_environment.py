"""Separate environment for Apache Sedona: the PySpark version that it is built for, and its jar."""

from __future__ import annotations

from pathlib import Path

from bench.maven import Artifact
from bench.peer_environment import Peer, PeerEnvironment

LOOPBACK = "127.0.0.1"
VERSION, PYSPARK = "1.8.0", "4.0.1"
_JAR = Artifact("org.apache.sedona", "sedona-spark-shaded-4.0_2.13", VERSION)
SEDONA = Peer("Apache Sedona", VERSION, f"pyspark=={PYSPARK}", _JAR)


class SedonaEnvironment(PeerEnvironment):
    """Installation of Sedona in a directory, about 550 MB."""

    def __init__(self, directory: Path) -> None:
        super().__init__(SEDONA, directory)

    def variables(self) -> dict[str, str]:
        others = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "SPARK_CONF_DIR")  # of our own PySpark
        mine = {name: value for name, value in super().variables().items() if name not in others}
        return mine | {"SPARK_LOCAL_IP": LOOPBACK}
