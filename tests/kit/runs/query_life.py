"""The life of one query as a Hypothesis state machine: what happens to a query of any kind, and what may die of it.

Rules: run, end a bounded run and go on after it, correct an interval of arrival, calibrate, take a drawn K, rebuild for
another number of tasks; all may die after any number of writes. Real tables on the disk, the product's planner, tasks
and sink, no Spark. A subclass adds the streams, and holds the tables against an oracle.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kit.runs.deaths import deaths
from kit.runs.local_driver import Driver, no_spark
from kit.runs.warehouse import EPOCH, propose, tables_of
from kit.suite.examples import drawn
from tailrace.calibration.calibrate import calibrate
from tailrace.calibration.recent_windows import NotReady
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.errors import Busy, Refused
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.results import AnswerTables

TICK = 100
DELAYS = (0, 650, 10, 180)
"""Of the first tuples, by turns, ms: so that some are late, and there is something to calibrate."""
DIES, FEW = (st.none() | st.integers(0, most) for most in (30, 5))
"""The number of writes before a death; None: none. `FEW` for what writes little."""


def settings_of(examples: int, steps: int) -> settings:
    """Return the settings of a state machine."""
    phases = [Phase.explicit, Phase.generate]
    return drawn(examples, phases=phases, stateful_step_count=steps, suppress_health_check=list(HealthCheck))


class QueryLife(RuleBasedStateMachine):
    """A query with policy `cache_duration`.

    Attributes
    ----------
    corrected : list of (int, int)
        The intervals of arrival whose corrections have ended.
    half : list of (int, int)
        Those whose corrections died: they were written in whole, or not at all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="query-life-"))
        self.patch = pytest.MonkeyPatch()
        self.deaths = deaths(self.patch)
        self.patch.setattr(Driver, "compact_every", 3)
        self.query = self.make_query(self.home)
        self.driver = Driver(self.query, self.home / "wh")
        self.corrected: list[tuple[int, int]] = []
        self.half: list[tuple[int, int]] = []
        self.begin()
        self.driver.run(50)
        k_ms = calibrate(self.query, self.home / "wh").next_interval.k_ms
        assert 0 < k_ms < max(DELAYS), "some wait is worth its while, and no tuple is later"

    def make_query(self, home: Path) -> Query:
        """The query, over streams in a directory."""
        raise NotImplementedError

    def begin(self) -> None:
        """Write the first tuples, so many that a calibration has enough of them."""
        raise NotImplementedError

    def newest_arrival(self) -> int:
        """The newest arrival time so far, ms."""
        raise NotImplementedError

    def end(self) -> None:
        """Read all, end the stream and correct everything; hold what there is against the oracle."""
        raise NotImplementedError

    def teardown(self) -> None:
        try:
            self.end()
        finally:
            self.patch.undo()
            shutil.rmtree(self.home)

    @rule(dies=st.integers(0, 40), rows=st.sampled_from([4, 10, 20]))
    def crash(self, dies: int, rows: int) -> None:
        with self.deaths.after(dies):
            self.driver.run(rows)

    @rule(dies=DIES, ticks_ago=st.integers(0, 15), ticks=st.integers(1, 20))
    def correct(self, dies: int | None, ticks_ago: int, ticks: int) -> None:
        end = (self.newest_arrival() // TICK + 1 - ticks_ago) * TICK
        self.correct_interval((end - ticks * TICK, end), dies)

    @rule(dies=FEW)
    def calibrate(self, dies: int | None) -> None:
        with self.deaths.after(dies):
            try:
                calibrate(self.query, self.home / "wh")
            except NotReady as error:
                if error.problems[0].where != "calibration":  # it is more than a history too short for these waits
                    raise

    @rule(k_ms=st.sampled_from([0, 50, 200, 900, 2500]), dies=FEW)
    def propose(self, k_ms: int, dies: int | None) -> None:
        with self.deaths.after(dies):
            propose(self.query, self.home / "wh", k_ms)

    @rule(tasks=st.integers(1, 3), dies=DIES)
    def rebuild(self, tasks: int, dies: int | None) -> None:
        with self.deaths.after(dies):
            self.driver.rebuild(self.query.model_copy(update={"parallelism": tasks}))
        self.query = self.driver.query

    def correct_interval(self, interval: tuple[int, int], dies: int | None = None) -> None:
        self.half.append(interval)
        try:
            with self.deaths.after(dies):
                report = correct(self.query, self.home / "wh", CorrectionRange(*interval, arrival=True), no_spark)
                self.corrected.append((interval[0], report.as_of))  # an ended stream may go on before the end
                self.half = [one for one in self.half if one != interval]
        except Busy:  # the stream has batches to run again
            self.half.remove(interval)
        except Refused as refused:
            if "has committed up to" not in refused.problems[0].fault:
                raise
            self.half.remove(interval)

    def correct_halves(self) -> None:
        """Correct again what died."""
        for interval in {*self.half}:
            self.correct_interval(interval)

    def correct_all_late(self) -> tuple[int, int]:
        """Correct all that came late, and return its interval of arrival."""
        closings = sum(entry.header.closes for entry in self.entries())  # what comes after one counts as a tick later
        self.correct_interval((EPOCH - TICK, (self.newest_arrival() // TICK + 1 + closings) * TICK))
        return self.corrected[-1]

    def correct_all_time(self) -> None:
        """Correct all event times, so that also what repeats have met is right."""
        correct(self.query, self.home / "wh", CorrectionRange(), no_spark)

    def latest(self) -> list[dict]:
        """The rows of the answers' latest versions."""
        return AnswerTables(tables_of(self.home / "wh"), build(self.query).answers).latest().to_pylist()

    def entries(self) -> list[BatchRecord]:
        """The entries of the journal."""
        journal = Journal(self.driver.layout.journal)
        last = journal.last()
        return [journal[number] for number in range(last.header.batch + 1 if last else 0)]

    def stamped(self, newest_ticks: Iterable[int]) -> tuple[tuple[int, int], ...]:
        """Each K that was stamped, ms, with the tick from which it holds: the one after all that were read before.

        `newest_ticks`: the newest tick before each entry of the journal.
        """
        facts = tables_of(self.home / "wh").read("facts").to_pylist()
        table = {row["version"]: row for row in facts if row["about"] == "settings"}
        changes, version = list[tuple[int, int]](), 1
        for entry, newest_tick in zip(self.entries(), newest_ticks, strict=True):
            for fact in entry.header.facts:
                if fact.about == "settings" and fact.version > version:
                    version = fact.version
                    since = fact.since, table[version]["from_tick"]
                    assert since == (newest_tick + 1, newest_tick + 1), "it touches what was processed"
                    changes.append((newest_tick + 1, CacheDuration.model_validate_json(table[version]["value"]).k_ms))
        return tuple(changes)

    def assert_newest_is_adopted(self, declared_ms: int, changes: Iterable[tuple[int, int]]) -> None:
        """Assert that each K that was stamped is a proposal's, in their order, and that the newest is in force."""
        proposed = tables_of(self.home / "wh").read("proposals").sort_by("made_at")["k_ms"].to_pylist()
        rest, stamped = iter(proposed), [k_ms for _, k_ms in changes]
        assert all(k_ms in rest for k_ms in stamped)
        assert [declared_ms, *stamped][-1] == proposed[-1]
