"""Each point that parts draw, and each number of their lists, held against tables and source, in each state."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel

from kit.console.states import STATES, StreamInState, head, plain, rows_by, run_in
from tailrace.console.stream_rows import StreamRow
from tailrace.correction.quality import Promise
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.kind.protocol import windowed
from tailrace.panels import activity, answer, answers, frontier, late, ledger, promise, quarantine, settings
from tailrace.panels.answer import AnswerRequest
from tailrace.panels.answers import AnswersRequest
from tailrace.panels.arrival_range import HOUR_MS, ArrivalRequest, TimesRequest
from tailrace.panels.kinds.aggregate import AggregateAnswer
from tailrace.panels.promise import PromiseRequest
from tailrace.panels.quarantine import QuarantineRequest
from tailrace.panels.registry import PANELS
from tailrace.panels.settings import SettingsRequest

_ALL = ArrivalRequest.model_validate({"from": 0})
_APART_MS = 150_000


@pytest.fixture(scope="module", params=STATES, ids=lambda state: state.__name__)
def stream(request, tmp_path_factory) -> StreamInState:
    return run_in(request.param, tmp_path_factory)


def has(stream: StreamInState, table: str) -> bool:
    return stream.view.tables.has(table)


def known(value: Any) -> Any:
    """A time as pages have it: None before and after all time."""
    return value if value is not None and EARLIEST_MS < value <= LATEST_MS else None


def arrivals(stream: StreamInState) -> dict[str, list[int]]:
    """The arrival times of the tuples of each file of the source, in the order in which the files were read."""
    found = defaultdict(list)
    read = "SELECT path, first_row, rows, accepted FROM segments ORDER BY ordinal"
    for path, first, count, accepted in rows_by(stream, read):
        times = pq.read_table(path, columns=["arrival_time"]).slice(first, count if accepted else 0)
        found[path] += times["arrival_time"].cast("int64").to_pylist()
    return found


def test_each_point_of_the_frontier_is_that_of_its_batches(stream):
    series = frontier.read(stream.view, _ALL).series
    names = ("at", "frontier", "t_max", "k_ms", "least_k_ms", "coverage", "rows", "late", "latency_ms")
    of_batches = "max(frontier), max(t_max), max(k_ms), min(k_ms), min(coverage), sum(rows)::BIGINT, sum(late)::BIGINT"
    expected = rows_by(
        stream,
        f"SELECT committed, {of_batches}, max(latency_ms) FROM metrics WHERE committed > 0 "
        "GROUP BY committed ORDER BY committed",
    )
    expected = [(at, known(closed), known(newest), *others) for at, closed, newest, *others in expected]
    assert list(zip(*(getattr(series, name) for name in names), strict=True)) == expected


def test_each_change_of_settings_and_each_fact_has_its_version_and_its_time(stream):
    fields = "about, version, from_tick, from_segment"
    facts = rows_by(stream, f"SELECT {fields} FROM facts ORDER BY {fields}") if has(stream, "facts") else []
    shown = settings.read(stream.view, SettingsRequest()).facts
    assert [(each.about, each.version, each.from_tick, each.from_segment) for each in shown] == facts
    tick_ms, until = stream.query.tick_ms, plain(stream, "SELECT max(committed) FROM metrics")
    for each in shown:
        if each.about == "settings":
            assert each.at == known((each.from_tick or 0) * tick_ms or None)
    changes = [(each.version, each.tick, each.at) for each in frontier.read(stream.view, _ALL).changes]
    settled = [(version, tick, tick * tick_ms or None) for about, version, tick, _ in facts if about == "settings"]
    assert changes == [each for each in settled if until and (each[2] or 0) <= until]


def test_each_point_of_late_has_its_late_rows_and_the_most_that_waited(stream):
    series = late.read(stream.view, _ALL).series
    taken = "sum(buffered + in_process + expired) FILTER (task = 0)"
    read = "(SELECT sum(accepted) FROM segments WHERE segments.batch <= of_batch.batch)"
    of_batch = (
        f"SELECT batch, max(committed) AS committed, sum(late) AS late, sum({taken}) OVER (ORDER BY batch) AS taken "
        "FROM metrics GROUP BY batch"
    )
    expected = rows_by(
        stream,
        f"SELECT committed, sum(late)::BIGINT, max(greatest({read} - taken, 0))::BIGINT FROM ({of_batch}) AS of_batch "
        "WHERE committed > 0 GROUP BY committed ORDER BY committed",
    )
    assert list(zip(series.at, series.late, series.waiting, strict=True)) == expected


def test_files_and_partitions_have_the_arrival_times_of_the_source(stream):
    shown, tick = late.read(stream.view, _ALL), stream.query.tick_ms
    files, directories, before = {}, defaultdict[Path, int | None](lambda: None), 0
    for path, times in arrivals(stream).items():
        last = max(times) // tick * tick if times else None
        files[path] = (before // tick * tick or None if times else None, last)
        before = max(before, *times, 0)
        directory = Path(path).parent
        directories[directory] = max((ms for ms in (directories[directory], last) if ms is not None), default=None)
    for file in shown.files:
        assert (file.after, file.last) == files[file.path], file.path
    if shown.partitions:
        assert sorted((one.passed or 0) for one in shown.partitions) == sorted(ms or 0 for ms in directories.values())


def test_each_run_of_the_ledger_has_what_its_table_says(stream):
    shown = ledger.read(stream.view, TimesRequest())
    fields = ("started_at", "arrived_from", "arrived_to", "changed", "retracted", "repeats", "overflowed")
    fields += ("where_failed",)
    runs = [tuple(getattr(each, name) for name in fields) for each in shown.runs if each.kind == "correction"]
    expected = []
    if has(stream, "correction_runs"):
        rows = rows_by(stream, f"SELECT {', '.join(fields)} FROM correction_runs")
        expected = [(at, known(low), *others) for at, low, *others in rows]
    assert sorted(runs, key=str) == sorted(expected, key=str)
    assert shown.totals.retracted == sum(run[4] for run in expected)
    measured = [(each.accuracy, each.windows) for each in shown.runs if each.kind == "calibration"]
    assert measured == (rows_by(stream, "SELECT accuracy, windows FROM proposals") if measured else [])
    assert sum(gap.late for gap in shown.gaps) == shown.gaps_late


def test_each_bucket_of_the_promise_is_a_row_of_quality(stream):
    shown = promise.read(stream.view, PromiseRequest.model_validate({"from": 0}))
    in_force = Promise.of_policy(stream.query.policy)
    promised = (in_force.error, in_force.risk, in_force.accuracy)
    assert (shown.promised.error, shown.promised.risk, shown.promised.accuracy) == promised
    names = ("share", "mean_error", "worst_error", "answers", "corrected", "missing", "mean_k_ms")
    for each in shown.answers:
        assert (each.error, each.risk, each.accuracy) == promised
        drawn = [getattr(each.series, name) for name in ("start", "end", *names)]
        columns = [f"if(isfinite({name}::DOUBLE), {name}, NULL)" for name in names]
        rows = f"SELECT bucket_start, bucket_end, {', '.join(columns)} FROM quality ORDER BY bucket_start"
        for point, expected in zip(zip(*drawn, strict=True), rows_by(stream, rows), strict=True):
            assert point == pytest.approx(expected)
    coverage = shown.coverage
    thresholds = "SELECT committed, min(coverage), max(threshold) FROM metrics WHERE committed > 0"
    expected = rows_by(stream, f"{thresholds} GROUP BY committed ORDER BY committed")
    assert list(zip(coverage.at, coverage.coverage, coverage.threshold, strict=True)) == expected


def held(stream: StreamInState) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """The versions of each answer, in the order in which they were given; none of these is retracted."""
    found = defaultdict(list)
    for name in ("results", "corrections"):
        for row in stream.rows(name) if has(stream, name) else ():
            found[row["key"], row["window_end"]].append(row | {"is_streamed": name == "results"})
    return {which: sorted(each, key=lambda row: row["emitted_at"]) for which, each in found.items()}


def lacking(stream: StreamInState, size: int) -> set[tuple[str, int]]:
    """The answers, also those that nothing has given yet, that uncorrected late tuples belong to."""
    runs = "(SELECT max(as_of) FROM correction_runs)" if has(stream, "correction_runs") else "0"
    late_rows = rows_by(stream, f"SELECT key, pane_start, frontier FROM late WHERE arrived > {runs}")
    slide = windowed(stream.view.kind).windows.slide_ms
    return {
        (key, end)
        for key, start, closed in late_rows
        for end in range((start // slide + 1) * slide, start + size + 1, slide)
        if end <= closed
    }


def test_the_share_of_right_answers_is_that_of_answers_as_they_are_and_as_they_were(stream):
    right = promise.read(stream.view, PromiseRequest.model_validate({"from": 0})).right
    assert (right is None) == (not has(stream, "quality"))
    if right is None:
        return
    missed, every = lacking(stream, windowed(stream.view.kind).windows.size_ms), held(stream)
    inside = [which for which in {*every, *missed} if right.start < which[1] <= right.end]
    whole = [which for which in inside if which not in missed]
    as_streamed = [
        which
        for which in whole
        if every[which][0]["is_streamed"] and every[which][0]["value"] == pytest.approx(every[which][-1]["value"])
    ]
    assert (right.start, right.end) == rows_by(stream, "SELECT min(bucket_start), max(bucket_end) FROM quality")[0]
    assert right.answers == len(inside)
    assert (right.streamed, right.corrected) == pytest.approx(
        (len(as_streamed) / len(inside), len(whole) / len(inside))
    )


def test_a_listed_answer_has_the_k_of_the_version_that_stands(stream):
    shown, every = answers.read(stream.view, AnswersRequest(limit=1_000)), held(stream)
    names = [column.name for column in shown.columns]
    for row in shown.rows:
        values = dict(zip(names, row.streamed or row.latest, strict=True))
        assert row.k_ms == every[values["key"], values["window_end"]][-1]["k_ms"]
    assert shown.right.at == sorted(shown.right.at)
    assert all(0 <= share <= 1 for share in shown.right.share)


def test_each_version_and_each_late_tuple_of_an_answer_is_that_of_tables_and_source(stream):
    listed, every = answers.read(stream.view, AnswersRequest(limit=1_000)).rows, held(stream)
    seen = set()
    for row in sorted(listed, key=lambda row: row.coverage == 1)[:: max(len(listed) // 3, 1)]:
        shown = answer.read(stream.view, AnswerRequest(id=row.id))
        identity = {part.name: part.value for part in shown.identity}
        given = every[identity["key"], identity["window_end"]]
        place = [column.name for column in shown.columns].index("value")
        tick = stream.query.tick_ms
        names = ("as_of", "emitted_at", "k_ms", "tuples")
        stamps = [(*(getattr(each, name) for name in names), each.values[place]) for each in shown.versions]
        expected = [tuple(each[name] for name in (*names, "value")) for each in given]
        assert sorted(stamps, key=str) == sorted(expected, key=str)
        ends = [(each.arrival_time // tick + 1) * tick for each in shown.late]
        for version in shown.versions:
            missing = sum(end > version.as_of for end in ends) if version.source == "correction" else len(ends)
            assert version.coverage == version.tuples / (version.tuples + missing)
        for each in shown.late:
            (mine,) = pq.read_table(each.file).slice(each.position, 1).to_pylist()
            times = [round(mine[name].timestamp() * 1000) for name in ("event_time", "arrival_time")]
            assert (each.id, [each.event_time, each.arrival_time]) == (mine["id"], times)
            assert each.delay_ms == times[1] - times[0]
            assert each.values == {"value": mine["value"]}
            has_it = [version["as_of"] for version in given if not version["is_streamed"]]
            assert each.corrected_by == min((as_of for as_of in has_it if as_of > times[1]), default=None)
        seen.add(row.id)
    assert bool(seen) == bool(listed)


def test_each_rejected_record_has_its_time(stream):
    shown = quarantine.read(stream.view, QuarantineRequest(limit=200))
    times = [at for (at,) in rows_by(stream, "SELECT arrival_time FROM quarantine")]
    assert sorted((each.arrival_time for each in shown.records), key=str) == sorted(times, key=str)
    assert shown.next is None


def observed(stream: StreamInState, since: int) -> list[dict[str, Any]]:
    rows = stream.rows("activity") if has(stream, "activity") else []
    return sorted((row for row in rows if row["made_at"] > since), key=lambda row: row["made_at"])


def rate(before: dict[str, Any] | None, row: dict[str, Any], name: str) -> float | None:
    """How much a total has grown a millisecond since the observation before; None where that is not known."""
    if before is None or None in (before[name], row[name]):
        return None
    passed = row["made_at"] - before["made_at"]
    grown = row[name] - before[name]
    return grown / passed if 0 < passed <= _APART_MS and grown >= 0 else None


def test_each_point_of_the_activity_is_an_observation_and_what_came_since_the_one_before(stream):
    shown, rows = activity.read(stream.view, TimesRequest()), observed(stream, 0)
    expected = []
    for before, row in pairwise([None, *rows]):
        tuples, pace = rate(before, row, "rows"), rate(before, row, "committed")
        is_one = before is not None and before["started_at"] == row["started_at"]
        cores = rate(before, row, "cpu_ms") if is_one else None
        expected.append((row["made_at"], tuples and tuples * 1000, pace, row["batch_ms"], cores, row["memory"]))
    names = ("at", "rows_s", "speed", "batch_ms", "cores", "memory")
    assert list(zip(*(getattr(shown.series, name) for name in names), strict=True)) == expected
    starts = {row["started_at"]: row["state"] for row in rows}
    assert sorted(event.at for event in shown.events if event.what == "began") == sorted(starts)
    assert shown.deaths == sum(event.what in ("died", "failed") for event in shown.events)
    assert shown.deaths == sum(state == "failed" for state in starts.values())
    assert shown.events_total == len(shown.events)


def test_the_small_charts_of_streams_and_of_the_head_are_those_of_the_last_hour(stream):
    recent, rows = head(stream).recent, observed(stream, stream.now_ms - HOUR_MS)
    if not rows:
        assert recent is None
        return
    behind = [None if row["committed"] is None else row["made_at"] - row["committed"] for row in rows]
    expected = [(row["made_at"], row["rows_left"], late_by) for row, late_by in zip(rows, behind, strict=True)]
    assert list(zip(recent.at, recent.rows_left, recent.behind_ms, strict=True)) == expected
    assert len(recent.rows_s) == len(rows)


def test_answers_of_a_calibration_are_promised_by_the_policy(stream):
    shown = {panel.name: panel for panel in PANELS}["kind"]
    measured = shown.read(stream.view, shown.request()).calibration
    assert measured is None or measured.promised == Promise.of_policy(stream.query.policy).accuracy


def numbers_of(model: type[BaseModel]) -> Iterator[str]:
    """The names of the numbers of a model and of the models in it."""
    for name, field in model.model_fields.items():
        for each in types_of(field.annotation):
            if issubclass(each, BaseModel):
                yield from numbers_of(each)
            elif each in (int, float):
                yield name.rstrip("_")


def types_of(annotation: Any) -> Iterator[type]:
    parts = get_args(annotation)
    if isinstance(annotation, type) and not parts:
        yield annotation
    for part in parts:
        yield from types_of(part)


def test_no_number_of_head_streams_and_parts_is_left_out():
    """A new number is named by a test of these files, which hold numbers in all states, before it is shown."""
    files = [
        Path(__file__).with_name(f"test_console_{name}.py") for name in ("figures", "part_figures", "rows", "facts")
    ]
    words = set(re.findall(r"\w+", "".join(file.read_text() for file in (Path(__file__), *files))))
    models = [StreamRow, AggregateAnswer, *(get_type_hints(each.read)["return"] for each in PANELS)]
    numbers = {name for model in models if isinstance(model, type) for name in numbers_of(model)}
    assert {"rows_left", "k_changes", "gaps_late", "cores"} <= numbers
    assert numbers - words == set()
