"""A join of two streams and its corrections die at any write, while its partition plan changes: no pair is wrong.

As `test_faults`, for `emd_join`, with repeats of ids dropped: read = accepted + quarantined, of which the stream tells
which were repeats. The plan follows from the load of the tasks after every batch, and begins anew with each driver. The
stream is rebuilt for other numbers of tasks, too.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from deaths import deaths
from local_driver import Driver, no_spark
from pair_oracle import Item, Join, Log, Read, Silence, Wake, batch_pairs, joined
from pair_runs import SIDES, assert_as_the_oracle
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spark import sink
from tailrace.storage.journal import Journal
from tailrace.storage.results import AnswerTables
from warehouse import EPOCH, TIME, tables_of

HISTOGRAMS = {"a": [1.0, 2.0, 3.0, 0.0], "b": [1.0, 1.0, 3.0, 1.0], "c": [0.0, 0.0, 0.0, 5.0]}
"""On a line, a and b are 1/3 apart; c is more than 1 from both."""

JOIN = Join(reach=300, tick=100, k=100, deduplicate=True, alike=lambda a, b: (a == "c") == (b == "c"))
ROW = st.tuples(st.integers(0, 80), st.sampled_from([0, 40, 400, 2000]), st.sampled_from("aabc"), st.booleans())


def query_over(directory: Path) -> Query:
    stream = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    section = {"threshold": 0.5, "histogram": "value", "ground_distance": "line", "scale": 1.0, "bins": 4}
    return declared_query(
        {
            "name": "readings",
            "kind": "emd_join",
            "streams": {
                side: {"source": {"format": "parquet", "path": str(directory / side)}} | stream for side in SIDES
            },
            "window": {"size": f"{JOIN.reach} ms"},
            "disorder": {"policy": "k_slack", "k": f"{JOIN.k} ms", "tick": f"{JOIN.tick} ms", "deduplicate": True},
            "emd_join": section | {"span": 0.25, "feedback": "1 ms"},
            "parallelism": 2,
        }
    )


class PairFaults(RuleBasedStateMachine):
    """One query's life; `came` has all tuples of each side."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="pair-faults-"))
        self.patch = pytest.MonkeyPatch()
        self.deaths = deaths(self.patch)
        self.patch.setattr(sink, "COMPACT_EVERY", 3)
        self.query = query_over(self.home)
        self.driver = Driver(self.query, self.home / "wh", self.deaths.step)
        self.came: tuple[list[Item], list[Item]] = ([], [])
        self.files, self.arrival = 0, [EPOCH, EPOCH]
        for side in (0, 1):
            self.ingest(side, [(0, 0, "a", False)])
        self.driver.run(10)

    def teardown(self) -> None:
        try:
            self.end()
        finally:
            self.patch.undo()
            shutil.rmtree(self.home)

    @rule(side=st.integers(0, 1), rows=st.lists(ROW, min_size=2, max_size=12))
    def ingest(self, side: int, rows: list[tuple[int, int, str, bool]]) -> None:
        known, first = self.came[side], len(self.came[side])
        for gap, delay, value, again in rows:
            self.arrival[side] += gap
            name = known[gap % len(known)].id if again and known else f"{SIDES[side]}{len(known)}"
            known.append(Item(self.arrival[side] - delay, self.arrival[side], name, value))
        items = known[first:]
        times = {name: pa.array([getattr(i, name) for i in items], TIME) for name in ("event_time", "arrival_time")}
        rest = {"id": [item.id for item in items], "value": [HISTOGRAMS[item.value] for item in items]}
        (self.home / SIDES[side]).mkdir(exist_ok=True)
        pq.write_table(pa.table(times | rest), self.home / SIDES[side] / f"{self.files:05d}.parquet")
        self.files += 1

    @rule(dies=st.integers(0, 40), rows=st.sampled_from([4, 10]))
    def crash(self, dies: int, rows: int) -> None:
        with self.deaths.after(dies):
            self.driver.run(rows)

    @rule(rows=st.sampled_from([4, 10, 1000]))
    def restart(self, rows: int) -> None:
        self.driver.run(rows)

    @rule(tasks=st.integers(1, 3), dies=st.none() | st.integers(0, 20))
    def rebuild(self, tasks: int, dies: int | None) -> None:
        with self.deaths.after(dies):
            self.driver.rebuild(self.query.model_copy(update={"parallelism": tasks}))
        self.query = self.driver.query

    @rule(dies=st.integers(0, 10))
    def correct(self, dies: int) -> None:
        with self.deaths.after(dies):
            correct(self.query, self.home / "wh", CorrectionRange(), no_spark)

    def log(self) -> Log:
        """The log of both streams as the journal has it."""
        journal, read, log, number = Journal(self.driver.layout.journal), [0, 0], [], 0
        while number in journal:
            entry = journal[number]
            log.append(Wake(tuple({SIDES.index(segment.stream) for segment in entry.segments})))
            for segment in entry.segments:
                side = SIDES.index(segment.stream)
                items = self.came[side][read[side] : read[side] + segment.rows]
                log += [Read(side, item) for item in items]
                read[side] += segment.rows
            header = entry.header
            heartbeats = tuple((SIDES.index(name), time) for name, time in header.heartbeats.items())
            log.append(Silence(heartbeats, tuple(SIDES.index(name) for name in header.idle), header.closes))
            number += 1
        assert read == [len(items) for items in self.came], "lost, or read twice"
        return log

    def end(self) -> None:
        """Read all, end the stream: the pairs are the oracle's. Correct everything: they are those of the batch."""
        self.driver.run(50, flush=True)
        log, tables = self.log(), tables_of(self.home / "wh")
        expected = joined(log, JOIN)
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
        correct(self.query, self.home / "wh", CorrectionRange(), no_spark)
        latest = AnswerTables(tables, build(self.query).answers).latest().to_pylist()
        assert sorted((row["left_id"], row["right_id"]) for row in latest) == sorted(batch_pairs(log, JOIN))


PairFaults.TestCase.settings = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    stateful_step_count=15,
    print_blob=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestPairFaults = PairFaults.TestCase
