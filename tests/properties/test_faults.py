"""Windows and rankings: stream, corrections and calibrations die at any write, in any order, and no answer is wrong.

Beside the rules of every query's life: ingest, in time, late, repeats of ids, poison. Whenever a driver has come to the
end of its input: read = accepted + quarantined, the streamed answers are the oracle's, and so are the latest versions
after the corrections that ended. In the end, when all is corrected, they are the batch answer.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import rule

from kit.oracles import rankings
from kit.oracles.oracle import Outcome, Passed, Settings, Tuple, Window, batch, distinct, latest, stream
from kit.oracles.oracle_assertions import ANSWER, assert_close, assert_late, assert_streamed
from kit.oracles.rankings import Ranking, contents, ranked, rankings_of, streamed
from kit.runs.query_life import DELAYS, FEW, TICK, QueryLife, settings_of
from kit.runs.warehouse import EPOCH, make_query, rows_of, tables_of, write_files
from tailrace.query.query import Query
from tailrace.storage.progress import held_back
from tailrace.storage.tasks_in_force import request_tasks

DAY = 86_400_000
K_MS = 200
ROW = st.tuples(
    st.integers(0, 120),  # ms of arrival after the one before
    st.one_of(st.integers(0, 300), st.integers(300, 4000)),  # ms of delay
    st.sampled_from(["new"] * 6 + ["repeat", "far future", "no number"]),
    st.sampled_from(["a", "b", "c"]),
    st.integers(-100, 100),
)


class WindowLife(QueryLife):
    """The life of a query for sums; `log` has a tuple for each record that was read, None for poison."""

    declared = Settings(500, 100, TICK, "sum", ("k_slack", K_MS))
    topk: dict | None = None

    def make_query(self, home: Path) -> Query:
        (home / "in").mkdir()
        query = make_query(home / "in", self.declared, calibrated=True, topk=self.topk)
        disorder = query.disorder.model_copy(update={"policy": query.policy.model_copy(update={"queries": 5})})
        return query.model_copy(update={"disorder": disorder})

    def begin(self) -> None:
        self.log: list[Tuple | None] = []
        self.files, self.arrival = 0, EPOCH
        self.ingest([(40, DELAYS[n % 4], "new", "abc"[n % 3], n) for n in range(150)])

    def newest_arrival(self) -> int:
        return self.arrival

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

    @rule(rows=st.sampled_from([5, 20, 1000]))
    def restart(self, rows: int) -> None:
        self.driver.run(rows)
        self.check()

    @rule(rows=st.sampled_from([5, 1000]))
    def end_a_run(self, rows: int) -> None:
        """A bounded run closes all windows; what comes for them in the next run is late."""
        self.driver.run(rows, flush=True)
        self.check()

    @rule(tasks=st.integers(1, 4), dies=FEW)
    def rescale(self, tasks: int, dies: int | None) -> None:
        """The next driver takes it up; `dies`: after so few writes."""
        request_tasks(self.driver.layout, self.query, tasks)
        with self.deaths.after(dies):
            self.driver.run(5)

    def closings(self) -> list[Passed]:
        """The ends of bounded runs so far, each after so many accepted tuples."""
        ends = [entry.position.rows for entry in self.entries() if entry.header.closes]
        return [Passed(len([one for one in self.log[:rows] if one]), 0, quiet=True) for rows in ends]

    def check(self) -> None:
        """Hold the tables against the oracle; a driver has come to the end of its input."""
        self.correct_halves()
        rows = rows_of(self.home / "wh", "results", "late", "metrics", "segments", "quarantine")
        tuples, poisoned = self.accepted, self.log.count(None)
        read, accepted, quarantined = (
            sum(row[name] for row in rows["segments"]) for name in ("rows", "accepted", "quarantined")
        )
        assert (read, accepted, quarantined) == (len(self.log), len(tuples), poisoned)
        assert (len(rows["quarantine"]), sum(row["rows"] for row in rows["metrics"])) == (poisoned, len(tuples))
        dated = self.dated()
        outcome = stream(tuples, dated, flush=False, passed=self.closings())
        assert held_back(self.driver.tables) == len(outcome.pending)
        self.assert_streamed(rows, outcome, dated)
        self.assert_latest(outcome, dated)

    def dated(self) -> Settings:
        """The oracle's settings, with each K from its tick on."""
        ticks, read = [-1], 0
        for entry in self.entries()[:-1]:
            part, read = self.log[read : entry.position.rows], entry.position.rows
            newest = max([ticks[-1], *(one.arrival_time // TICK for one in part if one)])
            ticks.append(newest + entry.header.closes)  # what comes after all windows were closed is a tick later
        return replace(self.declared, changes=tuple((tick, ("k_slack", k_ms)) for tick, k_ms in self.stamped(ticks)))

    def assert_streamed(self, rows: dict[str, list[dict]], outcome: Outcome, dated: Settings) -> None:
        assert_streamed(rows, outcome)

    def assert_latest(self, outcome: Outcome, dated: Settings) -> None:
        self.assert_values(latest(outcome, self.accepted, dated, self.corrected, self.closings()))

    def assert_corrected(self) -> None:
        self.assert_values(batch(self.accepted, self.declared))

    def assert_values(self, expected: dict) -> None:
        answers = self.latest()
        found = {(row["key"], row["window_start"], row["window_end"]): row for row in answers}
        assert len(found) == len(answers), "an answer was given twice"
        assert found.keys() == expected.keys()
        for window, version in expected.items():
            assert found[window]["tuples"] == version.tuples, window
            assert_close(found[window]["value"], version.value, version.sum_abs)

    def end(self) -> None:
        """Read all, end the stream, correct everything: the answers are those of the batch."""
        self.ingest([(40, 0, "new", "a", 1)])  # a run that finds nothing new takes up no settings
        self.driver.run(50, flush=True)
        self.check()
        self.correct_all_late()
        self.check()
        self.assert_newest_is_adopted(K_MS, ((tick, k_ms) for tick, (_, k_ms) in self.dated().changes))
        assert tables_of(self.home / "wh").read("correction_runs").num_rows >= len(self.corrected)
        self.assert_corrected()
        self.correct_all_time()
        self.assert_corrected()


class RankingLife(WindowLife):
    """The life of a query for the top k."""

    declared = replace(WindowLife.declared, function="median")  # of which, as of a ranking, `late` has no totals
    topk: ClassVar = {"k": 2, "score": "value"}

    def assert_streamed(self, rows: dict[str, list[dict]], outcome: Outcome, dated: Settings) -> None:
        assert rankings_of(rows["results"]) == streamed(outcome, self.accepted, dated, self.topk["k"])
        for row in rows["results"]:
            answer = outcome.answers[row["key"], row["window_start"], row["window_end"]]
            assert {name: row[name] for name in ANSWER} == {name: getattr(answer, name) for name in ANSWER}
        assert_late(rows["late"], outcome)

    def assert_latest(self, outcome: Outcome, dated: Settings) -> None:
        counts = latest(outcome, self.accepted, dated, self.corrected, self.closings())
        closings = self.closings()
        self.assert_rankings(
            rankings.latest(outcome, self.accepted, dated, self.corrected, self.topk["k"], passed=closings),
            {window: version.tuples for window, version in counts.items()},
        )

    def assert_corrected(self) -> None:
        held = contents(distinct(self.accepted, TICK), self.declared)
        self.assert_rankings(ranked(held, self.topk["k"]), {window: len(items) for window, items in held.items()})

    def assert_rankings(self, expected: dict[Window, Ranking], tuples: dict[Window, int]) -> None:
        rows = self.latest()
        assert rankings_of(rows) == expected
        assert all(row["tuples"] == tuples[row["key"], row["window_start"], row["window_end"]] for row in rows)


WindowLife.TestCase.settings, RankingLife.TestCase.settings = settings_of(8, 25), settings_of(4, 25)
TestFaults = WindowLife.TestCase
TestRankingFaults = RankingLife.TestCase
