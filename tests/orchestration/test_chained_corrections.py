"""Corrections of a chain under Airflow: each by its own schedule, and by the versions that come late from above."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from airflow.sdk import CronDataIntervalTimetable

from kit.runs.chained_queries import HOUR, MINUTE, START, declarations, write
from kit.runs.local_driver import Driver, correct_here
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.report import CorrectionReport
from tailrace.orchestration.correction_dags import correction_dags
from tailrace.orchestration.gap_trigger import GapTrigger
from tailrace.orchestration.stream_dags import stream_dags
from tailrace.query.loading import load
from tailrace.storage.progress import read_progress
from tailrace.storage.results import read_answers

MINUTES = 130
"""The minutes that have a tuple before the late one, so that two hours have answers."""
GAP = {"correction": {"gap": "1 s"}}
TRUE = sum(range(60)) + 1000
"""The revenue of the first hour with the late tuple."""


@pytest.fixture
def files(place: Path) -> list[Path]:
    """Files of a chain of two queries, the second one with Γ below its window; `readings` is gone."""
    (place / "queries" / "readings.yaml").unlink()
    revenue, hourly, _ = declarations(place / "in")
    declared = {place / "queries" / f"{each['name']}.yaml": each for each in (revenue, hourly | GAP)}
    for file, fields in declared.items():
        file.write_text(yaml.safe_dump(fields))
    return [*declared]


@pytest.fixture
def drivers(files: list[Path], place: Path) -> list[Driver]:
    """The drivers of the chain, which have answered two hours, before a tuple of the sixth minute comes late."""
    found = [Driver(load(file), place / "warehouse") for file in files]
    events = [(START + n * MINUTE, START + n * MINUTE + 10, n, "a", n) for n in range(MINUTES)]
    write(events, place / "in" / "0.parquet")
    run(found)
    late = (START + 5 * MINUTE, START + MINUTES * MINUTE, 1000, "a", 1000)
    write([late, (late[1], late[1] + 1000, MINUTES, "a", MINUTES)], place / "in" / "1.parquet")  # its tick has ended
    run(found)
    return found


def run(drivers: list[Driver]) -> None:
    for driver in drivers:
        driver.run()


def revenue_of(driver: Driver, start: int) -> int:
    """The newest revenue of the hour that begins at `start`."""
    rows = read_answers(driver.query, driver.warehouse, streamed=False)[0].to_pylist()
    (found,) = [row["revenue"] for row in rows if row["window_start"] == start]
    return found


def committed(driver: Driver) -> int:
    """The arrival time up to which a stream has committed, a multiple of the tick."""
    progress = read_progress(driver.tables)
    assert progress is not None
    return progress.until // 1000 * 1000


def correct_arrived(driver: Driver, start: int, end: int) -> CorrectionReport:
    """Correct an interval of arrival, as a run by schedule does."""
    return correct_here(driver.query, driver.warehouse, CorrectionRange(start, end, arrival=True))


def test_nothing_orders_the_corrections_of_a_chain_but_its_streams_read_what_they_give(files):
    corrections = correction_dags()
    assert corrections.keys() == {"correct_revenue", "correct_hourly"}
    for dag in corrections.values():
        by_time = getattr(dag.timetable, "timetable", dag.timetable)
        assert by_time == CronDataIntervalTimetable("@daily", timezone="UTC"), "each by its own schedule"
        assert set(dag.task_ids) == {"wait", "correct"}, "it waits for its own stream alone"
    (watched,) = corrections["correct_hourly"].timetable.asset_condition.objects
    assert watched.name == "hourly.uncorrected"
    read = [asset.name for asset in stream_dags()["stream_hourly"].get_task("supervise").inlets]
    assert read == ["revenue.results", "revenue.corrections"]


def test_a_correction_above_starts_one_here_by_a_gap_below_the_window(drivers, place):
    """The watch asks for it once the stream has read the later version."""
    first, second = drivers
    trigger = GapTrigger.from_query(second.query, 1000)
    assert trigger._poll()[0] is None, "no version came late"
    correct_here(first.query, first.warehouse)
    assert trigger._poll()[0] is None, "the stream has not read it"
    write_on(drivers, place, MINUTES + 1, MINUTES + 3)
    interval, _ = trigger._poll()
    assert interval is not None
    correct_arrived(second, *interval)
    assert revenue_of(second, START) == TRUE
    assert trigger._poll()[0] is None


def test_a_version_that_comes_while_its_window_is_open_waits_for_the_schedule(drivers, place):
    first, second = drivers
    trigger, start = GapTrigger.from_query(second.query, 1000), committed(second)
    write(
        [(START + 125 * MINUTE, START + MINUTES * MINUTE + 2000, 1001, "a", 1000)], place / "in" / f"{MINUTES}.parquet"
    )
    write_on(drivers[:1], place, MINUTES + 1, MINUTES + 2)
    correct_here(first.query, first.warehouse, CorrectionRange(START + 2 * HOUR))
    second.run()
    write_on(drivers, place, MINUTES + 2, MINUTES + 90)
    assert trigger._poll()[0] is None
    assert revenue_of(second, START + 2 * HOUR) == sum(range(120, 180))
    correct_arrived(second, start, committed(second))
    assert revenue_of(second, START + 2 * HOUR) == sum(range(120, 180)) + 1000


def test_by_schedule_a_correction_above_is_corrected_here_with_the_interval_in_which_it_was_read(drivers, place):
    """Also where it ran late, for an interval that this query's own corrections have covered long before."""
    first, second = drivers
    interval = (START, committed(first))
    write_on(drivers, place, MINUTES + 1, MINUTES + 90)
    covered = committed(second)
    assert covered > interval[1] + HOUR
    correct_arrived(second, START, covered)
    correct_arrived(first, *interval)
    second.run()
    assert revenue_of(second, START) == TRUE - 1000
    write_on(drivers, place, MINUTES + 90, MINUTES + 100)
    correct_arrived(second, covered, committed(second))
    assert revenue_of(second, START) == TRUE


def write_on(drivers: list[Driver], place: Path, start: int, end: int) -> None:
    """Write a tuple of each minute of a range, and run the chain."""
    events = [(START + n * MINUTE, START + n * MINUTE + 10, n, "a", n) for n in range(start, end)]
    write(events, place / "in" / f"{start}.parquet")
    run(drivers)
