"""Settings of Spark under YARN and Kubernetes, which make a secret for each application by themselves."""

from __future__ import annotations

import sys

from tailrace.spark.cluster_master import NETWORK


def is_platform(master: str) -> bool:
    """True for the master of a platform that can run drivers too, in deploy mode `cluster`."""
    return master == "yarn" or master.startswith("k8s://")


def conf(master: str) -> dict[str, str]:
    """Spark's settings for a driver of this master; empty for others."""
    return dict(NETWORK) if is_platform(master) else {}


def defaults(master: str, tasks: int) -> dict[str, str]:
    """What a connection's own settings may replace: this Python's path on every machine, and a core for each task."""
    if not is_platform(master):
        return {}
    return {"spark.pyspark.python": sys.executable, "spark.executor.instances": str(tasks)}
