"""CSV with another delimiter or a decimal comma is read as declared, and one with another than declared is refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from kit.parts.source_mappings import source_mapping, with_uses
from kit.suite.examples import drawn
from tailrace.api.declaration import load
from tailrace.ground.errors import Refused
from tailrace.query.declared import declared_query
from tailrace.query.sections import Source
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats import csv_files
from tailrace.sources.formats.csv_dialect import COMMAS, CsvDialect
from tailrace.sources.formats.csv_files import CsvFiles
from tailrace.sources.record_place import place_of
from tailrace.sources.segments import RawSegment

COLUMNS = source_mapping("t", "t", "id", None, {"value": "v"}, carried={"more": "w"})
EUROPEAN = CsvDialect(";", ",")
DELIMITERS = [",", ";", "\t", "|", " ", "\x01"]
CR = "carriage returns alone"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.csv"


def read(
    path: Path, text: bytes, dialect: CsvDialect, columns: SourceMapping = COLUMNS
) -> tuple[RawSegment, dict[str, str]]:
    path.write_bytes(text)
    files = CsvFiles(dialect=dialect)
    types = files.types(path, columns)
    assert types is not None
    (segment,) = files.split(path)
    return files.at(None, columns.exact).read(segment, types), types


def refusal(path: Path, text: bytes, dialect: CsvDialect = COMMAS) -> tuple[str, str]:
    path.write_bytes(text)
    with pytest.raises(Refused) as refused:
        CsvFiles(dialect=dialect).types(path, COLUMNS)
    (problem,) = refused.value.problems
    assert problem.where == str(path)
    return problem.fault, problem.remedy


@given(
    st.sampled_from(DELIMITERS),
    st.lists(st.lists(st.text('ab ",;\t|\n\x01', max_size=4), min_size=3, max_size=3), min_size=1, max_size=6),
)
@drawn(100)
def test_fields_are_those_of_another_reader(tmp_path_factory, delimiter, records):
    """Python's csv writes the records, with the delimiter, quotes and newlines in them, and they come as they were."""
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["t", "id", "x"], *records])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text(sink.getvalue(), newline="")
    files = CsvFiles(dialect=CsvDialect(delimiter))
    (segment,) = files.split(path)
    table = files.read(segment, dict.fromkeys(["t", "id", "x"], "string")).table
    assert [list(row.values()) for row in table.to_pylist()] == [[field or None for field in row] for row in records]


@pytest.mark.parametrize("block", [1, 9, 1000])
def test_a_file_is_split_at_the_ends_of_its_own_records(path, monkeypatch, block):
    path.write_bytes(b't;id;v\n1;"a\nb;c";2\n3;d,"e;4\n5;f;6\n')
    monkeypatch.setattr(csv_files, "BYTES_PER_SEGMENT", block)
    files = CsvFiles(dialect=CsvDialect(";"))
    parts = [files.read(segment, {"id": "string"}).table for segment in files.split(path)]
    assert pa.concat_tables(parts)["id"].to_pylist() == ["a\nb;c", 'd,"e', "f"]


def test_a_decimal_comma_makes_numbers_and_a_point_makes_none(path):
    raw, types = read(path, b"t;id;v;w\n1;a;1,5;0,25\n2;b;-2;1e2\n3;c;1.5;7\n4;d;1.234,5;7\n", EUROPEAN)
    assert types == {"t": "int64", "id": "string", "v": "double", "w": "double"}
    assert raw.table["v"].to_pylist() == [1.5, -2.0]
    assert raw.table["w"].to_pylist() == [0.25, 100.0]
    assert [(fault.row, fault.reason) for fault in raw.malformed] == [
        (2, "v is no number: '1.5'"),
        (3, "v is no number: '1.234,5'"),
    ]


