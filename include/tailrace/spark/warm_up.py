"""Warm-up of Spark in the background, while a stream starts: its Python workers, with the modules of the tasks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pandas as pd
from pyspark.sql import SparkSession

from tailrace.engine.stage import Stage
from tailrace.spark.source import ROWS

_END_S = 5.0


@contextmanager
def warming_up(spark: SparkSession, stage: Stage) -> Iterator[None]:
    """Run an empty job like a stream's batch beside the block.

    A stream starts one Python process after the other for its source, and leaves the other cores idle. What fails here
    would fail in the stream as well, and is reported there.
    """
    packed = pickle.dumps(stage)

    def load(group: pd.DataFrame) -> pd.DataFrame:
        pickle.loads(packed)
        from tailrace.engine import task  # noqa: F401, PLC0415

        return group

    def run() -> None:
        with suppress(Exception):  # Spark's, or py4j's where Spark has no class for it
            rows = spark.range(stage.tasks).selectExpr("cast(id as int) task", "'' what", "binary('') bytes")
            rows.groupBy("task").applyInPandas(load, ROWS).collect()

    thread = Thread(target=run, name="warm-up", daemon=True)
    thread.start()
    yield
    thread.join(_END_S)  # its workers may hang, and the end of the stream waits for none
