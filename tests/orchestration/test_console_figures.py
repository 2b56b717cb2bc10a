"""What head and panels say in numbers, held against the tables read plainly, in the states of `kit.console.states`."""

from __future__ import annotations

import shutil
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from kit.console.states import (
    FIXED,
    LOST_BATCHES,
    STATES,
    StreamInState,
    bare_row,
    broken_column,
    calibrated,
    corrected,
    drained,
    drive,
    failed_column,
    finishing,
    head,
    idle,
    is_in,
    looked_at,
    plain,
    proposed,
    rows_by,
    run_in,
    running,
    source_rows,
    write_without,
)
from kit.runs.panel_stream import PanelStream, query_over
from tailrace.console.last_runs import LastRun
from tailrace.console.stream_rows import _NUMBERS, StreamRow, with_runs, with_tables
from tailrace.console.table_facts import TableFacts
from tailrace.ground.errors import Refused
from tailrace.ground.words import counted
from tailrace.panels import frontier, kind, late, ledger, promise, quarantine
from tailrace.panels.arrival_range import NOTHING_YET, ArrivalRequest, TimesRequest
from tailrace.panels.kinds.request import KindRequest
from tailrace.panels.promise import PromiseRequest
from tailrace.panels.quarantine import QuarantineRequest
from tailrace.storage.status import Status, wall_ms

_FAR = {"from": 0}
_TOTALS = (("rows", "metrics"), ("answers", "metrics"), ("quarantined", "segments"), ("filtered", "segments"))


