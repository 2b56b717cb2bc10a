"""Separate environment for Apache Flink: its Python package, and the jars with which it reads and writes Parquet."""

from __future__ import annotations

import os
from pathlib import Path

from bench.maven import Artifact, find_pyspark_jars
from bench.peer_environment import Peer, PeerEnvironment

VERSION = "2.3.0"
_JAR = Artifact("org.apache.flink", "flink-sql-parquet", VERSION)
FLINK = Peer("Apache Flink", VERSION, f"apache-flink=={VERSION}", _JAR)
_JAR_PATTERNS = ("hadoop-client-*.jar", "zstd-jni-*.jar")
"""File names of the jars that Flink needs for Parquet and does not bring; PySpark has them."""


class FlinkEnvironment(PeerEnvironment):
    """Installation of Flink in a directory, about 900 MB."""

    def __init__(self, directory: Path) -> None:
        super().__init__(FLINK, directory)

    def variables(self) -> dict[str, str]:
        pyspark_jars = [jar for pattern in _JAR_PATTERNS for jar in find_pyspark_jars(pattern)]
        return super().variables() | {"HADOOP_CLASSPATH": os.pathsep.join(map(str, [*self.jars, *pyspark_jars]))}
