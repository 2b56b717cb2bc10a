"""The connection `tailrace_spark`: the master, the deploy mode, and Spark's settings in its extra `conf`."""

from __future__ import annotations

import re

from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.apache.spark.hooks.spark_submit import ALLOWED_SPARK_BINARIES

from tailrace.drivers.kubernetes import Kubernetes
from tailrace.drivers.yarn import Yarn
from tailrace.ground.errors import refuse
from tailrace.orchestration import settings
from tailrace.spark import masters, platform_master

CONF = "conf"
URL = "yarn_resourcemanager_webapp_address"
_WHERE = f"connection {settings.SPARK}"
_SECRET = re.compile(r"(?i)(password|token|secret|secret[.]?key|access[.]?key)$")
_OURS = {**Yarn("", ()).submission_settings(""), **Kubernetes("", "", "").submission_settings("")}
_REFERENCE = ".secretKeyRef."  # names a Kubernetes secret, without containing it


def conf(tasks: int) -> dict[str, str]:
    """Return Spark's settings for a job of `tasks` tasks: its master's, then the connection's.

    Raises
    ------
    Refused
        When the connection's `conf` is not an object of texts, would put a secret on a command line, or hides a driver.
    """
    own = settings.connection(settings.SPARK).extra_dejson.get(CONF) or {}
    if not isinstance(own, dict) or not all(isinstance(value, str) for value in own.values()):
        raise refuse(f"{_WHERE}: {CONF}", "its values are no texts", '{"spark.executor.memory": "2g", …}')
    for name in own:
        if name in _OURS:
            raise refuse(f"{_WHERE}: {CONF}: {name}", "by it a query's drivers are found and ended", "no such setting")
        if _SECRET.search(name) and _REFERENCE not in name:
            fault = "command lines are no place for secrets"
            remedy = "a file's name, a secret of the platform, or spark-defaults.conf on the driver host"
            raise refuse(f"{_WHERE}: {CONF}: {name}", fault, remedy)
    master = settings.spark_master()
    return platform_master.defaults(master, tasks) | own | masters.conf(master)


def is_cluster_mode() -> bool:
    """Test whether drivers run on the platform's machines: deploy mode `cluster` of YARN or Kubernetes.

    Raises
    ------
    Refused
        When the connection is incomplete for this mode, or its master does not support it.
    """
    extra = settings.connection(settings.SPARK).extra_dejson
    if extra.get("deploy-mode") != "cluster":
        return False
    master = settings.spark_master()
    if not platform_master.is_platform(master):
        fault = f"deploy-mode cluster, but no driver in Python can be started by the master {master!r}"
        raise refuse(
            _WHERE, fault, "the host yarn or k8s://https://…, with the connection's type spark; or deploy-mode client"
        )
    if master == "yarn" and not extra.get(URL):
        fault = f"deploy-mode cluster needs {URL}, by which earlier drivers are found and ended"
        raise refuse(_WHERE, fault, "http://HOST:8088 of the ResourceManager; several with , between them")
    return True


def check() -> None:
    """Refuse settings on which the provider's hook would fail with an unclear error.

    Raises
    ------
    Refused
        When its program is not allowed, or Kubernetes is asked for and the provider's client is missing.
    """
    binary = settings.connection(settings.SPARK).extra_dejson.get("spark-binary", ALLOWED_SPARK_BINARIES[0])
    if binary not in ALLOWED_SPARK_BINARIES:
        fault = f"its extra spark-binary is {binary!r}"
        raise refuse(_WHERE, fault, f"one of {', '.join(ALLOWED_SPARK_BINARIES)}, on the PATH")
    if settings.spark_master().startswith("k8s://") and getattr(spark_submit, "kube_client", None) is None:
        remedy = "pip install apache-airflow-providers-cncf-kubernetes, where Airflow runs"
        raise refuse(_WHERE, "Spark's provider builds no command for Kubernetes without the provider of that", remedy)
