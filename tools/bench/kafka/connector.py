"""Fetches Spark's Kafka connector from Maven, as jars for a session."""

from __future__ import annotations

from pathlib import Path

from bench.cached_jars import CachedJars
from bench.maven import Artifact

VERSION = "4.2.0"
_ARTIFACTS = (
    Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),
    # Not every repository has the connector's own version of it. It serves delegation tokens, which are not used here.
    Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    Artifact("org.apache.kafka", "kafka-clients", "3.9.2"),
    Artifact("org.apache.commons", "commons-pool2", "2.13.1"),
)
JARS = CachedJars(f"spark-kafka-{VERSION}", _ARTIFACTS, are_alone=True)


def connector_jars() -> list[Path]:
    """Return the connector's jars that PySpark lacks, which are fetched the first time."""
    return sorted(JARS.bring().glob("*.jar"))
