"""Fetches Spark's Kafka connector from Maven, as jars for a session."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from tailrace.bench.maven import Artifact, fetch

VERSION = "4.2.0"
_ARTIFACTS = (
    Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),
    # Not every repository has the connector's own version of it. It serves delegation tokens, which are not used here.
    Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    Artifact("org.apache.kafka", "kafka-clients", "3.9.2"),
    Artifact("org.apache.commons", "commons-pool2", "2.13.1"),
)


def connector_jars() -> list[Path]:
    """Return the connector's jars that PySpark lacks, which are fetched the first time."""
    directory = Path.home() / ".cache" / "tailrace" / f"spark-kafka-{VERSION}"
    directory.mkdir(parents=True, exist_ok=True)
    with FileLock(directory / ".lock"):
        if not (directory / "complete").exists():
            for artifact in _ARTIFACTS:
                fetch(artifact, directory, alone=True)
            (directory / "complete").touch()
    return sorted(directory.glob("*.jar"))
