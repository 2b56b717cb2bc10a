"""Wrong expressions in a query file: exit 2, the file and line, the place in the expression, and the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

EPOCH = 1_577_836_800_000
QUERY = """\
name: revenue
kind: aggregate
streams:
  events:
    source: {{format: {format}, path: in}}
    event_time: ts
    arrival_time: received
    id: id
    columns:
      net: {net}
      platform: {platform}
    where: {where}
    key: {key}
window: {{size: 1 min}}
aggregate: {{function: sum, column: {value}}}
"""
RIGHT = {"format": "parquet", "net": "amount / 1.19", "platform": "lower(coalesce(platform, 'unknown'))"}
RIGHT |= {"where": "status = 'paid' and amount > 0", "key": "platform", "value": "net"}
ROWS = {
    "ts": [EPOCH, EPOCH + 1, EPOCH + 2, EPOCH + 90_000],
    "received": [EPOCH, EPOCH + 1, EPOCH + 2, EPOCH + 90_000],
    "id": ["a", "b", "c", "d"],
    "amount": [119.0, 11.9, 5.0, 0.0],
    "quantity": [1, 2, 0, 0],
    "platform": ["IOS", None, "web", "web"],
    "status": ["paid", "paid", "open", "paid"],
    "items": pa.array([{"price": 1.5, "tags": ["x"]}] * 4),
}
OF_THE_FILE = [
    ({"net": "amuont +"}, 10, "columns.net: 1:8: at '+' it is no expression", "expression over the record's own"),
    ({"net": "sum(amount)"}, 10, "columns.net: 1:1: sum is an aggregate", "aggregate: {function: …}"),
    ({"where": "amount > avg(amount)"}, 12, "where: 1:10: avg is an aggregate", "aggregate: {function: …}"),
    ({"net": "amount * rand()"}, 10, "columns.net: 1:10: rand is chance", "a column of the source"),
    ({"net": "now()"}, 10, "columns.net: 1:1: now is the clock", "the stream's own times"),
    ({"net": "lwer(platform)"}, 10, "columns.net: 1:1: there is no function lwer", "lower"),
    ({"net": "read_csv('/etc/passwd')"}, 10, "columns.net: 1:1: there is no function read_csv", "functions"),
    ({"net": "getenv('HOME')"}, 10, "columns.net: 1:1: there is no function getenv", "functions"),
    ({"where": "id in (select id from 'other.csv')"}, 12, "where: 1:1: in without a list", "in (…, …)"),
    ({"where": "exists(select 1)"}, 12, "a subquery", "record's own columns"),
    ({"net": "lag(amount) over (order by ts)"}, 10, "a window function", "aggregate of the query"),
    ({"where": "amount > 0; drop table x"}, 12, "where: 1:24: it has several statements", "one expression"),
    ({"net": "cast(amount as strng)"}, 10, "columns.net: 1:16: at 'strng'", "string"),
    ({"where": "platform rlike '\\d'"}, 12, "where: 1:17: the escape \\d", "\\\\d, or r'…'"),
    ({"where": ":limit"}, 12, "a parameter", "record's own columns"),
]
OF_THE_SOURCE = [
    ({"net": "2 / amuont"}, 10, "it has no column 'amuont', which the expression net reads", "amount"),
    ({"net": "net / 2"}, None, "the expression net is recursive: it reads itself", "one of amount"),
    ({"net": "later / 2", "platform": "net"}, None, "it has no column 'later'", "right would be"),
    ({"net": "status / 2"}, 10, "columns.net: 1:1: an argument is string, and has to be a number", "double"),
    ({"where": "amount"}, 12, "where: 1:1: the condition is double", "a boolean"),
    ({"where": "status = 5"}, 12, "where: 1:1: string and int don't go together", "cast(… as int)"),
    ({"net": "items.prise"}, 10, "columns.net: 1:1: there is no field prise", "price"),
    ({"net": "items.tags"}, 10, "its type is list<item: string>, but it is the query's value", "an integer, float"),
    ({"net": "upper(platform)"}, 10, "its type is string, but it is the query's value", "an integer, float"),
    ({"key": "net"}, 10, "its type is double, but it is the query's key", "a string, an integer"),
]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table(ROWS), tmp_path / "in" / "part-0.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(directory: Path, **changes: str) -> Path:
    quoted = {name: f"'{text.replace(chr(39), 2 * chr(39))}'" for name, text in (RIGHT | changes).items()}
    plain = {name: (RIGHT | changes)[name] for name in ("format", "key", "value")}
    path = directory / "revenue.yaml"
    path.write_text(QUERY.format(**quoted | plain))
    return path


@pytest.mark.parametrize("case", OF_THE_FILE, ids=lambda case: next(iter(case[0].values()))[:40])
def test_a_wrong_expression_is_refused_when_the_file_is_read(tailrace, directory, case):
    changes, line, fault, remedy = case
    for command in (("validate",), ("run", "--engine", "local", "--bounded", "--warehouse", "wh"), ("explain",)):
        refused = tailrace(command[0], write(directory, **changes), *command[1:], code=2).stderr
        assert f"revenue.yaml:{line}: streams.events.{fault}" in refused or fault in refused
        assert f"revenue.yaml:{line}: streams.events." in refused
        assert remedy in refused
    assert not (directory / "wh").exists()


@pytest.mark.parametrize("case", OF_THE_SOURCE, ids=lambda case: next(iter(case[0].values()))[:40])
def test_an_expression_that_does_not_fit_the_source_is_refused_before_anything_is_written(tailrace, directory, case):
    changes, line, fault, remedy = case
    for command in (("validate", "--source"), ("run", "--engine", "local", "--bounded", "--warehouse", "wh")):
        refused = tailrace(command[0], write(directory, **changes), *command[1:], code=2).stderr
        assert fault in refused
        assert remedy in refused
        assert (
            line is None or f"revenue.yaml:{line}: streams.events.columns" in refused or f":{line}: streams" in refused
        )
    assert not (directory / "wh").exists()


LOCAL = ("--engine", "local", "--bounded", "--warehouse", "wh")
MISSING = """\
name: revenue
streams:
  events:
    source: {format: FORMAT, path: in}
    event_time: ts
    arrival_time: received
    id: Id