def test_texts_and_times_keep_their_commas_and_points(path):
    text = b"t;id;v;w\n2024-01-01T00:00:00,5Z;1,5;1;x,y\n2024-01-01T00:00:00.5Z;1.5;2;1.5\n"
    raw, types = read(path, text, EUROPEAN)
    assert types["w"] == "string"
    assert raw.table["id"].to_pylist() == ["1,5", "1.5"]
    assert raw.table["w"].to_pylist() == ["x,y", "1.5"]
    assert raw.table["t"].to_pylist() == ["2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00.5Z"]


def test_numbers_have_points_where_no_decimal_comma_is_declared(path):
    raw, types = read(path, b"t;id;v;w\n1;a;1.5;1,5\n2;b;1,5;x\n", CsvDialect(";"))
    assert types["w"] == "string"
    assert [fault.reason for fault in raw.malformed] == ["v is no number: '1,5'"]


@pytest.mark.parametrize(
    ("sign", "name"), [(";", '";" (semicolons)'), ("\t", '"\\t" (tabs)'), ("|", '"|" (vertical bars)')]
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_another_delimiter_is_one_fault_with_the_option(path, sign, name, quote):
    text = "\n".join(sign.join(quote + field + quote for field in row) for row in ("tivw", "1a23"))
    fault, remedy = refusal(path, text.replace("i", "id", 1).encode() + b"\n")
    assert fault == f'its fields are separated by {name}, and not by "," (commas)'
    assert remedy.startswith(f"delimiter: {name.partition(' ')[0]} in the source")


def test_commas_where_others_are_declared_are_one_fault(path):
    fault, _ = refusal(path, b"t,id,v,w\n1,a,2,3\n", CsvDialect(";"))
    assert fault == 'its fields are separated by "," (commas), and not by ";" (semicolons)'


def test_a_missing_column_is_one_though_its_name_has_a_semicolon(path):
    path.write_bytes(b"t,id,v,w;x\n1,a,2,3\n")
    with pytest.raises(Refused, match="it has no column 'w'"):
        CsvFiles().types(path, COLUMNS)


@pytest.mark.parametrize("text", [b"t,id,v,w\r1,a,2,3\r", b"t,id,v,w\r1,a,2,3", b"t,id,v,w\r"])
def test_carriage_returns_alone_are_named(path, text):
    fault, remedy = refusal(path, text)
    assert CR in fault
    assert "tr '\\r' '\\n'" in remedy
    if text.endswith(b"\r"):
        assert CsvFiles().whole(path, still=True), "a live run refuses it, and does not wait for its last line"


def test_a_line_that_may_be_written_to_its_newline_is_not_whole(path):
    path.write_bytes(b"t,id,v,w\r\n1,a,2,3\r")
    assert not CsvFiles().whole(path, still=True)


def test_a_header_may_be_long(path):
    """As one field, by another delimiter, it would be longer than a reader of fields takes."""
    header = ",".join(["t", "id", "v", "w", *(f"column_{number:06}" for number in range(12_000))])
    raw, _ = read(path, f"{header}\n1,a,2,3{',' * 12_000}\n".encode(), COMMAS)
    assert raw.table["v"].to_pylist() == [2.0]
    assert place_of(f"{path}#0") == "a.csv, line 2"


@pytest.mark.parametrize("header", [b'"t";"id"', b't;id;"a,b,c,d"'])
def test_a_place_is_the_line_of_a_record_whatever_the_delimiter(path, header):
    path.write_bytes(header + b'\n1;"a\nb"\n2;c\n')
    assert place_of(f"{path}#1") == "a.csv, line 4"


def declared(**fields: Any) -> Any:
    return TypeAdapter(Source).validate_python({"format": "csv", "path": "/data/in"} | fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"delimiter": ";;"}, "one ASCII character"),
        ({"delimiter": "tab"}, "one ASCII character"),
        ({"delimiter": "x"}, "one ASCII character"),
        ({"delimiter": '"'}, "one ASCII character"),
        ({"delimiter": "\n"}, "one ASCII character"),
        ({"delimiter": "."}, "one ASCII character"),
        ({"delimiter": "é"}, "one ASCII character"),
        ({"delimiter": 5}, "one ASCII character"),
        ({"delimiter": ";", "decimal": ";"}, "no decimal sign"),
        ({"decimal": ","}, "can't separate both"),
        ({"format": "json", "delimiter": ";"}, "format json has no delimiter"),
        ({"format": "parquet", "decimal": ","}, "format parquet has no decimal"),
        ({"format": "delta", "delimiter": ";"}, "delimiter"),
    ],
)
def test_what_is_no_option_is_refused(fields, words):
    with pytest.raises(ValidationError, match=words):
        declared(**fields)


