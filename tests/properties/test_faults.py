"""A stream, its corrections and its calibrations die at any write, in any order, and no answer is wrong.

Rules: ingest (in time, late, repeats of ids, poison), run, restart, correct, recalibrate, rebuild for another number of
tasks; all but the first may die after any number of writes. Real tables on the disk, the product's planner, tasks and
sink, no Spark. Whenever a driver has come to the end of its input: read = accepted + quarantined, the streamed answers
are the oracle's, and so are the latest versions after the corrections that ended. In the end, when all is corrected,
they are the batch answer.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from deaths import deaths
from local_driver import Driver, no_spark
from oracle import Settings, Tuple, batch, latest, stream
from oracle_assertions import assert_close, assert_streamed
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.errors import Refused
from tailrace.kinds import build
from tailrace.spark import sink
from tailrace.storage.journal import Journal
from tailrace.storage.results import AnswerTables
from warehouse import EPOCH, make_query, propose, rows_of, tables_of, write_files

DAY = 86_400_000
TICK = 100
ROW = st.tuples(
    st.integers(0, 120),  # ms of arrival after the one before
    st.one_of(st.integers(0, 300), st.integers(300, 4000)),  # ms of delay
    st.sampled_from(["new"] * 6 + ["repeat", "far future", "no number"]),
    st.sampled_from(["a", "b", "c"]),
    st.integers(-100, 100),
)
DIES = st.none() | st.integers(0, 40)
"""The number of writes before a death; None: none."""


class Faults(RuleBasedStateMachine):
    """One query's life; `log` has a tuple for each record that was read, None for poison."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="faults-"))
        self.patch = pytest.MonkeyPatch()
        self.deaths = deaths(self.patch)
        self.patch.setattr(sink, "COMPACT_EVERY", 3)
        self.settings = Settings(500, 100, TICK, "sum", ("k_slack", 200))
        (self.home / "in").mkdir()
        self.query = make_query(self.home / "in", self.settings, calibrated=True)
        self.driver = Driver(self.query, self.home / "wh", self.deaths.step)
        self.log: list[Tuple | None] = []
        self.files, self.arrival = 0, EPOCH
        self.corrected: list[tuple[int, int]] = []
        self.half: list[tuple[int, int]] = []  # corrections that died: written in whole, or not at all
        self.ingest([(0, 0, "new", "a", 1)])
        self.driver.run(10)

    def teardown(self) -> None:
        try:
            self.end()
        finally:
            self.patch.undo()
            shutil.rmtree(self.home)

    @property
    def accepted(self) -> list[Tuple]:
        return [item for item in self.log if item is not None]

    @rule(rows=st.lists(ROW, min_size=3, max_size=15))
    def ingest(self, rows: list[tuple[int, int, str, str, int]]) -> None:
        part = []
        for gap, delay, what, key, value in rows:
            known = self.accepted
            self.arrival += gap if what in ("new", "repeat") else 0
            event = self.arrival + (2 * DAY if what == "far future" else -delay)
            again = what == "repeat" and known
            name = known[value % len(known)].id if again else f"t{len(self.log)}"
            item = Tuple(event, self.arrival, name, key, float("nan") if what == "no number" else float(value))
            self.log.append(item if what in ("new", "repeat") else None)
            part.append(item)
        write_files(part, self.home / "in", [0, len(part)], first=self.files)
        self.files += 1

    @rule(dies=st.integers(0, 40), rows=st.sampled_from([5, 20]))
    def crash(self, dies: int, rows: int) -> None:
        with self.deaths.after(dies):
            self.driver.run(rows)

    @rule(rows=st.sampled_from([5, 20, 1000]))
    def restart(self, rows: int) -> None:
        self.driver.run(rows)
        self.check(flush=False)

    @precondition(lambda self: self.driver.has_committed)
    @rule(dies=DIES, ends=st.tuples(st.integers(0, 40), st.integers(1, 20)))
    def correct(self, dies: int | None, ends: tuple[int, int]) -> None:
        start = EPOCH - TICK + ends[0] * TICK
        self.correct_interval((start, start + ends[1] * TICK), dies)

    @rule(k_ms=st.sampled_from([50, 200, 900, 2500]), dies=DIES)
    def recalibrate(self, k_ms: int, dies: int | None) -> None:
        with self.deaths.after(dies):
            propose(self.query, self.home / "wh", k_ms)

    @precondition(lambda self: self.driver.has_committed)
    @rule(parallelism=st.integers(1, 3), dies=DIES)
    def rebuild(self, parallelism: int, dies: int | None) -> None:
        with self.deaths.after(dies):
            self.driver.rebuild(self.query.model_copy(update={"parallelism": parallelism}))
        self.query = self.driver.query

    def correct_interval(self, interval: tuple[int, int], dies: int | None = None) -> None:
        self.half.append(interval)
        try:
            with self.deaths.after(dies):
                correct(self.query, self.home / "wh", CorrectionRange(*interval, arrival=True), no_spark)
                self.corrected.append(interval)
                self.half = [one for one in self.half if one != interval]
        except Refused:  # the stream has not committed so far, or has batches to run again
            self.half.remove(interval)

    def check(self, flush: bool) -> None:
        """Hold the tables against the oracle; a driver has come to the end of its input."""
        for interval in {*self.half}:
            self.correct_interval(interval)
        rows = rows_of(self.home / "wh", "results", "late", "metrics", "segments", "facts", "quarantine")
        tuples, poisoned = self.accepted, self.log.count(None)
        read, accepted, quarantined = (
            sum(row[name] for row in rows["segments"]) for name in ("rows", "accepted", "quarantined")
        )
        assert (read, accepted, quarantined) == (len(self.log), len(tuples), poisoned)
        assert (len(rows["quarantine"]), sum(row["rows"] for row in rows["metrics"])) == (poisoned, len(tuples))
        dated = self.stamped(rows["facts"])
        outcome = stream(tuples, dated, flush=flush)
        assert_streamed(rows, outcome)
        self.assert_latest(latest(outcome, tuples, dated, self.corrected))

    def stamped(self, facts: list[dict]) -> Settings:
        """The oracle's settings: each K from the tick after those of the batches before it, as the journal has them."""
        journal, changes, version, number = Journal(self.driver.layout.journal), [], 1, 0
        table = {row["version"]: row for row in facts if row["about"] == "settings"}
        before = -1
        while number in journal:
            entry = journal[number]
            for fact in entry.header.facts:
                if fact.about == "settings" and fact.version > version:
                    version = fact.version
                    assert (fact.since, table[version]["from_tick"]) == (before + 1,) * 2, (
                        "it touches what was processed"
                    )
                    k_ms = CacheDuration.model_validate_json(table[version]["value"]).k_ms
                    changes.append((fact.since, ("k_slack", k_ms)))
            read = self.log[: entry.position.rows]
            before = max((item.arrival_time // TICK for item in read if item), default=-1)
            number += 1
        return replace(self.settings, changes=tuple(changes))

    def assert_latest(self, expected: dict) -> None:
        answers = AnswerTables(tables_of(self.home / "wh"), build(self.query).answers).latest().to_pylist()
        found = {(row["key"], row["window_start"], row["window_end"]): row for row in answers}
        assert len(found) == len(answers), "an answer was given twice"
        assert found.keys() == expected.keys()
        for window, version in expected.items():
            assert found[window]["tuples"] == version.tuples, window
            assert_close(found[window]["value"], version.value, version.sum_abs)

    def end(self) -> None:
        """Read all, end the stream, correct everything: the answers are those of the batch."""
        self.driver.run(50, flush=True)
        self.correct_interval((EPOCH - TICK, (self.arrival // TICK + 1) * TICK))
        self.check(flush=True)
        assert tables_of(self.home / "wh").read("correction_runs").num_rows >= len(self.corrected)
        correct(
            self.query, self.home / "wh", CorrectionRange(), no_spark
        )  # also what repeats that were in time have met
        self.assert_latest(batch(self.accepted, self.settings))


Faults.TestCase.settings = settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    stateful_step_count=25,
    print_blob=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestFaults = Faults.TestCase
