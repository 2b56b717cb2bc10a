"""Spark's settings for a standalone cluster's master: connections need the cluster's secret, and are encrypted.

The secret only comes from the environment variable `TAILRACE_SPARK_SECRET`, on the hosts of the master, the workers and
the drivers; no command line or file contains it. Spark reads it from its own variable in preference to its
configuration, which a driver must nevertheless set, to any value.
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys

from tailrace.ground.errors import refuse

SECRET = "TAILRACE_SPARK_SECRET"
FEWEST_CHARACTERS = 16  # characters of a secret
NETWORK = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.authEngineVersion": "2",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.master.rest.enabled": "false",  # this has no authentication
    "spark.ui.killEnabled": "false",
}
"""Settings that masters, workers, drivers and executors share."""

_CLUSTER = re.compile(r"spark://([^:,/]+|\[[0-9a-f:]+\])(:[0-9]+)?(,.*)?")


def is_cluster(master: str) -> bool:
    """Return whether an address belongs to a standalone cluster, with or without its port."""
    return _CLUSTER.fullmatch(master) is not None


def conf(master: str) -> dict[str, str]:
    """Return Spark's settings for a driver of this master; empty unless it is a standalone cluster's."""
    if not is_cluster(master):
        return {}
    addresses = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return {
        **NETWORK,
        "spark.authenticate.secret": f"in the environment: {SECRET}",
        "spark.pyspark.driver.python": sys.executable,  # for spark-submit, which would use PYSPARK_DRIVER_PYTHON
        **(addresses if _on_loopback(master) else {}),
    }


def environment(master: str) -> dict[str, str]:
    """Return environment variables, with the secret, for the JVM of a driver of this master.

    They are empty unless the master is a cluster.

    Raises
    ------
    Refused
        When the environment of this process lacks the secret.
    """
    if not is_cluster(master):
        return {}
    address = {"SPARK_LOCAL_IP": "127.0.0.1"} if _on_loopback(master) else {}
    return {"_SPARK_AUTH_SECRET": secret(), "PYSPARK_DRIVER_PYTHON": "none", **address}


def secret() -> str:
    """Return the cluster's secret from the environment of this process.

    Raises
    ------
    Refused
        When it is missing or too short.
    """
    value = os.environ.get(SECRET, "")
    if len(value) < FEWEST_CHARACTERS:
        fault = f"it has fewer than {FEWEST_CHARACTERS} characters" if value else "it is not set"
        remedy = "the one secret of the Spark cluster's master, workers and drivers, as `openssl rand -hex 32` makes it"
        raise refuse(f"environment variable {SECRET}", fault, remedy)
    return value


def _on_loopback(master: str) -> bool:
    match = _CLUSTER.fullmatch(master)
    assert match is not None
    host = match[1].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