"""
SECTIONS = """\
    columns:
      net: amount * quantity / (1 + vat)
    where: status = 'paid' and
      amuont > 0
    key: plattform
kind: aggregate
window: 1 min
aggregate:
  revenue: {function: sum, column: Net}
  large: {function: count, where: Amount > 5}
"""
SQL = """\
sql: |
  SELECT plattform AS key, sum(Net) AS revenue,
    count(*) FILTER (WHERE Amount > 5) AS large
  FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
  WHERE status = 'paid' AND
    amuont > 0
  GROUP BY window_start, window_end, plattform
"""


def rewrite_as_json(directory: Path, **changes: list[Any]) -> None:
    """Write the records as two files of JSON lines, without the nulls."""
    (directory / "in" / "part-0.parquet").unlink()
    columns = {**ROWS, "items": [{"price": 1.5, "tags": ["x"]}] * 4, **changes}
    records = [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]
    lines = [json.dumps({name: value for name, value in each.items() if value is not None}) for each in records]
    for number, half in enumerate((lines[:2], lines[2:])):
        (directory / "in" / f"part-{number}.json").write_text("".join(f"{line}\n" for line in half))


PLACES = {
    "Id": ("revenue.yaml:7: streams.events.id: ", "id"),
    "plattform": ("streams.events.key: ", "platform"),
    "Net": ("aggregate.revenue.column: ", "net"),
    "vat": ("revenue.yaml:9: streams.events.columns.net: 1:26: ", "one of "),
    "amuont": ("streams.events.where: ", "amount"),
    "Amount": ("aggregate.large.where: 1:1: ", "amount"),
}
LINES = {
    "sections": {"plattform": "12: ", "Net": "16: ", "amuont": "10: ", "Amount": "17: "},
    "sql": {
        "plattform": "16: sql, at 6:10: ",
        "Net": "11: sql, at 1:26: ",
        "amuont": "14: sql, at 4:7: ",
        "Amount": "12: sql, at ",
    },
}


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("source", ["parquet", "json"])
def test_each_column_that_the_source_lacks_is_refused_by_its_line_field_and_place(tailrace, directory, form, source):
    if source == "json":
        rewrite_as_json(directory)
    columns = "    columns:\n      net: amount * quantity / (1 + vat)\n"
    text = MISSING.replace("FORMAT", source) + (SECTIONS if form == "sections" else columns + SQL)
    (directory / "revenue.yaml").write_text(text)
    run = ("run", "revenue.yaml", "--engine", "local", "--bounded", "--warehouse", "wh")
    for command in (("validate", "revenue.yaml", "--source"), run, ("explain", "revenue.yaml", "--sample")):
        refused = tailrace(*command, code=2).stderr
        problems = [line for line in refused.replace("\n    right would be", "; right would be").splitlines() if line]
        for name, (place, remedy) in PLACES.items():
            problem = next(line for line in problems if f"it has no column {name!r}, which" in line)
            assert place in problem
            assert f"revenue.yaml:{LINES[form].get(name, '')}" in problem
            assert f"right would be: {remedy}" in problem
        assert len(problems) == len(PLACES)
    assert not (directory / "wh").exists()


def test_a_column_that_records_of_json_leave_out_is_missing_only_where_no_file_has_it(tailrace, directory):
    shown = {"vat": [None, None, None, 0.19], "amuont": [None, 1, None, None], "Amount": [None, None, 2, None]}
    rewrite_as_json(directory, **shown)
    (directory / "revenue.yaml").write_text(MISSING.replace("FORMAT", "json").replace("Id", "id") + SECTIONS)
    for command in (("validate", "revenue.yaml", "--source"), ("run", "revenue.yaml", *LOCAL)):
        refused = tailrace(*command, code=2).stderr
        assert "revenue.yaml:12: streams.events.key: " in refused
        assert f"revenue.yaml:16: aggregate.revenue.column: {directory}/in: it has no column 'Net'" in refused
        assert refused.count("it has no column") == 2, "of the key, which each record has to have, and of Net"
    right = SECTIONS.replace("plattform", "platform").replace("Net", "net")
    (directory / "revenue.yaml").write_text(MISSING.replace("FORMAT", "json").replace("Id", "id") + right)
    refused = tailrace("validate", "revenue.yaml", "--source", code=2).stderr
    assert "no record has a value of a fitting type" in refused, "as no file has a value in each of them"


TYPES = """\
    columns:
      net: amount * quantity
    key: platform
