"""The panel `activity`, over made-up observations of drivers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.runs.panel_stream import add_activity
from tailrace.panels import activity
from tailrace.panels.activity import DAY_MS, ActivityAnswer
from tailrace.panels.arrival_range import TimesRequest
from tailrace.panels.query_view import QueryView
from tailrace.storage.layout import Layout
from tailrace.storage.status import State, Status, wall_ms
from tailrace.storage.tables import Tables
from tailrace.tables.stream import ACTIVITY

NOW = 1_700_000_000_000
MINUTE_MS = 60_000


def observation(minute: float, **values: Any) -> dict[str, Any]:
    """An observation of a driver that began at 0, reads 10 rows a second, and keeps pace 3 s behind."""
    made_at = NOW + round(minute * MINUTE_MS)
    row = dict.fromkeys(ACTIVITY.columns) | {"made_at": made_at, "started_at": NOW, "state": "streaming"}
    row |= {"rows": round(600 * minute), "rows_left": 4, "committed": made_at - 3_000}
    row |= {"cpu_ms": round(30_000 * minute), "memory": 1 << 30, "batch_ms": 250}
    return row | values


def shown(directory: Path, rows: list[dict[str, Any]], **request: int) -> ActivityAnswer:
    """The panel over these observations."""
    layout = Layout(directory / "query")
    for row in rows:
        add_activity(Tables(layout), **row)
    return activity.read(QueryView(layout, None), TimesRequest(**request))


def test_rates_are_those_between_two_observations(tmp_path: Path) -> None:
    answer = shown(tmp_path, [observation(minute) for minute in range(4)])
    series = answer.series
    assert series.at == [NOW + MINUTE_MS * minute for minute in range(4)]
    assert series.rows_s == [None, 10, 10, 10]
    assert series.speed == [None, 1, 1, 1]
    assert series.cores == [None, 0.5, 0.5, 0.5]
    assert series.rows_left == [4] * 4
    assert series.behind_ms == [3_000] * 4
    assert (answer.from_, answer.to, answer.note) == (series.at[-1] - DAY_MS, series.at[-1], None)


def test_a_stream_that_falls_behind_has_less_than_its_pace(tmp_path: Path) -> None:
    rows = [observation(minute, committed=NOW + 20_000 * minute) for minute in range(3)]
    series = shown(tmp_path, rows).series
    assert series.speed == [None, pytest.approx(1 / 3), pytest.approx(1 / 3)]
    assert series.behind_ms == [0, 40_000, 80_000]


def test_a_time_without_a_driver_breaks_the_lines_of_many_points_too(tmp_path: Path) -> None:
    rows = [observation(minute) for minute in (*range(300), *range(480, 780))]
    observed = [row | {"frontier": None} for row in rows]
    series = activity.series_of(observed, points=100)
    (place,) = [place for place, value in enumerate(series.rows_left) if value is None]
    assert NOW + 299 * MINUTE_MS < series.at[place] < NOW + 480 * MINUTE_MS
    assert len(series.at) < 110


def test_a_time_without_a_driver_breaks_the_lines(tmp_path: Path) -> None:
    rows = [observation(0), observation(1), observation(30, started_at=NOW + 29 * MINUTE_MS, rows=700)]
    series = shown(tmp_path, rows).series
    assert series.at == [NOW, NOW + MINUTE_MS, NOW + MINUTE_MS + 1, NOW + 30 * MINUTE_MS]
    assert series.rows_left == [4, 4, None, 4]
    assert series.rows_s == [None, 10, None, None]


def test_what_is_unknown_is_null(tmp_path: Path) -> None:
    unknown = dict.fromkeys(("rows", "committed", "rows_left", "cpu_ms", "memory", "batch_ms"))
    series = shown(tmp_path, [observation(0), observation(1, **unknown), observation(2)]).series
    assert series.rows_s == [None, None, None]
    assert (series.rows_left, series.memory, series.behind_ms) == (
        [4, None, 4],
        [1 << 30, None, 1 << 30],
        [3_000, None, 3_000],
    )


def test_cpu_time_of_two_drivers_is_not_compared(tmp_path: Path) -> None:
    rows = [observation(1), observation(2, started_at=NOW + 90_000, cpu_ms=10**7)]  # more than the first has used
    assert shown(tmp_path, rows).series.cores == [None, None]


def kinds(answer: ActivityAnswer) -> list[tuple[str, float]]:
    return [(event.what, (event.at - NOW) / MINUTE_MS) for event in answer.events]


def test_begins_ends_and_deaths_are_events_newest_first(tmp_path: Path) -> None:
    second, third = NOW + 3 * MINUTE_MS, NOW + 6 * MINUTE_MS
    rows = [
        observation(0, state="starting"),
        observation(1),
        observation(4, started_at=second),
        observation(5, started_at=second, state="drained"),
        observation(6, started_at=third),
    ]
    answer = shown(tmp_path, rows)
    assert kinds(answer) == [("began", 6), ("died", 6), ("ended", 5), ("began", 3), ("died", 1), ("began", 0)]
    assert answer.events[2].text == "drained"
    assert (answer.events_total, answer.deaths) == (6, 2)


def test_a_driver_that_nobody_started_again_has_died(tmp_path: Path) -> None:
    answer = shown(tmp_path, [observation(0), observation(1)])
    assert kinds(answer) == [("died", 1), ("began", 0)]
    assert answer.deaths == 1


@pytest.mark.parametrize(("state", "age_ms"), [("streaming", 1_000), ("drained", 9_000_000)])
def test_a_driver_that_reports_has_not_died(tmp_path: Path, state: State, age_ms: int) -> None:
    layout = Layout(tmp_path / "query")
    layout.stream.mkdir(parents=True)
    Status(state, 1, NOW, wall_ms() - age_ms, 1).write(layout)
    assert kinds(shown(tmp_path, [observation(0), observation(1)])) == [("began", 0)]


def test_a_range_that_ends_while_a_driver_lives_has_no_death(tmp_path: Path) -> None:
    rows = [observation(minute) for minute in range(6)]
    assert kinds(shown(tmp_path, rows, from_=NOW - 1, to=NOW + 3 * MINUTE_MS)) == [("began", 0)]


def test_the_newest_figures_are_no_extremes(tmp_path: Path) -> None:
    rows = [observation(minute, rows_left=90_000 if minute == 1 else 0) for minute in range(4)]
    newest = shown(tmp_path, rows).newest
    assert newest is not None
    assert (newest.at[-1], newest.rows_left[-1], newest.rows_s[-1]) == (NOW + 3 * MINUTE_MS, 0, 10)


def test_a_clock_that_is_set_back_makes_no_rates_and_no_deaths(tmp_path: Path) -> None:
    first = [observation(minute, state="drained" if minute == 5 else "streaming") for minute in range(6)]
    began = NOW - 60_000
    second = [observation(minute + 0.5, started_at=began, rows=4_000 + minute) for minute in range(3)]
    answer = shown(tmp_path, [*first, *second])
    assert all(rate is None or rate >= 0 for rate in answer.series.rows_s)
    assert [what for what, _ in kinds(answer)].count("died") <= 1, "of the newest by its start alone"


@pytest.mark.parametrize(("state", "deaths"), [("interrupted", 0), ("failed", 1)])
def test_a_driver_that_was_cut_short_has_not_ended(tmp_path: Path, state: str, deaths: int) -> None:
    answer = shown(tmp_path, [observation(0), observation(1, state=state)])
    assert kinds(answer) == [(state, 1), ("began", 0)]
    assert answer.deaths == deaths, "who interrupts a driver means it to end"


def test_the_problem_of_a_failed_driver_is_the_reason_of_its_end(tmp_path: Path) -> None:
    rows = [observation(0, problem="source: away"), observation(1, state="failed", problem="c.csv: it was changed")]
    answer = shown(tmp_path, rows)
    assert kinds(answer) == [("failed", 1), ("began", 0), ("problem", 0)]
    assert [event.text for event in answer.events] == ["c.csv: it was changed", None, "source: away"]
    assert answer.events[2].until == NOW + MINUTE_MS


def test_a_problem_has_its_begin_and_its_end(tmp_path: Path) -> None:
    lost = {"problem": "stream: the disk is full"}
    rows = [observation(0), observation(1, **lost), observation(2, **lost), observation(3), observation(4, **lost)]
    layout = Layout(tmp_path / "query")
    layout.stream.mkdir(parents=True)
    Status("streaming", 1, NOW, wall_ms(), 1).write(layout)
    problems = [event for event in shown(tmp_path, rows).events if event.what == "problem"]
    assert [(event.at, event.until) for event in problems] == [
        (NOW + 4 * MINUTE_MS, None),
        (NOW + MINUTE_MS, NOW + 3 * MINUTE_MS),
    ]
    assert {event.text for event in problems} == {"stream: the disk is full"}


def test_a_problem_ends_with_its_driver(tmp_path: Path) -> None:
    lost = {"problem": "stream: the disk is full"}
    later = {"started_at": NOW + 600 * MINUTE_MS}
    rows = [observation(1, **lost), observation(2, **lost), observation(601, **lost, **later)]
    first = [event for event in shown(tmp_path, rows).events if event.what == "problem"][-1]
    assert (first.at, first.until) == (NOW + MINUTE_MS, NOW + 2 * MINUTE_MS)


def test_a_range_that_begins_within_the_life_of_a_driver_has_not_its_begin(tmp_path: Path) -> None:
    rows = [observation(minute) for minute in range(6)]
    answer = shown(tmp_path, rows, from_=NOW + 3 * MINUTE_MS, to=NOW + 4 * MINUTE_MS)
    assert answer.events == []
    assert answer.series.at == [NOW + 4 * MINUTE_MS]


def test_a_stream_without_a_record_does_not_claim_that_it_never_ran(tmp_path: Path) -> None:
    answer = activity.read(QueryView(Layout(tmp_path / "query"), None), TimesRequest())
    assert (answer.series.at, answer.events) == ([], [])
    assert answer.note is not None
    assert answer.note.startswith("nothing is on record yet")
