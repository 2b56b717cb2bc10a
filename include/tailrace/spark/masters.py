"""Spark's settings by master: local, a standalone cluster's, YARN, Kubernetes, or another."""

from __future__ import annotations

import os

from tailrace.ground.locales import utf_8_locale
from tailrace.spark import cluster_master, local_master, platform_master
from tailrace.spark.class_archive import ClassArchive


def conf(master: str) -> dict[str, str]:
    """Return Spark's settings for a driver of this master."""
    return local_master.conf(master) | cluster_master.conf(master) | platform_master.conf(master)


def environment(master: str) -> dict[str, str]:
    """Return environment variables for the JVM of a driver of this master; set them before it starts.

    Raises
    ------
    Refused
        When a cluster's secret is missing in the environment of this process.
    """
    is_local = bool(local_master.conf(master))
    shared = {"SPARK_CONF_DIR": ClassArchive().conf_directory(with_archive=is_local)}
    if cluster_master.is_cluster(master) or platform_master.is_platform(master):
        shared["SPARK_HOME"] = local_master.spark_home()
    return local_master.environment(master) | shared | cluster_master.environment(master) | utf_8_locale(os.environ)
