"""What head and panels say in numbers, held against the tables read plainly, in states in which they went wrong.

A state is a stream that ran in this process: with a backlog, with an adaptive K, drained with new files, corrected,
killed before its last report, with files that share ticks, or with nothing but rejected records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from local_driver import correct_here
from panel_stream import BATCH_ROWS, PanelStream, query_over, run_stream
from tailrace.console.stream_rows import _NUMBERS, StreamRow, StreamStateRow, _not_known, _reported, with_tables
from tailrace.console.table_facts import TableFacts
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.words import counted
from tailrace.panels import frontier, late, ledger, promise, quarantine
from tailrace.panels.arrival_range import ArrivalRequest, TimesRequest
from tailrace.panels.promise import PromiseRequest
from tailrace.panels.quarantine import QuarantineRequest
from tailrace.storage.status import Status, wall_ms
from warehouse import even, make_stream, write_files

ADAPTIVE, FIXED = {"policy": "mp_k_slack"}, {"policy": "k_slack", "k": "300 ms"}
_FAR = {"from": 0}


def backlog(directory: Path) -> PanelStream:
    """One batch took in all files, which arrived years ago."""
    tuples = make_stream(2_000, seed=7)
    write_files(tuples, directory / "in", even(2_000, 4))
    stream = PanelStream(query_over(directory, FIXED), directory / "wh", tuples)
    stream.driver.run()
    return stream


def adaptive(directory: Path) -> PanelStream:
    return run_stream(directory, ADAPTIVE, corrects=False)


def drained(directory: Path) -> PanelStream:
    """Files came after the driver's end."""
    stream = run_stream(directory, FIXED, corrects=False)
    write_files(make_stream(500, seed=9), directory / "in", even(500, 5), first=50)
    return stream


def corrected(directory: Path) -> PanelStream:
    """A part was corrected, and then everything, some of it again."""
    stream = run_stream(directory, FIXED, corrects=False)
    committed = max(row["committed"] for row in stream.rows("metrics"))
    correct_here(stream.query, stream.warehouse, CorrectionRange(committed - 20_000, committed - 10_000, arrival=True))
    correct_here(stream.query, stream.warehouse)
    correct_here(stream.query, stream.warehouse)
    return stream


def killed(directory: Path) -> PanelStream:
    """The last report is of a batch before the last one."""
    stream = run_stream(directory, ADAPTIVE, corrects=False)
    layout, rows = stream.view.layout, stream.rows("metrics")
    before = next(row for row in rows if row["batch"] == rows[-1]["batch"] // 2)
    old = {name: before[name] for name in ("committed", "frontier", "k_ms", "coverage")}
    replace(Status.read(layout), state="streaming", at_ms=wall_ms() - 120_000, rows=1, **old).write(layout)
    return stream


def partitioned(directory: Path) -> PanelStream:
    """The files of a partition share ticks."""
    tuples = make_stream(1_200, seed=5)
    for number in range(3):
        write_files(tuples[number * 400 :][:400], directory / "in" / f"day={number}", even(400, 8))
    stream = PanelStream(query_over(directory, FIXED), directory / "wh", tuples)
    stream.driver.run(BATCH_ROWS)
    return stream


def rejected(directory: Path) -> PanelStream:
    """No record has an event time."""
    write_files(make_stream(7, seed=5), directory / "in", [0, 7])
    (file,) = (directory / "in").glob("*.parquet")
    rows = pq.read_table(file)
    at = rows.schema.get_field_index("event_time")
    pq.write_table(rows.set_column(at, "event_time", pa.nulls(7, rows.schema.field(at).type)), file)
    stream = PanelStream(query_over(directory, FIXED), directory / "wh", [])
    stream.driver.run()
    return stream


STATES = (backlog, adaptive, drained, corrected, killed, partitioned, rejected)


@pytest.fixture(scope="module", params=STATES, ids=lambda state: state.__name__)
def stream(request, tmp_path_factory) -> PanelStream:
    state: Callable[[Path], PanelStream] = request.param
    ran = state(tmp_path_factory.mktemp(state.__name__))
    if state is not killed:  # a driver in this process writes no last report
        replace(Status.read(ran.view.layout), state="drained", at_ms=wall_ms(), rows_left=0).write(ran.view.layout)
    return ran


def plain(stream: PanelStream, sql: str) -> Any:
    """Return the only value of a query over the tables' rows."""
    with duckdb.connect() as connection:
        for name in ("metrics", "segments", "late", "results", "quarantine", "corrections", "correction_runs"):
            if stream.view.tables.has(name):
                connection.register(name, stream.view.tables.read(name))
        (row,) = connection.sql(sql).fetchall()
    return row[0]


def newest(stream: PanelStream, column: str) -> Any:
    return plain(stream, f"SELECT arg_max({column}, batch) FROM metrics")


def head(stream: PanelStream) -> StreamRow:
    reported = Status.read(stream.view.layout)
    row = StreamRow(name="q", kind=None, file=None, state=StreamStateRow(word="", tone="good", why=None))
    return with_tables(
        row.model_copy(update=_reported(reported) | _not_known(reported)), TableFacts.read(stream.view.layout)
    )


def test_the_head_says_what_the_tables_hold(stream):
    row = head(stream)
    for name in ("committed", "frontier", "coverage"):
        assert getattr(row, name) == newest(stream, name), name
    assert row.k_ms == (None if row.frontier is None else newest(stream, "k_ms"))
    for name, table in (("rows", "metrics"), ("answers", "metrics"), ("quarantined", "segments")):
        assert getattr(row, name) == plain(stream, f"SELECT coalesce(sum({name}), 0)::BIGINT FROM {table}"), name
    assert row.rows_left is None, "its driver is over, or has reported nothing for long"


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
def test_the_frontier_has_the_k_of_the_newest_batch_and_its_moves(stream, ends):
    answer = frontier.read(stream.view, ArrivalRequest.model_validate(ends))
    if answer.to is None:
        return
    of_batch = [row["k_ms"] for row in sorted(stream.rows("metrics"), key=lambda row: row["batch"]) if not row["task"]]
    assert answer.k_ms == of_batch[-1] == head(stream).k_ms
    assert answer.k_changes == sum(k != before for before, k in pairwise(of_batch))


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
def test_of_a_damaged_table_no_number_is_another_one(tmp_path, table):
    """What needs it is unknown, or of the last report and as old as that; all else is as before."""
    stream = corrected(tmp_path)
    layout = stream.view.layout
    reported = replace(Status.read(layout), state="streaming", at_ms=wall_ms() - 120_000, batches=1, rows=4, answers=2)
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
