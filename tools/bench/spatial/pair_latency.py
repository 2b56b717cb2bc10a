"""Latency of live spatial joins of two streams, by the length of an interval or window and by the grid."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

from bench import live_pairs
from bench.progress import Echo, Row
from bench.rounds import interleaved, median_ratio, medians
from bench.spatial.joins import JOINS, METHODS
from bench.spatial.same_twice import same_twice, with_again
from bench.spatial.streams import meeting_query, taxi_streams
from bench.spatial.table_on_spark import CORES
from tailrace.spark.session import session

RATE, SECONDS, TICK_MS = 200, 30.0, 100
"""Tuples a second of either stream, the duration after the first commit, and the tick of the queries."""

LENGTHS_S, BESIDE_NATIVE_S = (3, 6, 12), 6
"""Lengths of an interval or window in s, and the one at which `native` takes part."""

GRIDS = (1, 256)
"""Cells along a side, of the join by an interval of `BESIDE_NATIVE_S`."""


def settings() -> list[Row]:
    """Return the settings: lengths by `indexed`, one of them by `native`, too, and grids."""
    rows = list[Row]()
    for join in JOINS:
        for length in LENGTHS_S:
            methods = METHODS if length == BESIDE_NATIVE_S else METHODS[:1]
            rows += [{"join": join, "s long": length, "method": method, "grid": None} for method in methods]
    grids = [{"join": JOINS[0], "s long": BESIDE_NATIVE_S, "method": METHODS[0], "grid": grid} for grid in GRIDS]
    return rows + grids


def by_setting(rounds: int, echo: Echo, seconds: float = SECONDS) -> tuple[list[Row], list[Row]]:
    """Measure the latency of each setting in turns, of the first one twice.

    Return the rows of all settings, and a row about the same twice.
    """
    chosen = {", ".join(str(value) for value in each.values() if value is not None): each for each in settings()}
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", CORES) as spark:
        directories = (Path(name) / str(number) for number in count())
        contestants: dict[str, Callable[[], Row]] = {
            who: partial(_measure, spark, setting, directories, seconds) for who, setting in chosen.items()
        }
        first = next(iter(chosen))
        passes = interleaved(with_again(contestants, first), rounds, "p50 s", echo)
    twice, rows = same_twice(passes, first, "p50 s"), list[Row]()
    for who, setting in chosen.items():
        row = setting | medians(passes[who])
        beside = [each for each, other in chosen.items() if other == setting | {"method": METHODS[1]}]
        row["× native"] = median_ratio(passes[who], passes[beside[0]], "p50 s") if beside else None
        rows.append(row)
    return rows, [twice]


def _measure(spark: SparkSession, setting: Row, directories: Iterator[Path], seconds: float) -> Row:
    section = {name: setting[name] for name in ("method", "grid") if setting[name] is not None}
    directory, length = next(directories), setting["s long"]
    query = meeting_query(setting["join"], length / 60, section, directory, CORES, TICK_MS)
    streams = taxi_streams(live_pairs.rows_of_feed(RATE, seconds))
    window_s = length if setting["join"] == "window" else 0
    return live_pairs.measure(spark, query, live_pairs.PairFeed(directory, streams, RATE, seconds, window_s))
