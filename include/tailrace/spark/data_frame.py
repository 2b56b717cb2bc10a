"""Converts rows to a Spark data frame, in a session of the user's."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tailrace.ground.errors import refuse


def data_frame_of(rows: pa.Table, session: SparkSession | None = None) -> DataFrame:
    """Return rows as a data frame of a session; without one, of the active one.

    Raises
    ------
    Refused
        When no session is active.
    """
    active = session or SparkSession.getActiveSession()
    if active is None:
        raise refuse("spark()", "no Spark session is active", "spark(session), or SparkSession.builder.getOrCreate()")
    return active.createDataFrame(rows)
