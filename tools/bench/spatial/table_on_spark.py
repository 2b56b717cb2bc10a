"""The join of taxis with districts on Spark, beside Apache Sedona's broadcast join of the same files (figure 11)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from pyspark.sql import SparkSession

from bench.contestants import PassTimes, measured_run
from bench.meter import Meter
from bench.progress import Echo, Row
from bench.rounds import Passes, interleaved, median_ratio, medians
from bench.spatial.same_twice import same_twice, with_again
from bench.spatial.sedona import Sedona, answers
from bench.spatial.sedona_environment import SedonaEnvironment
from bench.spatial.streams import source, taxi_batches
from bench.spatial.table import RELATION, districts
from generators.replay import write
from generators.sample_districts import district_file
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spark.session import session
from tailrace.spatial_join.geometry.geometries import Points
from tailrace.spatial_join.table.table_index import TableIndex
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions

METHODS: tuple[str, ...] = ("indexed", "native", "external")
"""Methods of `join: table` that take part beside Sedona."""

POINTS, FILES, CORES = 1_000_000, 4, 2
"""Fixes, the files that they are in, and cores."""

PAIR = ["left_id", "right_id"]


@dataclass(frozen=True)
class TableContestant:
    """A contestant, whose passes write into a directory each.

    Attributes
    ----------
    points : Table
        The points of a pass.
    run : callable
        Runs a pass into a directory.
    pairs : callable
        Reads the pairs of a pass, `left_id` and `right_id`, from its directory.
    meter : callable
        Makes the meter of a pass.
    start_s : float or None
        The time that its JVM took to start; None in a shared session.
    """

    points: pa.Table
    run: Callable[[Path], PassTimes]
    pairs: Callable[[Path], pa.Table]
    meter: Callable[[], Meter]
    start_s: float | None = None
    directories: Iterator[int] = field(default_factory=count)

    def measure(self, directory: Path) -> Row:
        """Run a pass in a new directory below this one."""
        points = len(self.points)
        out = directory / str(next(self.directories))
        with self.meter() as meter:
            pace = self.run(out)
        cost = meter.cost
        row: Row = {"points/s": points / cost.seconds, "warm points/s": pace.warm_rows / pace.warm_s}
        row |= {"s": cost.seconds, "warm s": pace.warm_s}
        row |= {"CPU µs/point": 1e6 * cost.cpu_s / points}
        return row | {"MiB": cost.driver_mib + cost.jvm_mib + cost.workers_mib}


def table_query(method: str, points: Path) -> Query:
    """Return the query for the districts of taxis, by a method of `join: table`."""
    table = {"path": str(district_file("beijing")), "id": "id", "geometry": "geometry", "on_invalid": "make_valid"}
    section: dict[str, Any] = {"join": "table", "geometry": {"left": {"x": "lon", "y": "lat"}}, "table": table}
    section |= {"relation": RELATION, "method": method}
    query = {"name": "districts", "kind": "spatial_join", "streams": {"left": source(points)}, "parallelism": CORES}
    return declared_query(query | {"spatial_join": section})


def beside_sedona(points: int, rounds: int, sedona_home: Path | None, echo: Echo) -> tuple[list[Row], list[Row]]:
    """Find the districts of at most `POINTS` points by each contestant; return no rows without a contestant.

    The first pass of each is cold. Another pass is dropped; then they take turns, our first method twice. Return the
    contestants' rows, and rows about the same method twice, for whole and for warm runs.

    Raises
    ------
    RuntimeError
        When a contestant does not find the pairs of `TableIndex`.
    """
    if sedona_home is None and not METHODS:
        return [], []
    table = pa.Table.from_batches(taxi_batches(min(points, POINTS)))
    before = pa.Table.from_batches(taxi_batches(len(table), fleet=1))
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, ExitStack() as stack:
        directory = Path(name)
        contestants = _contestants(directory, before, table, sedona_home, stack, echo)
        cold = {}
        for who, each in contestants.items():
            cold[who] = each.measure(directory / who)
            echo(f"  cold pass {who}: {cold[who]['s']:.2f} s")
            _check(who, each.pairs(directory / who / "0"), _pairs(each.points))
        runs: dict[str, Callable[[], Row]] = {
            who: partial(each.measure, directory / who) for who, each in contestants.items()
        }
        if METHODS:
            runs = with_again(runs, METHODS[0])
        passes = interleaved(runs, rounds, "warm points/s", echo)
    twice = _twice(passes) if METHODS else []
    rows = []
    for who, mine in passes.items():
        row: Row = {"contestant": who, "points": len(table), "pairs": len(_pairs(table))}
        row |= {"start s": contestants[who].start_s, "cold s": cold[who]["s"]} | medians(mine)
        for base in ("Sedona", "native"):
            others = passes.get(base.lower())
            row[f"× {base}"] = others and median_ratio(mine, others, "points/s")
            row[f"warm × {base}"] = others and median_ratio(mine, others, "warm points/s")
        rows.append(row)
    return rows, twice


def _twice(passes: Passes) -> list[Row]:
    """Remove the second passes of our first method, and compare them with the first ones, whole and warm."""
    whole = same_twice(dict(passes), METHODS[0], "points/s")
    return [whole, same_twice(passes, METHODS[0], "warm points/s")]


def _contestants(
    directory: Path, before: pa.Table, points: pa.Table, sedona_home: Path | None, stack: ExitStack, echo: Echo
) -> dict[str, TableContestant]:
    """Start Sedona, if it has a home, and the session of our methods, if there are any.

    Ours get a stream: as many other points, `before`, in its first batch, and then the points in one batch.
    """
    contestants, others = dict[str, TableContestant](), list[int]()
    write(points, directory / "points", FILES)
    stream = pa.concat_tables([before, points])
    write(stream, directory / "stream", 2 * FILES)
    if sedona_home is not None:
        environment = SedonaEnvironment(sedona_home)
        environment.make(echo)
        sedona = stack.enter_context(Sedona(environment, directory / "log"))
        others, start_s, polygons = [sedona.pid], sedona.start(CORES), directory / "districts.parquet"
        table = districts()
        pq.write_table(pa.table({"id": table.ids, "geometry": shapely.to_wkb(table.shapes)}), polygons)

        def run(out: Path) -> PassTimes:
            return PassTimes([], len(points), sedona.run(directory / "points", polygons, out))

        contestants["sedona"] = TableContestant(points, run, answers, partial(Meter, of=sedona.pid), start_s)
    if METHODS:
        spark = stack.enter_context(session("tailrace bench", CORES))
        for method in METHODS:
            query = table_query(method, directory / "stream")
            run_ours = partial(_ours, spark, query, len(points))
            contestants[method] = TableContestant(
                stream, run_ours, partial(_results, query), partial(Meter, without=others)
            )
    return contestants


def _ours(spark: SparkSession, query: Query, points: int, out: Path) -> PassTimes:
    """Run our query with `points` points in a batch; warm means after the first batch."""
    return measured_run(spark, query, out, RunOptions(points))


def _results(query: Query, out: Path) -> pa.Table:
    return Tables(Layout.for_query(out, query.name)).read("results")


def _pairs(table: pa.Table) -> pa.Table:
    """Return the pairs of a fix and a district, by our index in process."""
    rows = districts()
    points = Points(*(table[name].to_numpy() for name in ("lon", "lat")))
    matches = TableIndex.from_shapes(rows.shapes, RELATION).matches(points)
    return pa.table(
        {"left_id": table["id"].take(pa.array(matches.left)), "right_id": rows.ids.take(pa.array(matches.right))}
    )


def _check(who: str, pairs: pa.Table, expected: pa.Table) -> None:
    """Compare pairs with the expected ones, as sorted lists."""
    order = [(name, "ascending") for name in PAIR]
    mine, other = (each.select(PAIR).sort_by(order).combine_chunks() for each in (pairs, expected))
    if not mine.cast(other.schema).equals(other):
        raise RuntimeError(f"{who} has {len(mine):,} pairs that are not the {len(other):,} of TableIndex")
