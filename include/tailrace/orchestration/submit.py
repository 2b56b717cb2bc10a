"""The command that starts a driver: the provider's spark-submit, wrapped by the launcher `drivers.launch`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from tailrace.drivers.submission import submitted_files
from tailrace.ground import json_log
from tailrace.ground.connections import variable_of
from tailrace.ground.errors import refuse
from tailrace.ground.files import source_roots
from tailrace.ground.files.object_path import Location, on_disk
from tailrace.orchestration import settings, spark_connection
from tailrace.orchestration.passed_connections import passed_connections
from tailrace.orchestration.settings import Declared
from tailrace.query.query import Query
from tailrace.spark import package_archive
from tailrace.storage import warehouses
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import Warehouse
from tailrace.stream.run_options import BATCH_ROWS

APP = "stream.py"
MEMORY = r"^([5-9][0-9]{2}m|[1-9][0-9]{3,5}m|[1-9][0-9]{0,2}g)$(?!\n)"
"""Pattern of a heap size in a form, for Python and browsers alike; in Python `$` also matches before a last newline."""
MEMORY_WORDS = "a number and m or g, from 500m to 999g"


@dataclass(frozen=True)
class Options:
    """Run options of a driver; no answer depends on them.

    Attributes
    ----------
    batch_rows : int
        Upper bound on the rows of one batch.
    restarts, within_s : int
        Restart budget: more than `restarts` restarts within `within_s` seconds are a crash loop.
    driver_memory : str
        Heap of the driver's JVM, in Spark's notation.

    Raises
    ------
    Refused
        When no driver can have this memory.
    """

    batch_rows: int = BATCH_ROWS
    restarts: int = 5
    within_s: int = 600
    driver_memory: str = "2g"

    def __post_init__(self) -> None:
        if not re.search(MEMORY, self.driver_memory):
            fault = "no driver can have so much or so little, or it is no size"
            raise refuse(f"driver_memory {self.driver_memory!r}", fault, f"{MEMORY_WORDS}: {type(self).driver_memory}")

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Read the options from the params of a form, which may have other fields, too."""
        return cls(**{name: params[name] for name in cls.__dataclass_fields__ if name in params})


def deployed_query(declared: Declared, options: Options) -> DeployedQuery:
    """Return the record of a deployment: the copy that a driver started by `driver_command` runs."""
    return DeployedQuery(declared.file, declared.text, asdict(options))


def driver_command(query: Declared, warehouse: Warehouse, options: Options) -> list[str]:
    """Return the command that the driver host starts; never log it, since a connection may add secrets.

    Raises
    ------
    Refused
        When the query does not fit its checkpoint, or Airflow does not know the connection `tailrace_spark`, or the
        connection is incomplete.
    """
    layout = Layout.for_query(warehouse, query.query.name)
    layout.require_deployable(query.query, query.file)
    spark_connection.check()
    if spark_connection.is_cluster_mode():
        submit = cluster_command(query, layout, options)
    else:
        hook = SparkSubmitHook(**_parts(query, warehouse, options), conf=spark_connection.conf(query.query.parallelism))
        submit = hook._build_spark_submit_command(str(settings.spark_apps() / APP))
    budget = ["--restarts", str(options.restarts), "--within", str(options.within_s)]
    return [sys.executable, "-m", "tailrace.drivers.launch", "--home", str(layout.home), *budget, "--", *submit]


def cluster_command(query: Declared, layout: Layout, options: Options) -> list[str]:
    """Return the command that submits a driver to the connection's platform and lives as long as the driver.

    Raises
    ------
    Refused
        When a query on Kubernetes has a connection that is not in a Kubernetes secret.
    """
    conf, on_yarn = spark_connection.conf(query.query.parallelism), settings.spark_master() == "yarn"
    words = ["--home", str(layout.home), "--app", str(settings.spark_apps() / APP)]
    if on_yarn:
        connection = settings.connection(settings.SPARK)
        words += ["--url", connection.extra_dejson[spark_connection.URL]]
        words += [word for name in _passed(query.query) for word in ("--pass", name)]
    else:
        _require_secrets(query.query, conf)
        conf |= {f"spark.kubernetes.driverEnv.{name}": value for name, value in _own_variables().items()}
    scheme = "" if on_yarn else "local://"  # files that are already on the driver's machine
    location = f"{scheme}{submitted_files(on_disk(layout.home))}"
    parts = _parts(query, layout.home.parent, options)
    hook = SparkSubmitHook(**parts, conf=conf, py_files=f"{location}/{package_archive.NAME}")
    submit = hook._build_spark_submit_command(f"{location}/{APP}")
    return [sys.executable, "-m", "tailrace.drivers.cluster_submission", *words, "--", *submit]


def _parts(query: Declared, warehouse: Warehouse | Location, options: Options) -> dict[str, Any]:
    arguments = {
        "--warehouse": str(warehouse),
        "--batch-rows": str(options.batch_rows),
        "--deployed": query.query.name,
    }
    return {
        "conn_id": settings.SPARK,
        "name": f"tailrace {query.query.name}",
        "driver_memory": options.driver_memory,
        "application_args": [str(query.file), *(word for pair in arguments.items() for word in pair)],
    }


def _passed(query: Query) -> list[str]:
    return [*_own_variables(), *map(variable_of, query.connections)]


def _own_variables() -> dict[str, str]:
    names = source_roots.VARIABLE, json_log.VARIABLE, warehouses.CONNECTION
    return {name: os.environ[name] for name in names if name in os.environ}


def _require_secrets(query: Query, conf: Mapping[str, str]) -> None:
    for name in query.connections:
        setting = f"spark.kubernetes.driver.secretKeyRef.{variable_of(name)}"
        if setting not in conf:
            where, fault = f"connection {settings.SPARK}: {spark_connection.CONF}", f"nothing gives the driver {name}"
            raise refuse(where, fault, f'"{setting}": "SECRET:KEY", a secret of Kubernetes that holds it in JSON')


def environment(query: Query) -> dict[str, str]:
    """Return the variables that the driver host adds to its own environment for a query's driver; never log them.

    PATH is not included, as the launcher finds this Python's programs.
    """
    of_spark = {name: value for name, value in settings.spark_environment().items() if name != "PATH"}
    return of_spark | _own_variables() | passed_connections(query)
