"""The panel of rejected records: their reasons, the newest of them, and the line that would take them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver
from kit.runs.query_views import view_of
from kit.runs.warehouse import EPOCH, TIME
from tailrace.panels import quarantine as module
from tailrace.panels.cells import LONGEST
from tailrace.panels.quarantine import QuarantineShown
from tailrace.panels.query_view import QueryView
from tailrace.panels.rejected_records import RejectedFiles
from tailrace.query.loading import load
from tailrace.storage import rejections
from tailrace.storage.layout import Layout
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import Tables

DAY = 86_400_000
QUERY = """name: readings
kind: aggregate
streams:
  readings:
    source: {format: parquet, path: in}
    event_time: event_time
    arrival_time: arrival_time
    id: id
    columns:
      share: 1 / amount
    key: key
    null_key: quarantine
    bounds:
      ahead: 1 h
      earliest: 2019-01-01
window: {size: 1 s}
aggregate: {function: sum, column: value}
"""
FIELDS = ("event_time", "arrival_time", "id", "key", "value", "amount")
BAD = {
    "event_time is null": {"event_time": None},
    "event_time out of bounds: too far ahead of arrival": {"event_time": EPOCH + DAY},
    "event_time out of bounds: before the earliest accepted": {"event_time": EPOCH - 9000 * DAY},
    "id is null": {"id": None},
    "key is null": {"key": None},
    "value is NaN": {"value": float("nan")},
    "value is infinite": {"value": float("inf")},
}


def write(home: Path, rows: list[dict], name: str = "a.parquet") -> None:
    (home / "in").mkdir(exist_ok=True)
    whole = [
        {"event_time": EPOCH, "arrival_time": EPOCH + n, "id": f"t{n}", "key": "k", "value": 1.0, "amount": 1} | row
        for n, row in enumerate(rows)
    ]
    types = dict.fromkeys(("event_time", "arrival_time"), TIME) | dict.fromkeys(("id", "key"), pa.string())
    schema = pa.schema([*types.items(), ("value", pa.float64()), ("amount", pa.int64())])
    pq.write_table(pa.Table.from_pylist(whole, schema), home / "in" / name)


def run(home: Path, text: str = QUERY, warehouse: str = "wh") -> QueryView:
    (home / "readings.yaml").write_text(text)
    query = load(home / "readings.yaml")
    Driver(query, home / warehouse).run(flush=True)
    return view_of(query, home / warehouse, home / "readings.yaml")


def ask(view: QueryView, **settings: object) -> QuarantineShown:
    shown = module.read(view, module.QuarantineRequest.model_validate(settings))
    return QuarantineShown.model_validate_json(shown.model_dump_json())


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> QueryView:
    home = tmp_path_factory.mktemp("quarantine")
    write(home, [{}, *(bad for number, bad in enumerate(BAD.values(), 1) for _ in range(number)), {}])
    return run(home)


def test_reasons_are_counted_the_most_frequent_first(view):
    shown = ask(view)
    assert [(each.reason, each.records) for each in shown.reasons] == [
        (reason, number) for number, reason in reversed([*enumerate(BAD, 1)])
    ]
    assert shown.total == sum(each.records for each in shown.reasons) == 28
    assert shown.last_hour == shown.total == sum(shown.series.records)
    assert [each.last for each in shown.reasons] == [
        EPOCH + 28,
        EPOCH + 21,
        EPOCH + 15,
        EPOCH + 10,
        EPOCH + 6,
        EPOCH + 3,
        EPOCH + 1,
    ]


def test_the_newest_records_come_first_whole_and_of_a_reason_alone(view):
    shown = ask(view, limit=3).records
    assert [each.arrival_time for each in shown] == [EPOCH + 28, EPOCH + 27, EPOCH + 26]
    assert shown[0].position == "a.parquet, row 29"
    assert json.loads(shown[0].record.replace("Infinity", "1e999"))["value"] == float("inf")
    of_reason = ask(view, reason="id is null").records
    assert [each.arrival_time for each in of_reason] == [EPOCH + 10, EPOCH + 9, EPOCH + 8, EPOCH + 7]
    assert {each.reason for each in of_reason} == {"id is null"}
    assert ask(view, reason="nothing of the sort").records == []


def test_all_records_are_met_page_by_page(tmp_path):
    for name in "abc":
        write(tmp_path, [BAD["id is null"], BAD["key is null"], {}, BAD["id is null"]], f"{name}.parquet")
        view = run(tmp_path)
    assert len(RejectedFiles.read(view.tables).files) == 3
    every = ask(view, limit=200).records
    others = [record for record in every if record.reason != every[0].reason]
    assert 0 < len(others) < len(every)
    for reason, wanted in ((None, every), (every[0].reason, [each for each in every if each not in others])):
        for limit in (1, 2, len(wanted), len(wanted) + 1):
            met, skip = [], 0
            while skip is not None:
                page = ask(view, reason=reason, limit=limit, skip=skip)
                assert 0 < len(page.records) <= limit
                met, skip = [*met, *page.records], page.next
            assert met == wanted, (reason, limit)
    assert ask(view, skip=len(every)).records == []


def test_the_line_of_the_file_that_decides_is_named(view):
    lines = {each.reason: each.line for each in ask(view).reasons}
    text = QUERY.splitlines()
    assert {reason: text[line.number - 1].strip() for reason, line in lines.items()} == {
        "event_time is null": "event_time: event_time",
        "event_time out of bounds: too far ahead of arrival": "ahead: 1 h",
        "event_time out of bounds: before the earliest accepted": "earliest: 2019-01-01",
        "id is null": "id: id",
        "key is null": "key: key",
        "value is NaN": "aggregate: {function: sum, column: value}",
        "value is infinite": "aggregate: {function: sum, column: value}",
    }
    assert all(line.text == text[line.number - 1].strip() for line in lines.values())


@pytest.mark.parametrize(
    ("reason", "old", "new"),
    [
        ("event_time is null", "    key: key", "    key: key\n    where: event_time is not null"),
        ("event_time out of bounds: too far ahead of arrival", "ahead: 1 h", "ahead: 2 d"),
        ("event_time out of bounds: before the earliest accepted", "2019-01-01", "1990-01-01"),
        ("id is null", "    key: key", "    key: key\n    where: id is not null"),
        ("key is null", "      share: 1 / amount", "      key: \"ifnull(key, 'none')\""),
        ("key is null", "    null_key: quarantine", "    null_key: group"),
        ("value is NaN", "      share: 1 / amount", '      value: "if(isnan(value), null, value)"'),
        (
            "value is infinite",
            "      share: 1 / amount",
            "      value: \"if(abs(value) = cast('infinity' as double), null, value)\"",
        ),
    ],
)
def test_what_is_advised_takes_the_records_or_leaves_them_out(tmp_path, view, reason, old, new):
    advice = next(each.line.advice for each in ask(view).reasons if each.reason == reason)
    assert old in ("ahead: 1 h", "2019-01-01") or new.split(": ")[-1] in advice
    write(tmp_path, [{}, BAD[reason], {}])
    assert ask(run(tmp_path)).total == 1
    assert ask(run(tmp_path, QUERY.replace(old, new), "other")).total == 0


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("the key is null", '    where: "`the key` is not null"'),
        ("the key is null", "    columns: {the key: \"ifnull(`the key`, 'none')\"}"),
        ("the value is NaN", '    columns: {the value: "if(isnan(`the value`), null, `the value`)"}'),
        ("the value is NaN", "    where: not (isnan(`the value`))"),
    ],
)
def test_what_is_advised_of_names_with_blanks_is_taken_as_it_stands(tmp_path, reason, line):
    write(tmp_path, [{}, {"key": None}, {"value": float("nan")}, {}])
    file = tmp_path / "in" / "a.parquet"
    table = pq.read_table(file)
    pq.write_table(table.rename_columns({"key": "the key", "value": "the value"}), file)
    text = QUERY.replace("key: key", "key: the key").replace("column: value", "column: the value")
    text = text.replace("    columns:\n      share: 1 / amount\n", "")
    advice = {each.reason: each.line.advice for each in ask(run(tmp_path, text)).reasons}
    assert line.strip() in advice[reason]
    mended = ask(run(tmp_path, text.replace("    null_key", f"{line}\n    null_key"), "other"))
    assert [each.reason for each in mended.reasons] == [other for other in advice if other != reason]


def test_an_expression_that_fails_is_the_line(tmp_path):
    write(tmp_path, [{}, {"amount": 0}])
    (reason,) = ask(run(tmp_path, QUERY.replace("column: value", "column: share"))).reasons
    assert QUERY.splitlines()[reason.line.number - 1].strip() == "share: 1 / amount"
    assert "try_divide" in reason.line.advice


def test_a_time_that_cannot_be_read_names_its_column_and_broken_records_no_line(tmp_path):
    (tmp_path / "in").mkdir()
    row = {"event_time": "2020-01-01T00:00:00Z", "arrival_time": "2020-01-01T00:00:00Z", "id": "a", "key": "k"}
    write_json(
        [row | {"value": 1, "amount": 1}, row | {"event_time": "noon", "value": 1, "amount": 1}], tmp_path / "in", 0
    )
    with next((tmp_path / "in").iterdir()).open("a") as file:
        file.write("{broken\n")
    lines = {each.reason: each.line for each in ask(run(tmp_path, QUERY.replace("parquet", "json"))).reasons}
    unread, broken = sorted(lines, key=lambda reason: reason.startswith("broken"))
    assert QUERY.splitlines()[lines[unread].number - 1].strip() == "event_time: event_time"
    assert lines[broken] is None


def test_an_invalid_geometry_is_mended_by_a_line_of_its_own(tmp_path):
    text = (
        (Path(__file__).parents[2] / "data" / "none.yaml").name
        and """name: readings
