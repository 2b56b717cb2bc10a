"""What the contestants are asked over each window, in the words of a query, of Spark and of Flink's SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

K = 5


@dataclass(frozen=True)
class Question:
    """One question over sliding windows of `value`, by sensor or of all.

    Attributes
    ----------
    declared : dict
        What a query says: its kind, and that kind's section.
    spark : callable
        (rows, the window, the groups) → answers: `window`, the groups, and the answer's own columns.
    columns : str
        Those own columns with their types, as Flink declares them.
    flink : str
        A query of Flink's: `{windows}` stands for the table of windows, `{key}` for what is answered as the key, and
        `{groups}` for what rows are grouped by.
    """

    declared: dict[str, Any]
    spark: Callable[[DataFrame, Column, list[str]], DataFrame]
    columns: str
    flink: str


def _sums(rows: DataFrame, window: Column, groups: list[str]) -> DataFrame:
    grouped = rows.groupBy(window.alias("window"), *groups)
    return grouped.agg(F.sum("value").alias("value"), F.count("*").alias("tuples"))


def _best(rows: DataFrame, window: Column, groups: list[str]) -> DataFrame:
    better = F.struct("value", -F.col("id"))
    grouped = rows.groupBy(window.alias("window"), *groups)
    best = grouped.agg(F.max_by(F.struct("id", "value"), better, K).alias("best"))
    ranked = best.select("window", *groups, F.posexplode("best").alias("place", "one"))
    return ranked.select(
        "window", *groups, (F.col("place") + 1).alias("rank"), F.col("one.id"), F.col("one.value").alias("score")
    )


SUM = Question(
    {"kind": "aggregate", "aggregate": {"function": "sum", "column": "value"}},
    _sums,
    "`value` DOUBLE, tuples BIGINT",
    "SELECT {key}, window_start, window_end, SUM(`value`), COUNT(*) FROM {windows} GROUP BY {groups}",
)

TOP_K = Question(
    {"kind": "topk", "topk": {"k": K, "score": "value"}},
    _best,
    "`rank` BIGINT, id BIGINT, score DOUBLE",
    f"""SELECT {{key}}, window_start, window_end, place, id, `value` FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY {{groups}} ORDER BY `value` DESC, id ASC) AS place
            FROM {{windows}}
        ) WHERE place <= {K}""",
)
