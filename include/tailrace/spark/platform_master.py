"""Spark's settings for YARN and Kubernetes, which create a secret for each application themselves."""

from __future__ import annotations

import sys

from tailrace.spark.cluster_master import NETWORK


def is_platform(master: str) -> bool:
    """Return whether a master belongs to a platform that can also run drivers, in deploy mode `cluster`."""
    return master == "yarn" or master.startswith("k8s://")


def conf(master: str) -> dict[str, str]:
    """Return Spark's settings for a driver of this master; empty for others."""
    return dict(NETWORK) if is_platform(master) else {}


def defaults(master: str, tasks: int) -> dict[str, str]:
    """Return settings that a connection may replace: this Python's path on each machine, and a core for each task."""
    if not is_platform(master):
        return {}
    return {"spark.pyspark.python": sys.executable, "spark.executor.instances": str(tasks)}