kind: spatial_join
streams:
  left: {source: {format: json, path: in}, event_time: event_time, arrival_time: arrival_time, id: id}
  right: {source: {format: json, path: in}, event_time: event_time, arrival_time: arrival_time, id: id}
spatial_join:
  join: interval
  interval: {lower: -1 s, upper: 1 s}
  relation: intersects
  crs: planar
  grid: 4
  extent: [0, 0, 4, 4]
  geometry: {left: {wkt: shape}, right: {wkt: shape}}
"""
    )
    (tmp_path / "in").mkdir()
    bow = "POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))"
    write_json([{"event_time": EPOCH, "arrival_time": EPOCH, "id": "a", "shape": bow}], tmp_path / "in", 0)
    (reason,) = ask(run(tmp_path, text)).reasons
    assert reason.reason == "shape is not valid: self-intersection"
    assert reason.line.text == "spatial_join:"
    assert "on_invalid: make_valid" in reason.line.advice
    assert ask(run(tmp_path, text + "  on_invalid: make_valid\n", "other")).total == 0


def quarantine(home: Path, rows: list[dict]) -> QueryView:
    """A table with these rows alone."""
    view = QueryView(Layout.for_query(home, "q"), None)
    types = dict.fromkeys(("stream", "position", "reason", "record"), pa.string())
    schema = pa.schema([*types.items(), ("arrival_time", pa.timestamp("us", "UTC"))])
    tables = Tables(view.layout)
    tables.create({"quarantine": schema})
    for row in rows:
        tables.add("quarantine", pa.Table.from_pylist([row], schema))
    return view


def test_a_long_record_is_cut_with_a_mark(tmp_path):
    row = {"stream": "s", "position": "a#1", "reason": "no", "arrival_time": None}
    shown = ask(quarantine(tmp_path, [row | {"record": "é" * 5000}, row | {"record": None}]))
    assert {each.record for each in shown.records} == {None, "é" * LONGEST + "… (5,000 characters in all)"}
    assert (shown.total, shown.last_hour, shown.reasons[0].last) == (2, 0, None)
    assert shown.reasons[0].line is None


def test_the_last_hour_counts_while_every_record_is_rejected(tmp_path):
    write(tmp_path, [{}, {}])
    run(tmp_path)
    rows = [{"arrival_time": EPOCH + 3 * DAY + n, "value": float("nan")} for n in range(5)]
    write(tmp_path, [*rows, {"arrival_time": None}], "b.parquet")
    view = run(tmp_path)
    assert committed_until(view.tables) < EPOCH + DAY
    shown = ask(view)
    assert (shown.total, shown.last_hour, sum(shown.series.records), shown.without_arrival) == (6, 5, 5, 1)
    assert shown.note == "1 record without a readable arrival time: no hour and no chart counts them."


def test_a_record_ahead_of_the_wall_clock_is_not_now(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "wall_ms", lambda: EPOCH + DAY)
    row = {"stream": "s", "position": "a#1", "reason": "no", "record": None}
    view = quarantine(tmp_path, [row | {"arrival_time": (EPOCH + ms) * 1000} for ms in (0, 1, 5, 2 * DAY)])
    assert (ask(view).total, ask(view).last_hour) == (4, 3)
    monkeypatch.setattr(module, "wall_ms", lambda: EPOCH + 1)
    assert ask(view).last_hour == 2, "nor is one that is ahead of it by little"


def test_reasons_without_end_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setattr(rejections, "MOST_REASONS", 2)
    rows = [{"stream": "s", "position": f"a#{n}", "reason": f"r{n}", "arrival_time": n * 1000} for n in range(4)]
    view = quarantine(tmp_path, rows)
    assert [(each.reason, each.records) for each in ask(view).reasons] == [("r2", 1), ("r3", 1), ("other reasons", 2)]
    assert [each.reason for each in ask(view, reason="other reasons").records] == ["r1", "r0"]
    monkeypatch.setattr(module, "LOOKED_AT", 3)
    shown = ask(view)
    assert (shown.total, shown.note) == (4, "By reason, the newest 3 of 4 records are counted.")


def test_no_table_and_an_empty_one_say_so(tmp_path):
    assert (
        ask(QueryView(Layout.for_query(tmp_path, "never"), None)).note
        == "No record was rejected: the stream has not begun."
    )
    assert ask(quarantine(tmp_path, [])).note == "No record was rejected."