kind: aggregate
window: 1 min
aggregate:
  words: {function: sum, column: status}
  newest: {function: last, column: status}
  odd: {function: count, where: quantity}
  ratio: {expression: newest / 2}
disorder: {policy: k_slack, k: 1 s}
"""
PLACES_OF_TYPES = {
    "words": ("14: aggregate.words: ", "function sum takes numbers"),
    "odd": ("16: aggregate.odd.where: ", "the condition is of type"),
}


def test_types_that_do_not_fit_are_refused_by_their_lines(tailrace, directory):
    file = directory / "revenue.yaml"
    text = MISSING.replace("FORMAT", "parquet").replace("id: Id", "id: id") + TYPES
    cases = [
        (text, PLACES_OF_TYPES.values()),
        (
            text.replace("function: sum", "function: max").replace("where: quantity", "where: quantity > 1"),
            [("17: aggregate.ratio.expression: 1:1: ", "string")],
        ),
        (
            text.replace("  words: {function: sum, column: status}\n", "")
            .replace("  odd: {function: count, where: quantity}\n  ratio: {expression: newest / 2}\n", "")
            .replace("k_slack, k: 1 s", "quantile, error: 0.1, risk: 0.1, of: [newest]"),
            [("15: disorder.of: ", "newest is of type string")],
        ),
    ]
    for written, expected in cases:
        file.write_text(written)
        for command in (("validate", "revenue.yaml", "--source"), ("run", "revenue.yaml", *LOCAL)):
            refused = tailrace(*command, code=2).stderr
            for place, fault in expected:
                assert f"revenue.yaml:{place}" in refused
                assert fault in refused
    assert not (directory / "wh").exists()


def test_a_run_counts_what_where_leaves_out(tailrace, directory):
    query = write(directory)
    run = ("run", query, "--engine", "local", "--bounded", "--correct", "--warehouse", "wh")
    assert "read 4 records: 2 accepted, 2 filtered, 0 rejected" in tailrace(*run).stderr
    answers = tailrace("results", query, "--warehouse", "wh", "--format", "csv").stdout.splitlines()[1:]
    assert [line.split(",")[:4:3] for line in answers] == [['"ios"', "100"], ['"unknown"', "10"]]


def test_a_run_whose_records_are_all_left_out_ends_well_and_says_so_first(tailrace, directory):
    done = tailrace("run", write(directory, where="false"), "--engine", "local", "--bounded", "--warehouse", "wh")
    assert done.stderr.index("no record is a tuple") < done.stderr.index("read 4 records: 0 accepted, 4 filtered")


TEXT_TIMES = """\
name: trips
kind: aggregate
streams:
  trips:
    source: {format: json, path: trips}
    event_time: ts
    arrival_time: ts
    id: id
    columns: {is_late: "ts > '2024-03-30 20:00:00'"}
    where: ts between '2024-03-30 19:00:00' and '2024-03-30 20:00:00'