@pytest.fixture(scope="module", params=STATES, ids=lambda state: state.__name__)
def stream(request, tmp_path_factory) -> StreamInState:
    return run_in(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def row(stream) -> StreamRow:
    return head(stream)


def test_the_head_says_what_the_tables_hold_or_held_when_its_driver_reported(stream, row):
    committed = plain(stream, "SELECT max(batch) + 1 FROM metrics")
    assert row.batches == committed - (LOST_BATCHES if is_in(stream, running) else 0)
    for name in ("committed", "frontier", "coverage", "k_ms"):
        assert getattr(row, name) == plain(
            stream, f"SELECT any_value({name}) FROM metrics WHERE batch = {row.batches} - 1 AND frontier IS NOT NULL"
        ), name
    for name, table in _TOTALS:
        total = f"SELECT coalesce(sum({name}), 0)::BIGINT FROM {table} WHERE batch < {row.batches}"
        assert getattr(row, name) == plain(stream, total), name
    assert row.behind_ms == (None if row.committed is None else stream.now_ms - row.committed)
    assert row.report_age_ms is not None or row.batches == committed


def test_what_is_unread_is_what_the_source_has_beyond_the_segments(stream, row):
    """That is known while a driver reads the source, and as far as it can."""
    reported = Status.read(stream.view.layout)
    if not stream.is_driven or is_in(stream, broken_column):
        assert row.rows_left is None, "nobody knows what its source has"
        return
    read = plain(stream, f"SELECT sum(rows)::BIGINT FROM segments WHERE batch < {row.batches}")
    assert row.rows_left + reported.busy_rows == sum(source_rows(stream).values()) - read
    files = {path for (path,) in rows_by(stream, "SELECT path FROM segments")}
    assert (row.rows_left == 0) == (files == source_rows(stream).keys()), "also by files"


def test_data_end_where_all_of_the_source_was_read(stream, row):
    rows = source_rows(stream)
    read = plain(stream, f"SELECT coalesce(sum(rows), 0)::BIGINT FROM segments WHERE batch < {row.batches}")
    if row.data_ends is not None:
        assert row.data_ends == row.committed
        assert sum(rows.values()) == read or is_in(stream, drained), "what came after its driver's end is unknown"
    if is_in(stream, idle):
        assert row.data_ends == row.committed


def test_data_do_not_end_before_the_last_batch(tmp_path):
    stream = finishing(tmp_path)
    row = looked_at(stream, wall_ms())
    assert (row.rows_left, row.batches, row.data_ends) == (0, 5, None)


def test_data_do_not_end_where_a_report_did_that_is_older_than_the_tables(tmp_path, tmp_path_factory):
    sound = run_in(idle, tmp_path_factory)
    shutil.copytree(sound.warehouse, tmp_path / "wh")
    stream = replace(sound, warehouse=tmp_path / "wh")
    last = Status.read(stream.view.layout)
    old = {"batches": last.batches - 1, "committed": last.committed - 1_000, "at_ms": sound.now_ms - 120_000}
    replace(last, **old).write(stream.view.layout)
    row = head(stream)
    assert (row.batches, row.committed, row.data_ends) == (last.batches, last.committed, None)


def test_the_head_counts_what_was_corrected_and_what_was_not(stream, row):
    runs = "correction_runs" if stream.view.tables.has("correction_runs") else "(SELECT 0 AS as_of, 0 LIMIT 0)"
    covered = f"coalesce((SELECT max(as_of) FROM {runs}), 0)"  # those of these states reach back to the beginning
    assert row.uncorrected == plain(
        stream, f"SELECT coalesce(sum(tuples), 0)::BIGINT FROM late WHERE arrived > {covered}"
    )
    if not stream.view.tables.has("correction_runs"):
        assert row.last_correction is None
        return
    ((at, late_tuples),) = rows_by(stream, "SELECT max(started_at), arg_max(late, started_at) FROM correction_runs")
    assert (row.last_correction.at, row.last_correction.late) == (at, late_tuples)


@pytest.mark.parametrize(
    ("state", "word"),
    [(running, "running"), (idle, "idle"), (broken_column, "broken"), (failed_column, "stopped"), (drained, "drained")],
)
def test_the_head_has_the_state_with_its_time(tmp_path_factory, state, word):
    stream = run_in(state, tmp_path_factory)
    row, reported = head(stream), Status.read(stream.view.layout)
    assert (row.state.word, row.state.tone == "bad") == (word, word in ("broken", "stopped"))
    assert row.state.since == (reported.since_ms if stream.is_driven else reported.at_ms) <= stream.now_ms
    assert row.reported_at == reported.at_ms
    assert row.report_age_ms == (stream.now_ms - reported.at_ms if stream.is_driven else None)
    if state is broken_column:
        assert "part-00090.parquet: it has no column 'key'" in row.state.why
    if state is failed_column:
        assert "says that it failed" in row.state.why


def test_time_alone_changes_nothing_but_ages(tmp_path_factory):
    stream = run_in(idle, tmp_path_factory)
    first, ages = head(stream), {"behind_ms", "report_age_ms"}
    for passed_ms in (1_000, 50_000):
        later = looked_at(stream, stream.now_ms + passed_ms)
        assert [getattr(later, name) - getattr(first, name) for name in sorted(ages)] == [passed_ms] * 2
        assert later.model_dump(exclude=ages) == first.model_dump(exclude=ages)
    silent = looked_at(stream, stream.now_ms + 3_700_000)
    assert (silent.rows_left, silent.state.word) == (None, "stopped")
    assert [getattr(silent, name) - getattr(first, name) for name in sorted(ages)] == [3_700_000] * 2
    assert [getattr(silent, name) for name in _NUMBERS] == [getattr(first, name) for name in _NUMBERS]


def test_the_numbers_of_kept_tables_have_their_age(tmp_path_factory):
    stream = run_in(failed_column, tmp_path_factory)
    facts = TableFacts.read(stream.view.layout).model_copy(update={"facts_age_ms": 40_000})
    row = with_tables(bare_row(stream, stream.now_ms), facts)
    assert (row.report_age_ms, row.rows) == (40_000, head(stream).rows)
    unread = bare_row(stream, stream.now_ms)
    assert {getattr(unread, name) for name in _NUMBERS if name != "batches"} == {None}, "before its tables were read"


def test_a_query_that_was_refused_at_once_has_a_failure_and_no_numbers(tmp_path):
    write_without(tmp_path, "key")
    stream = PanelStream(query_over(tmp_path, FIXED), tmp_path / "wh", [])
    with pytest.raises(Refused, match="no column 'key'"):
        drive(stream)
    refused = StreamInState(stream.query, stream.warehouse, [], now_ms=wall_ms(), is_driven=False)
    at, says = refused.now_ms, "no column 'key'"
    run = LastRun(kind="stream", state="failed", tone="warn", at=at, says=says, page="dags/q")
    row = with_runs(head(refused), [run])
    assert row.state.model_dump() == {"word": "deploy failed", "tone": "bad", "why": run.says, "since": run.at}
    counts = ("late_hour", "uncorrected", "quarantined_hour", "last_correction", "recent", "rows_left", "behind_ms")
    assert {name: value for name in (*_NUMBERS, *counts) if (value := getattr(row, name)) is not None} == {}
    for panel in (frontier, late):
        answer = panel.read(refused.view, ArrivalRequest())
        assert (answer.note, answer.to) == (NOTHING_YET, None)


def test_a_calibrated_k_is_in_force_once_it_is_taken_up(tmp_path_factory):
    before, after = run_in(proposed, tmp_path_factory), run_in(calibrated, tmp_path_factory)
    for stream, k_ms in ((before, 60), (after, plain(after, "SELECT k_ms FROM proposals"))):
        in_force = plain(stream, "SELECT arg_max(k_ms, batch) FROM metrics")
        assert head(stream).k_ms == frontier.read(stream.view, ArrivalRequest()).k_ms == in_force == k_ms
        assert kind.read(stream.view, KindRequest()).calibration.k_ms == plain(stream, "SELECT k_ms FROM proposals")
    assert plain(before, "SELECT k_ms FROM proposals") != 60


def test_late_and_rejected_records_of_the_last_hour_are_those_that_were_read_in_it(stream, monkeypatch):
    read_ms = plain(stream, "SELECT max(ingested_ms) FROM segments")
    monkeypatch.setattr("tailrace.console.table_facts.wall_ms", lambda: read_ms + 1_000)
    facts = TableFacts.read(stream.view.layout)
    assert facts.late_hour == plain(stream, "SELECT coalesce(sum(tuples), 0)::BIGINT FROM late")
    assert facts.quarantined_hour == plain(stream, "SELECT count(*) FROM quarantine")
    monkeypatch.setattr("tailrace.console.table_facts.wall_ms", lambda: read_ms + 3_700_000)
    facts = TableFacts.read(stream.view.layout)
    assert (facts.late_hour, facts.quarantined_hour) == (0, 0)


@pytest.mark.parametrize("ends", [{}, _FAR])
def test_late_rows_are_accounted_for_by_partitions_or_a_note(stream, ends):
    answer = late.read(stream.view, ArrivalRequest.model_validate(ends))
    assert answer.late_rows == sum(count or 0 for count in answer.series.late)
    if ends or answer.late_rows:
        assert answer.late_rows == plain(stream, "SELECT coalesce(sum(tuples), 0)::BIGINT FROM late")
    in_partitions = sum(one.late for one in answer.partitions)
    rest = counted(answer.late_rows - in_partitions, "late tuple")
    assert in_partitions == answer.late_rows or f"{rest} in none of these partitions" in answer.note
    in_files = sum(one.late for one in answer.files)
    rest = counted(answer.late_rows - in_files, "late tuple")
    assert in_files == answer.late_rows or f"{rest} in none of these files" in answer.note
    assert all((one.after is None or one.last >= one.after) for one in answer.files if one.last is not None)


@pytest.mark.parametrize("ends", [{}, _FAR])
def test_the_frontier_has_the_k_of_the_newest_batch_and_its_moves(stream, row, ends):
    answer = frontier.read(stream.view, ArrivalRequest.model_validate(ends))
    if answer.to is None:
        return
    of_batch = [row["k_ms"] for row in sorted(stream.rows("metrics"), key=lambda row: row["batch"]) if not row["task"]]
    assert answer.k_ms == of_batch[-1]
    assert is_in(stream, running) or row.k_ms == of_batch[-1]
    assert answer.k_changes == sum(k != before for before, k in pairwise(of_batch))


def test_the_head_says_of_the_promise_what_the_part_says(stream, row):
    shown = promise.read(stream.view, PromiseRequest.model_validate(_FAR))
    assert (row.promise.state, row.promise.word, row.promise.detail) == (shown.state, shown.word, shown.detail)
    assert (row.promise.word == "none") != (is_in(stream, proposed) or is_in(stream, calibrated))


def versions(stream: PanelStream) -> list[list[tuple[int, bool, Any]]]:
    """Of each answer its versions in order, as (when it was given, whether by a correction, what it says)."""
    found = defaultdict(list)
    for name in ("results", "corrections"):
        for row in stream.rows(name) if stream.view.tables.has(name) else ():
            says = None if row.get("retracted") else (round(row["value"], 6), row["tuples"])
            found[row["key"], row["window_end"]].append((row["emitted_at"], name == "corrections", says))
    return [sorted(each) for each in found.values()]


def test_a_correction_changes_the_answers_that_are_other_ones(stream):
    totals, held = ledger.read(stream.view, TimesRequest()).totals, versions(stream)
    changes = sum((before and before[2]) != says for each in held for before, (_, _, says) in pairwise([None, *each]))
    streamed = sum(not each[0][1] for each in held)
    assert totals.changed == changes - streamed
    assert totals.answers >= totals.changed


def test_answers_that_a_correction_gave_again_as_they_were_are_not_corrected(stream):
    answer, held = promise.read(stream.view, PromiseRequest.model_validate(_FAR)), versions(stream)
    of_stream = [each for each in held if not each[0][1]]
    if stream.view.tables.has("correction_runs"):
        series = answer.answers[0].series
        assert sum(series.answers) == len(of_stream)
        assert sum(series.missing) == len(held) - len(of_stream)
        assert sum(series.corrected) == sum(each[0][2] != each[-1][2] for each in of_stream) < len(of_stream) / 2


def test_gaps_have_the_late_tuples_that_no_correction_covers(stream):
    answer = ledger.read(stream.view, TimesRequest())
    total = plain(stream, "SELECT coalesce(sum(tuples), 0)::BIGINT FROM late")
    assert answer.gaps_late == (0 if answer.totals.corrections else total)


def test_what_was_rejected_is_counted_by_reason(stream):
    answer = quarantine.read(stream.view, QuarantineRequest())
    assert answer.total == plain(stream, "SELECT count(*) FROM quarantine")
    assert sum(each.records for each in answer.reasons) == answer.total


@pytest.mark.parametrize("table", ["metrics", "segments", "late", "correction_runs", "quality", "results"])
def test_of_a_damaged_table_no_number_is_another_one(tmp_path, tmp_path_factory, table):
    """What needs it is unknown, or of the last report and as old as that; all else is as before."""
    sound = run_in(corrected, tmp_path_factory)
    shutil.copytree(sound.warehouse, tmp_path / "wh")
    stream = replace(sound, warehouse=tmp_path / "wh")
    layout = stream.view.layout
    at_ms = stream.now_ms - 120_000
    reported = replace(Status.read(layout), state="streaming", at_ms=at_ms, batches=1, rows=4, answers=2)
    reported.write(layout)
    before = head(stream)
    for file in layout.table(table).glob("**/*.parquet"):
        file.write_bytes(file.read_bytes()[:10])
    row = head(stream)
    changed = {name for name in StreamRow.model_fields if getattr(row, name) != getattr(before, name)}
    known = {name for name in changed if getattr(row, name) is not None} - {"behind_ms", "damaged", "note"}
    if known & {"rows", "answers"}:
        assert row.report_age_ms >= 120_000
        known -= {name for name in _NUMBERS if getattr(row, name) == getattr(reported, name)} | {"report_age_ms"}
    assert {name: getattr(row, name) for name in known if name != "promise"} == {}
    assert before.promise.state == "unknown" or row.promise.state in (before.promise.state, "unknown")
    if changed - {"behind_ms", "report_age_ms"}:
        assert {each.where.removeprefix(f"{layout.home}/").split("/")[0] for each in row.damaged} == {table}
