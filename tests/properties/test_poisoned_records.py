"""Poisoned records in a stream: each goes to quarantine with its position and reason, and the rest is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.runs.local_driver import Driver
from tailrace.query.declared import declared_query
from tailrace.storage.results import read_answers

EPOCH = 1_799_999_000_000
YEAR = 365 * 86_400_000
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_000
"""The begin of the year 1 and the end of the year 9999, in ms."""
RECORD = {"t": EPOCH, "a": EPOCH + 500, "id": "x", "k": "k", "v": 1.5}
COUNT = 60


def line(**changes: object) -> bytes:
    return json.dumps(RECORD | changes).encode()


def fields(**changes: object) -> bytes:
    return ",".join(str(value) for value in (RECORD | changes).values()).encode()


BEYOND, WRONG_TYPE = "v is a number beyond 1.8e308", "is of the wrong type: "
AHEAD, TOO_OLD = "t out of bounds: too far ahead of arrival", "t out of bounds: before the earliest accepted"
NO_ARRIVAL = "a out of bounds: an arrival time lies between 1970 and 9998"
JSON = {
    "cut within a field": (b'{"t": 1,', "broken JSON: "),
    "cut in half": (line()[:30], "broken JSON: "),
    "an empty line": (b"", "broken JSON: "),
    "two records in a line": (line() + line(), "broken JSON: Extra data"),
    "a NUL byte": (b"\0" + line(), "broken JSON: "),
    "nested too deep": (b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "broken JSON: nested too deep"),
    "no UTF-8": (line().replace(b'"x"', b'"\xff"'), "no UTF-8"),
    "half a surrogate pair": (line().replace(b'"x"', b'"\\ud800"'), "no UTF-8: half of a surrogate pair"),
    "a list": (b"[1]", "no JSON object"),
    "a number": (b"5", "no JSON object"),
    "a field twice": (b'{"t": 1, ' + line()[1:], "it has the name t more than once"),
    "no fields": (b"{}", "t is null"),
    "a time beyond 64 bits": (line(t=10**30), "t is an integer beyond 64 bits: 1000"),
    "a number beyond doubles": (line().replace(b"1.5", b"1e400"), BEYOND),
    "a number of 5,000 digits": (line().replace(b"1.5", b"9" * 5_000), "v is infinite"),
    "NaN": (line(v=float("nan")), "v is NaN"),
    "Infinity": (line(v=float("inf")), "v is infinite"),
    "-Infinity": (line(v=float("-inf")), "v is infinite"),
    "no event time": (line(t=None), "t is null"),
    "no arrival time": (line(a=None), "a is null"),
    "no id": (line(id=None), "id is null"),
    "no key": (line(k=None), "k is null"),
    "a time in words": (line(t="yesterday"), f"t {WRONG_TYPE}str"),
    "a time with a fraction": (line(t=1.5), f"t {WRONG_TYPE}float"),
    "a number as text": (line(v="1.5"), f"v {WRONG_TYPE}str"),
    "true for a number": (line(v=True), f"v {WRONG_TYPE}bool"),
    "a number as id": (line(id=7), f"id {WRONG_TYPE}int"),
    "an object as id": (line(id={}), f"id {WRONG_TYPE}dict"),
    "a list as key": (line(k=["k"]), f"k {WRONG_TYPE}list"),
    "the year 9999": (line(t=LAST), AHEAD),
    "a year ahead": (line(t=EPOCH + YEAR), AHEAD),
    "the last of 64 bits": (line(t=2**63 - 1), AHEAD),
    "the year 1": (line(t=FIRST), TOO_OLD),
    "the first of 64 bits": (line(t=-(2**63)), TOO_OLD),
    "an arrival in 9999": (line(a=LAST), NO_ARRIVAL),
    "an arrival before 1970": (line(a=-1), NO_ARRIVAL),
}
CSV = {
    "too few fields": (b"1,2,x", "3 fields, and the header has 5"),
    "too many fields": (fields() + b",7", "6 fields, and the header has 5"),
    "an empty line": (b"", "an empty line"),
    "a quote that is not closed": (fields(id='"x'), "broken CSV: "),
    "text behind a quote": (fields(id='"x"y'), "broken CSV: "),
    "a carriage return in a field": (fields(id="x\ry"), "broken CSV: "),
    "no UTF-8": (fields().replace(b"x", b"\xff"), "no UTF-8"),
    "a time in words": (fields(t="yesterday"), "t is no integer"),
    "a time with a fraction": (fields(t=1.5), "t is no integer"),
    "a time beyond 64 bits": (fields(t=10**30), "t is no integer"),
    "a word for a number": (fields(v="high"), "v is no number: 'high'"),
    "a hexadecimal number": (fields(v="0x10"), "v is no number"),
    "NaN": (fields(v="nan"), "v is NaN"),
    "infinity": (fields(v="-inf"), "v is infinite"),
    "no event time": (fields(t=""), "t is null"),
    "no arrival time": (fields(a=""), "a is null"),
    "no id": (fields(id=""), "id is null"),
    "no key": (fields(k=""), "k is null"),
    "the year 9999": (fields(t=LAST), AHEAD),
    "the year 1": (fields(t=FIRST), TOO_OLD),
    "an arrival before 1970": (fields(a=-1), NO_ARRIVAL),
}


def run(directory: Path, format_name: str, records: list[bytes]) -> Driver:
    (directory / "in").mkdir(parents=True)
    header = b"t,a,id,k,v\n" if format_name == "csv" else b""
    (directory / "in" / f"0.{format_name}").write_bytes(header + b"".join(record + b"\n" for record in records))
    source = {"format": format_name, "path": "in"}
    stream = {
        "source": source,
        "event_time": "t",
        "arrival_time": "a",
        "id": "id",
        "key": "k",
        "null_key": "quarantine",
    }
    fields = {
        "name": "sums",
        "kind": "aggregate",
        "streams": {"numbers": stream},
        "window": {"size": "1 s", "slide": "1 s"},
        "disorder": {"policy": "none", "tick": "100 ms"},
        "aggregate": {"function": "sum", "column": "v"},
    }
    app = Driver(declared_query(fields, directory), directory / "wh")
    app.run(flush=True)
    return app


def answers_of(app: Driver) -> list[dict]:
    table, _ = read_answers(app.query, app.layout.home.parent, streamed=False)
    return table.select(["window_start", "key", "value", "tuples"]).to_pylist()


@pytest.mark.parametrize(("format_name", "make", "cases"), [("json", line, JSON), ("csv", fields, CSV)])
def test_poison_is_quarantined_and_the_rest_answered(tmp_path: Path, format_name: str, make, cases) -> None:
    good = [make(t=EPOCH + i * 100, a=EPOCH + 500 + i * 100, id=f"g{i}", v=float(i)) for i in range(COUNT)]
    mixed = list(good)
    for number, (poison, _) in enumerate(cases.values()):
        mixed.insert(2 * number + 1, poison)
    app = run(tmp_path / "mixed", format_name, mixed)

    rows = app.tables.read("quarantine").to_pylist()
    reasons = {int(row["position"].rpartition("#")[2]): row["reason"] for row in rows}
    assert len(reasons) == len(rows) == len(cases)
    for number, (name, (_, reason)) in enumerate(cases.items()):
        assert reasons.get(2 * number + 1, "accepted").startswith(reason), (name, reasons.get(2 * number + 1))

    alone = run(tmp_path / "good", format_name, good)
    answers, expected = answers_of(app), answers_of(alone)
    assert answers == expected
    assert sum(answer["value"] for answer in answers) == sum(range(COUNT))


@pytest.mark.parametrize(("format_name", "record"), [("json", line(v=None)), ("csv", fields(v=""))])
def test_a_record_without_a_value_is_a_tuple_that_adds_nothing(tmp_path: Path, format_name: str, record: bytes) -> None:
    make = line if format_name == "json" else fields
    app = run(tmp_path, format_name, [make(v=2.5), record, make(k="empty", v=None if format_name == "json" else "")])
    assert not app.tables.has("quarantine") or app.tables.read("quarantine").num_rows == 0
    assert [(row["key"], row["value"], row["tuples"]) for row in answers_of(app)] == [("empty", None, 1), ("k", 2.5, 2)]