window: {size: 1 min}
aggregate: {function: count}
"""


def test_times_that_are_compared_as_texts_are_told_of(tailrace, directory):
    (directory / "trips").mkdir()
    (directory / "trips" / "a.json").write_text('{"id": "a", "ts": "2024-03-30T19:30:00Z"}\n')
    (directory / "trips.yaml").write_text(TEXT_TIMES)
    checked = tailrace("validate", "trips.yaml", "--source").stdout
    done = tailrace("run", "trips.yaml", "--engine", "local", "--bounded", "--warehouse", "wh").stderr
    for said in (checked, done):
        assert "stream trips: where: ts is text, and is compared with '2024-03-30 19:00:00' letter by letter" in said
        assert "stream trips: is_late: ts is text" in said
    assert "warning: no record is a tuple: where is false or null for all of them" in done
    (directory / "trips.yaml").write_text(
        TEXT_TIMES.replace("ts between", "timestamp(ts) between").replace("is_late", "l")
    )
    assert "where: ts is text" not in tailrace("validate", "trips.yaml", "--source").stdout


def test_a_run_whose_records_all_fail_fails(tailrace, directory):
    query = write(directory, net="amount / 0", where="true")
    failed = tailrace("run", query, "--engine", "local", "--bounded", "--warehouse", "wh", code=1).stderr
    assert "4 × expression net: division by zero" in failed


def test_explain_shows_what_each_step_of_a_sample_keeps(tailrace, directory):
    query = write(directory, net="amount / quantity", where="status = 'paid'")
    shown = tailrace("explain", query, "--sample").stdout
    assert "columns    net: amount / quantity; platform: lower(coalesce(" in shown
    assert "where      status = 'paid'" in shown
    steps = [line.strip() for line in shown.partition("stream events: 4 records looked at\n")[2].splitlines()[:4]]
    assert steps == [
        "4 could be read",
        "3 gave their columns, or were left out by where",
        "2 were kept by where",
        "2 are tuples",
    ]
    assert "1 × expression net: division by zero" in shown
    assert "│ ios" in shown
    assert "│ web" not in shown


def test_a_sample_says_how_many_records_where_leaves_out(tailrace, directory):
    shown = tailrace("validate", "--source", write(directory)).stdout
    assert "of 4 records that were looked at 2 fit, 2 are left out by where, 0 do not" in shown
    assert "quantity" not in shown  # a column that nothing needs is not read
