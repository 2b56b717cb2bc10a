"""The pace of a live run follows its batches, by a clock that no test waits for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kit.runs.planner_driver import LIVE, METRICS, Driver, Log, entries, said, segments
from tailrace.sources.segments import Segment
from tailrace.storage.layout import Layout
from tailrace.stream import run as module
from tailrace.stream.pace import Pace
from tailrace.stream.run import StreamRun
from tailrace.stream.run_options import RunOptions
from tailrace.stream.status_reporter import StatusReporter

LEAST = RunOptions().pace_ms


def planned_after(driver: Driver) -> int:
    """The time, ms, after which the driver plans what has come."""
    driver.log.there += segments("b")[:1]
    waited = 0
    while driver.plan(after=1 if waited else 0) is None:
        waited += 1
    return waited


@pytest.mark.parametrize(
    ("took", "rests"),
    [(0, LEAST), (100, LEAST - 100), (200, 100), (300, 150), (600, 300), (900, 100), (1_000, 0), (5_000, 0)],
)
def test_the_next_batch_follows_after_half_of_what_the_last_one_took_and_within_a_second(tmp_path, took, rests):
    driver = Driver(tmp_path, Log(*segments("b")), replace(LIVE, pace_ms=LEAST))
    driver.plan()
    driver.time += took
    driver.planner.observe([METRICS])
    assert planned_after(driver) == rests


def test_a_quick_batch_ends_the_long_rests_of_slow_ones(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), replace(LIVE, pace_ms=LEAST))
    rests = []
    for took in (600, 100, 0):
        driver.plan()
        driver.time += took
        driver.planner.observe([METRICS])
        rests.append(planned_after(driver))
    assert rests == [300, LEAST - 100, LEAST]


def test_a_batch_that_an_earlier_driver_had_planned_delays_nothing(tmp_path):
    driver = Driver(tmp_path, Log(*segments("b")), replace(LIVE, pace_ms=LEAST))
    driver.plan()
    driver.time += 3_600_000
    driver.restart()
    driver.planner.observe([METRICS])
    assert planned_after(driver) == 0


def test_a_wait_lasts_until_the_next_look_is_due_or_for_four_looks(tmp_path):
    pace = Pace(LEAST)
    pace.batch_took(200)
    assert [pace.wait_ms(since) for since in (200, 290, 299)] == [100, 10, 1]
    waits = {}
    for look in (0, 10, 20, 40, 50, 400):
        pace.look_took(look)
        waits[look] = pace.wait_ms(300)
    assert waits == {0: 50, 10: 50, 20: 80, 40: 160, 50: 200, 400: 200}
    pace.batch_took(900)
    assert pace.wait_ms(300) == 200, "a drain request is seen meanwhile"


def test_the_cost_of_a_look_is_measured_where_the_feeds_are_asked(tmp_path):
    class SlowLog(Log):
        def fresh(self) -> list[Segment]:
            driver.time += 30
            return super().fresh()

    driver = Driver(tmp_path, log := SlowLog(), LIVE)
    assert driver.plan() is None
    assert driver.planner.wait_s == 0.12
    log.there += segments("b")
    assert said(driver.plan(after=120)) == (None, False, 1)


class Stream:
    """A live stream: an executor and a sink whose batches take `batch_ms`, over a source with a file each `drip_ms`."""

    answer_topic = None

    def __init__(self, directory: Path, batch_ms: int, drip_ms: int, end_ms: int, monkeypatch) -> None:
        self.layout = Layout(directory / "query")
        self.layout.journal.mkdir(parents=True)
        self.batch_ms, self.drip_ms, self.start_ms, self.end_ms = batch_ms, drip_ms, 1_000_000, 1_000_000 + end_ms
        self.driver = Driver(self.layout.journal, log := Log(), RunOptions(live=True))
        self.driver.planner.silence = replace(self.driver.planner.silence, idle_ms=end_ms)
        self.log, self.drops = log, 0
        monkeypatch.setattr(module, "time", self)
        monkeypatch.setattr("tailrace.stream.status_reporter.time", self)
        StreamRun(self.layout, self.driver.planner, StatusReporter(self.layout), self, self, 0).run()

    def run(self, header, mine, before):
        self.sleep(self.batch_ms / 1000)
        return {"metrics": pa.Table.from_pylist([METRICS])}

    def write(self, rows, batch):
        return rows

    def cancel(self) -> None:
        pass

    def monotonic(self) -> float:
        return self.driver.time / 1000

    def sleep(self, seconds: float) -> None:
        """Let time pass, in which the source drips."""
        self.driver.time += round(seconds * 1000)
        while self.drops * self.drip_ms <= self.driver.time - self.start_ms:
            self.log.there.append(Segment(f"/in/{self.drops:06d}", 0, 1))
            self.drops += 1
        if self.driver.time >= self.end_ms:
            self.layout.request_drain()


@pytest.mark.needs("long")
@pytest.mark.parametrize(
    ("batch_ms", "drip_ms", "batches"),
    [(0, 1, 100), (70, 10, 100), (300, 1, 45), (2_000, 10, 10), (70, 5_000, 5)],
    ids=["no time", "quick", "as on Spark", "slow", "a rare source"],
)
def test_a_source_that_drips_makes_five_batches_a_second_at_most(tmp_path, monkeypatch, batch_ms, drip_ms, batches):
    """In 20 s; batches that are quick do not wait for a second, and slow ones follow each other."""
    stream = Stream(tmp_path, batch_ms, drip_ms, 20_000, monkeypatch)
    planned = entries(stream.layout.journal)
    assert len(planned) == pytest.approx(batches, abs=1)
    assert all(record.segments for record in planned), "silence adds none"
    waits = [
        record.position.planned_ms - (stream.start_ms + int(Path(record.segments[0].path).name) * drip_ms)
        for record in planned[1:]
    ]
    assert max(waits) <= max(LEAST, 1.5 * batch_ms) + 50, "no file waits for longer than the pace and a look"
