"""Command that starts a driver: the provider's spark-submit, wrapped by the launcher `drivers.launch`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from airflow.providers.apache.spark.hooks.spark_submit import ALLOWED_SPARK_BINARIES, SparkSubmitHook

from tailrace.engine.batch_header import BATCH_ROWS
from tailrace.ground import json_log, source_roots
from tailrace.ground.errors import refuse
from tailrace.orchestration import settings
from tailrace.orchestration.passed_connections import passed_connections
from tailrace.orchestration.settings import Declared
from tailrace.query.query import Query
from tailrace.spark import masters
from tailrace.storage import warehouses
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import Warehouse

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
        Restart budget: more restarts than this within so many seconds are a crash loop.
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
            wrong = "no driver can have so much or so little, or it is no size"
            raise refuse(f"driver_memory {self.driver_memory!r}", wrong, f"{MEMORY_WORDS}: {type(self).driver_memory}")

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Take the options from the params of a form, which may hold other fields too."""
        return cls(**{name: params[name] for name in cls.__dataclass_fields__ if name in params})


def driver_command(query: Declared, warehouse: Warehouse, options: Options) -> list[str]:
    """Return the command that the driver host starts; never log it, since a connection may put secrets into it.

    Raises
    ------
    Refused
        When the query does not fit its checkpoint, Airflow does not know the connection `tailrace_spark`, or it would
        start the driver off the driver host.
    """
    layout = Layout.of(warehouse, query.query.name)
    layout.require_deployable(query.query.structure(), query.file)
    _require_binary()
    hook = SparkSubmitHook(
        conf=masters.conf(settings.spark_master()),
        conn_id=settings.SPARK,
        name=f"tailrace {query.query.name}",
        driver_memory=options.driver_memory,
        application_args=[str(query.file), "--warehouse", str(warehouse), "--batch-rows", str(options.batch_rows)],
    )
    if hook._connection["deploy_mode"] == "cluster":
        wrong = "deploy-mode cluster starts the driver elsewhere, out of the driver host's reach"
        raise refuse(f"connection {settings.SPARK}", wrong, "deploy-mode client")
    submit = hook._build_spark_submit_command(str(settings.spark_apps() / "stream.py"))
    budget = ["--restarts", str(options.restarts), "--within", str(options.within_s)]
    return [sys.executable, "-m", "tailrace.drivers.launch", "--home", str(layout.home), *budget, "--", *submit]


def _require_binary() -> None:
    """Refuse a program that the provider's hook does not allow; it would fail with an error of its own."""
    binary = settings.connection(settings.SPARK).extra_dejson.get("spark-binary", ALLOWED_SPARK_BINARIES[0])
    if binary not in ALLOWED_SPARK_BINARIES:
        wrong = f"its extra spark-binary is {binary!r}"
        raise refuse(f"connection {settings.SPARK}", wrong, f"one of {', '.join(ALLOWED_SPARK_BINARIES)}, on the PATH")


def environment(query: Query) -> dict[str, str]:
    """Return the variables that the driver host adds to its own environment for a query's driver; never log them.

    PATH is not among them: the launcher finds this Python's programs.
    """
    variables = (source_roots.VARIABLE, json_log.VARIABLE, warehouses.CONNECTION)
    own = {name: os.environ[name] for name in variables if name in os.environ}
    of_spark = {name: value for name, value in settings.spark_environment().items() if name != "PATH"}
    return of_spark | own | passed_connections(query)
