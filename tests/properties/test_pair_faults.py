"""A join of two streams, its corrections and its calibrations die at any write, while its partition plan changes.

As in `test_faults`, for `emd_join` and for an interval join of `spatial_join`, with repeats of ids dropped: read =
accepted + quarantined, of which the stream tells which were repeats. The plan follows from the load of the tasks after
every batch, and begins again with each driver. The stream is rebuilt for other numbers of tasks, too. In the end its
pairs are the oracle's; corrected intervals have brought all pairs of their late tuples; and with everything corrected
the pairs are those of the batch.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from hypothesis.stateful import rule

from kit.oracles.pair_oracle import (
    Item,
    Join,
    Log,
    Outcome,
    Placed,
    Read,
    Silence,
    Wake,
    batch_pairs,
    first_arrivals,
    joined,
    placed,
)
from kit.runs.pair_runs import SIDES, assert_as_the_oracle
from kit.runs.query_life import DELAYS, TICK, QueryLife, settings_of
from kit.runs.warehouse import EPOCH, TIME, tables_of
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spatial_join.streams import joined_streams

HISTOGRAMS = {"a": [1.0, 2.0, 3.0, 0.0], "b": [1.0, 1.0, 3.0, 1.0], "c": [0.0, 0.0, 0.0, 5.0]}
"""On a line, a and b are 1/3 apart; c is more than 1 from both."""

POINTS = {"a": (1.0, 1.0), "b": (2.0, 3.0), "c": (9.0, 2.0)}
"""Those of a and b are less than 3 apart; c is farther from both."""

JOIN = Join(reach=300, tick=TICK, k=100, deduplicate=True, alike=lambda a, b: (a == "c") == (b == "c"))
ROW = st.tuples(st.integers(0, 80), st.sampled_from([0, 40, 400, 2000]), st.sampled_from("aabc"), st.booleans())
EMD = {"histogram": "value", "ground_distance": "line", "scale": 1.0, "bins": 4, "span": 0.25, "feedback": "1 ms"}
NEAR = {"crs": "planar", "relation": "dwithin", "distance": 3, "grid": 4, "extent": [0, 0, 10, 10]}


def query_over(directory: Path, kind: dict) -> Query:
    stream = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    disorder = {"policy": "cache_duration", "initial": f"{JOIN.k} ms", "queries": 5}
    return declared_query(
        {
            "name": "readings",
            "streams": {
                side: {"source": {"format": "parquet", "path": str(directory / side)}} | stream for side in SIDES
            },
            "disorder": disorder | {"tick": f"{TICK} ms", "deduplicate": True},
            "parallelism": 2,
        }
        | kind
    )


class PairLife(QueryLife):
    """The life of a join; `came` has all tuples of each side."""

    join = JOIN
    kind: ClassVar[dict] = {
        "kind": "emd_join",
        "window": {"size": f"{JOIN.reach} ms"},
        "emd_join": {"threshold": 0.5} | EMD,
    }

    @staticmethod
    def columns(values: list[str]) -> dict[str, list]:
        return {"value": [HISTOGRAMS[value] for value in values]}

    def make_query(self, home: Path) -> Query:
        self.patch.setattr(joined_streams, "SHORTEST_FEEDBACK_MS", 1)
        return query_over(home, self.kind)

    def begin(self) -> None:
        self.came: tuple[list[Item], list[Item]] = ([], [])
        self.files, self.arrival = 0, [EPOCH, EPOCH]
        self.all_corrected = False  # or may have been, in part
        for side in (0, 1):
            self.ingest(side, [(40, DELAYS[n % 4], "abc"[n % 3], False) for n in range(100)])

    def newest_arrival(self) -> int:
        return max(self.arrival)

    @rule(side=st.integers(0, 1), rows=st.lists(ROW, min_size=2, max_size=12))
    def ingest(self, side: int, rows: list[tuple[int, int, str, bool]]) -> None:
        known, first = self.came[side], len(self.came[side])
        for gap, delay, value, again in rows:
            self.arrival[side] += gap
            name = known[gap % len(known)].id if again and known else f"{SIDES[side]}{len(known)}"
            known.append(Item(self.arrival[side] - delay, self.arrival[side], name, value))
        items = known[first:]
        times = {name: pa.array([getattr(i, name) for i in items], TIME) for name in ("event_time", "arrival_time")}
        rest = {"id": [item.id for item in items]} | self.columns([item.value for item in items])
        (self.home / SIDES[side]).mkdir(exist_ok=True)
        pq.write_table(pa.table(times | rest), self.home / SIDES[side] / f"{self.files:05d}.parquet")
        self.files += 1

    @rule(rows=st.sampled_from([4, 10, 1000]))
    def restart(self, rows: int) -> None:
        self.driver.run(rows)

    @rule(rows=st.sampled_from([4, 1000]))
    def end_a_run(self, rows: int) -> None:
        """A bounded run closes all windows; what comes for them in the next run is late."""
        self.driver.run(rows, flush=True)

    @rule(dies=st.integers(0, 10))
    def correct_all(self, dies: int) -> None:
        self.all_corrected = True
        with self.deaths.after(dies):
            self.correct_all_time()

    def logs(self) -> list[Log]:
        """The log of both streams: a part for each entry of the journal."""
        read, logs = [0, 0], list[Log]()
        for entry in self.entries():
            log = list[Read | Wake | Silence]()
            log.append(Wake(tuple({SIDES.index(segment.stream) for segment in entry.segments})))
            for segment in entry.segments:
                side = SIDES.index(segment.stream)
                log += [Read(side, item) for item in self.came[side][read[side] : read[side] + segment.rows]]
                read[side] += segment.rows
            header = entry.header
            heartbeats = tuple((SIDES.index(name), time) for name, time in header.heartbeats.items())
            log.append(Silence(heartbeats, tuple(SIDES.index(name) for name in header.idle), header.closes))
            logs.append(log)
        assert read == [len(items) for items in self.came], "lost, or read twice"
        return logs

    def dated(self, logs: list[Log]) -> Join:
        """The join, with each K from its tick on."""
        before = [[one for log in logs[:number] for one in log] for number in range(len(logs))]
        found = [placed(log, TICK) for log in before]
        ticks = [max((one.end for one in tuples), default=0) // TICK - 1 for tuples, _ in found]
        # What comes after all windows were closed is a tick later.
        ticks = [max([tick, *(end // TICK for end in quiets)]) for tick, (_, quiets) in zip(ticks, found, strict=True)]
        return replace(self.join, changes=self.stamped(ticks))

    def end(self) -> None:
        """Read all, end the stream: the pairs are the oracle's. Correct everything: they are those of the batch."""
        for side in (0, 1):
            self.ingest(side, [(40, 0, "a", False)])  # a run that finds nothing new takes up no settings
        self.driver.run(50, flush=True)
        logs, tables = self.logs(), tables_of(self.home / "wh")
        log, join = [one for part in logs for one in part], self.dated(logs)
        self.assert_newest_is_adopted(join.k, join.changes)
        expected = joined(log, join)
        names = ("results", "late", "metrics", "segments", "quarantine")
        rows = {name: tables.read(name).to_pylist() for name in names}
        tuples = sum(map(len, self.came))
        assert (
            sum(row["rows"] for row in rows["segments"]) == sum(row["accepted"] for row in rows["segments"]) == tuples
        )
        assert not rows["quarantine"]
        assert sum(row["repeats"] for row in rows["metrics"]) == expected.repeats
        rows["metrics"].sort(key=lambda row: row["batch"])
        if len(expected.answered) == len(expected.pairs) and len(expected.registered) == len(expected.late):
            assert_as_the_oracle(rows, expected, tuples)
        assert len(rows["results"]) == len(expected.answered)
        self.correct_halves()
        self.assert_brought(self.corrected, log, join, expected)
        assert self.assert_brought([self.correct_all_late()], log, join, expected), "the first tuples have late ones"
        plans = [row for row in tables.read("facts").to_pylist() if row["about"] == "plan"]
        assert plans, "the plan followed from the load"
        self.correct_all_time()
        assert self.pairs() == sorted(batch_pairs(log, join))

    def pairs(self) -> list[tuple[str, str]]:
        return sorted((row["left_id"], row["right_id"]) for row in self.latest())

    def assert_brought(
        self, intervals: list[tuple[int, int]], log: Log, join: Join, expected: Outcome
    ) -> set[tuple[str, str]]:
        """Assert that of the pairs that were not streamed those are there, and only those, that were late in intervals.

        Returns the pairs that had to be brought.
        """
        tuples, truth = placed(log, TICK)[0], batch_pairs(log, join)
        first = {(side, item.id): item for side in (0, 1) for item in first_arrivals(of_side(tuples, side), TICK)}
        late = [
            (one.side, one.item, move.end)
            for move in expected.moves
            for one in move.members
            if move.before is not None and one.item.event_time < move.before
        ]
        due, may = set[tuple[str, str]](), truth if self.all_corrected else set[tuple[str, str]]()
        for a, b in intervals:
            mine = {(side, item.id): item for side, item, end in late if a < end <= b}
            brought = {pair for pair in batch_pairs(log, join, b) if {*enumerate(pair)} & mine.keys()}
            due |= {pair for pair in brought if any(mine.get(who) == first[who] for who in enumerate(pair))}
            may = may | brought
        found = self.pairs()
        assert len(found) == len({*found}), "a pair was given twice"
        assert due | (expected.pairs.keys() & truth) <= {*found} <= expected.pairs.keys() | may
        return due


def of_side(tuples: list[Placed], side: int) -> list[Placed]:
    return [one for one in tuples if one.side == side]


class NearLife(PairLife):
    """The life of an interval join of points."""

    join = replace(JOIN, interval=(-100, 300))
    kind: ClassVar[dict] = {
        "kind": "spatial_join",
        "spatial_join": NEAR
        | {
            "join": "interval",
            "interval": {"lower": "-100 ms", "upper": "300 ms"},
            "geometry": {side: {"x": "x", "y": "y"} for side in SIDES},
        },
    }

    @staticmethod
    def columns(values: list[str]) -> dict[str, list]:
        return {"x": [POINTS[value][0] for value in values], "y": [POINTS[value][1] for value in values]}


PairLife.TestCase.settings, NearLife.TestCase.settings = settings_of(6, 15), settings_of(4, 15)
TestPairFaults = PairLife.TestCase
TestSpatialFaults = NearLife.TestCase
