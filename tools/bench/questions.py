"""Questions of the benchmarks over each window, as a query of ours, on Spark and in Flink SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

K = 5

_NET, _CONDITION = "value / 1.19", "value > 0.72"
_FLINK_NET = "`value` / 1.19"


@dataclass(frozen=True)
class Question:
    """One question over sliding windows of `value`, by sensor or over all sensors.

    Attributes
    ----------
    declared : dict
        Fields of the query: its kind, and that kind's section.
    stream : dict
        Fields of the query's stream: derived columns and a condition.
    spark : callable
        (rows, the window, the groups) → answers: `window`, the groups, and the answer's own columns.
    columns : str
        These columns with their types, in Flink's syntax.
    flink : str
        A query in Flink SQL, with `{windows}` for the table of windows, `{key}` for the key column of an answer, and
        `{groups}` for the columns by which rows are grouped.
    spark_panes, flink_panes : callable, str, optional
        The rows of each pane (of one slide) that can matter to a window, so that windows are evaluated over these
        alone. As above, with `{panes}` for the table of panes; in Flink always by sensor, so that its tasks share
        the work. `event_time` is within the pane.
    """

    declared: dict[str, Any]
    spark: Callable[[DataFrame, Column, list[str]], DataFrame]
    columns: str
    flink: str
    stream: dict[str, Any] = field(default_factory=dict)
    spark_panes: Callable[[DataFrame, Column, list[str]], DataFrame] | None = None
    flink_panes: str | None = None


def _sums(rows: DataFrame, window: Column, groups: list[str]) -> DataFrame:
    grouped = rows.groupBy(window.alias("window"), *groups)
    return grouped.agg(F.sum("value").alias("value"), F.count("*").alias("tuples"))


def _several(rows: DataFrame, window: Column, groups: list[str]) -> DataFrame:
    kept = rows.where(_CONDITION).withColumn("net", F.expr(_NET))
    number, total = F.count("*").alias("number"), F.sum("net").alias("total")
    mean, most = F.avg("net").alias("mean"), F.max("net").alias("most")
    return kept.groupBy(window.alias("window"), *groups).agg(total, number, mean, most, F.count("*").alias("tuples"))


def _best(rows: DataFrame, window: Column, groups: list[str]) -> DataFrame:
    ranked_rows = _k_best(rows, window, groups).select("window", *groups, F.posexplode("best").alias("place", "one"))
    rank, score = (F.col("place") + 1).alias("rank"), F.col("one.value").alias("score")
    return ranked_rows.select("window", *groups, rank, "one.id", score)


def _best_of_panes(rows: DataFrame, pane: Column, groups: list[str]) -> DataFrame:
    best_rows = _k_best(rows, pane, groups).select("window", *groups, F.explode("best").alias("one"))
    return best_rows.select(F.window_time("window").alias("event_time"), *groups, "one.id", "one.value")


def _k_best(rows: DataFrame, window: Column, groups: list[str]) -> DataFrame:
    better = F.struct("value", -F.col("id"))
    grouped = rows.groupBy(window.alias("window"), *groups)
    return grouped.agg(F.max_by(F.struct("id", "value"), better, K).alias("best"))


SUM = Question(
    {"kind": "aggregate", "aggregate": {"function": "sum", "column": "value"}},
    _sums,
    "`value` DOUBLE, tuples BIGINT",
    "SELECT {key}, window_start, window_end, SUM(`value`), COUNT(*) FROM {windows} GROUP BY {groups}",
)

SEVERAL = Question(
    {
        "kind": "aggregate",
        "aggregate": {
            "total": {"function": "sum", "column": "net"},
            "number": {"function": "count"},
            "mean": {"function": "avg", "column": "net"},
            "most": {"function": "max", "column": "net"},
        },
    },
    _several,
    "total DOUBLE, number BIGINT, mean DOUBLE, most DOUBLE, tuples BIGINT",
    f"""SELECT {{key}}, window_start, window_end, SUM({_FLINK_NET}), COUNT(*), AVG({_FLINK_NET}),
        MAX({_FLINK_NET}), COUNT(*) FROM {{windows}} WHERE `value` > 0.72 GROUP BY {{groups}}""",
    {"columns": {"net": _NET}, "where": _CONDITION},
)
"""Four aggregates of a derived column, over the nine tenths of the rows that a condition keeps."""

_RANKED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {groups} ORDER BY `value` DESC, id ASC) AS place"

TOP_K_AT_ONCE = Question(
    {"kind": "topk", "topk": {"k": K, "score": "value"}},
    _best,
    "`rank` BIGINT, id BIGINT, score DOUBLE",
    f"""SELECT {{key}}, window_start, window_end, place, id, `value`
        FROM ({_RANKED} FROM {{windows}}) WHERE place <= {K}""",
)
"""Top-k in its straightforward form, over the rows of each window."""

TOP_K = replace(
    TOP_K_AT_ONCE,
    spark_panes=_best_of_panes,
    flink_panes=f"""SELECT sensor, id, `value`, window_time AS event_time
        FROM ({_RANKED.format(groups="sensor, window_start, window_end")} FROM {{panes}}) WHERE place <= {K}""",
)
"""Top-k in the fastest form that we found, in Spark and in Flink: the k best of each pane first."""
