"""Settings with which Spark under a local master listens on loopback alone, and its ports require a secret.

Spark makes the secret itself where the master is local, so no command line and no file holds one. Where the master is
a cluster's, executors on other machines must reach the driver: its addresses and its secret are the cluster's affair.
"""

from __future__ import annotations

import re

_LOCAL = re.compile(r"local(\[.*\])?")
_HOST = "127.0.0.1"


def conf(master: str) -> dict[str, str]:
    """Spark's settings for a driver of this master."""
    if not _LOCAL.fullmatch(master):
        return {}
    return {"spark.driver.bindAddress": _HOST, "spark.driver.host": _HOST, "spark.authenticate": "true"}


def environment(master: str) -> dict[str, str]:
    """Environment variables for the JVM of a driver of this master; to be set before it starts."""
    return {"SPARK_LOCAL_IP": _HOST} if _LOCAL.fullmatch(master) else {}