def test_the_defaults_are_the_same_as_none():
    """So a stream that began without them goes on."""
    assert declared(delimiter=",", decimal=".") == declared()
    assert declared().reader(COLUMNS) == CsvFiles(exact=COLUMNS.exact)
    assert declared(delimiter=";").reader(with_uses(COLUMNS, carried={})) == CsvFiles(dialect=CsvDialect(";"))


LATE_MS = 90_000
START = 1_700_000_000_000
RECORDS = [(START, 10, 1.5), (START + 1, 20, 2.25), (START + LATE_MS, LATE_MS, 4.0), (START + 3, LATE_MS + 1000, 0.5)]


def answers(folder: Path, options: str, delimiter: str, decimal: str) -> tuple[list[dict], list[dict]]:
    """Answer a stream with a late record, streamed and corrected."""
    (folder / "in").mkdir(parents=True)
    lines = [["id", "ts", "at", "v"]]
    for number, (event, arrived, value) in enumerate(RECORDS):
        lines.append([str(number), str(event), str(START + arrived), str(value).replace(".", decimal)])
    (folder / "in" / "a.csv").write_text("".join(delimiter.join(line) + "\n" for line in lines))
    (folder / "query.yaml").write_text(
        "name: q\nkind: aggregate\nstreams:\n"
        f"  s: {{source: {{format: csv, path: in{options}}}, event_time: ts, arrival_time: at, id: id}}\n"
        "window: 1 min\naggregate:\n  n: {function: count}\n  s: {function: sum, column: v}\n"
        "disorder: {policy: k_slack, k: 0 s}\n"
    )
    done = load(folder / "query.yaml").run(folder / "warehouse", engine="local")
    streamed = done.results(as_of="stream").dicts()
    done.correct(engine="local")
    return streamed, done.results().dicts()


def test_a_stream_is_answered_and_corrected_as_one_with_commas(tmp_path):
    european = answers(tmp_path / "european", ', delimiter: ";", decimal: ","', ";", ",")
    tabs = answers(tmp_path / "tabs", ', delimiter: "\\t"', "\t", ".")
    assert european == tabs == answers(tmp_path / "commas", "", ",", ".")
    streamed, corrected = european
    assert [(row["n"], row["s"]) for row in streamed] == [(2, 3.75), (1, 4.0)]
    assert [(row["n"], row["s"]) for row in corrected] == [(3, 4.25), (1, 4.0)]


def test_a_checkpoint_is_bound_to_the_dialect(tmp_path):
    fields: dict[str, Any] = {"name": "q", "kind": "aggregate", "window": {"size": "1 min"}}
    fields |= {"aggregate": {"n": {"function": "count"}}}

    def structure(**options: str) -> dict[str, Any]:
        source = {"format": "csv", "path": str(tmp_path)} | options
        stream = {"source": source, "event_time": "t", "arrival_time": "t", "id": "id"}
        return declared_query(fields | {"streams": {"s": stream}}).structure()

    plain = structure()
    assert plain["streams.s.source.delimiter"] is plain["streams.s.source.decimal"] is None
    european = {"streams.s.source.delimiter": ";", "streams.s.source.decimal": ","}
    assert structure(delimiter=";", decimal=",") == plain | european
