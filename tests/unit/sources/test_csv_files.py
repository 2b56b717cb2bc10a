"""Files of CSV: records, types, segments by bytes, and malformed records, which alone go to quarantine."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kit.parts.source_mappings import source_mapping, with_uses
from tailrace.expressions.projection import Projection
from tailrace.ground.errors import Refused
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats import csv_files, csv_records
from tailrace.sources.formats.csv_files import CsvFiles
from tailrace.sources.formats.csv_types import shown_types
from tailrace.sources.formats.file_format import OtherFiles
from tailrace.sources.segments import RawSegment, Segment

FILES = CsvFiles()
COLUMNS = source_mapping("t", None, "id", "k", {"value": "v"})
TYPES = {"t": "int64", "id": "string", "v": "double"}
HEADER = b"t,id,v\n"
GOOD = b"1,a,0.5\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "part.csv"


def read(path: Path, text: bytes, types: dict[str, str] = TYPES) -> RawSegment:
    path.write_bytes(text)
    (segment,) = FILES.split(path)
    raw = FILES.read(segment, types)
    assert raw.table.num_rows + len(raw.malformed) == segment.rows
    return raw


def test_records_are_read_by_the_names_of_their_columns_in_any_order(path: Path) -> None:
    raw = read(path, b"more,v,id,t\nx,0.5,a,1\n,2,b,3\n")
    assert raw.table.to_pydict() == {"t": [1, 3], "id": ["a", "b"], "v": [0.5, 2.0]}
    assert (raw.row.tolist(), raw.malformed) == ([0, 1], [])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"1,a", "2 fields, and the header has 3"),
        (b"", "an empty line"),
        (b"1,a,2,3", "4 fields, and the header has 3"),
        (b'1,"a,2', "broken CSV: a quote that is not closed"),
        (b'1,"a"b,2', "broken CSV"),
        (b"1,a\rb,2", "broken CSV"),
        (b"x,a,2", "t is no integer of at most 18 digits: 'x'"),
        (b"1.5,a,2", "t is no integer"),
        (b"007,a,2", "t is no integer"),
        (b"99999999999999999999,a,2", "t is no integer"),
        (b"1,a,high", "v is no number: 'high'"),
        (b"1,a,0x10", "v is no number"),
        (b"1,\xff,2", "no UTF-8"),
    ],
)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_malformed_record_does_not_affect_the_others(path: Path, record: bytes, reason: str, place: int) -> None:
    records = [GOOD] * 4
    records.insert(place, record + b"\n")
    raw = read(path, HEADER + b"".join(records))
    (broken,) = raw.malformed
    assert (broken.row, broken.record) == (place, record.decode(errors="replace"))
    assert broken.reason.startswith(reason)
    assert raw.row.tolist() == [row for row in range(5) if row != place]
    assert raw.table.to_pylist() == [{"t": 1, "id": "a", "v": 0.5}] * 4


def test_a_quote_that_is_not_closed_spoils_its_line_alone_though_later_ones_have_quotes(path: Path) -> None:
    raw = read(path, HEADER + b'1,"a,1\n2,"b",2\n3,"c\nd",3\n')
    assert raw.table["id"].to_pylist() == ["b", "c\nd"]
    assert [fault.record for fault in raw.malformed] == ['1,"a,1']


def test_quoted_fields_hold_newlines_commas_and_quotes(path: Path) -> None:
    raw = read(path, HEADER + b'1,"a\nb,c ""d""\r\ne",2\n2,say "x",3\n')
    assert raw.table["id"].to_pylist() == ['a\nb,c "d"\r\ne', 'say "x"']


def test_positions_count_records_and_not_lines(path: Path) -> None:
    raw = read(path, HEADER + b'1,"a\n\nb",2\nx\n3,"c\nd",y\n5,e,6\n')
    assert ([fault.row for fault in raw.malformed], raw.row.tolist()) == ([1, 2], [0, 3])
    assert [fault.record for fault in raw.malformed] == ["x", '3,"c\nd",y']


def test_a_file_of_malformed_records_has_an_empty_table(path: Path) -> None:
    raw = read(path, HEADER + b"x\n" * 7)
    assert ([fault.row for fault in raw.malformed], raw.table.num_rows) == (list(range(7)), 0)
    assert raw.table.schema == pa.schema([("t", pa.int64()), ("id", pa.string()), ("v", pa.float64())])


def test_an_empty_field_is_null(path: Path) -> None:
    raw = read(path, HEADER + b',,\n1,"",2\n')
    assert raw.table.to_pydict() == {"t": [None, 1], "id": [None, None], "v": [None, 2.0]}


def test_words_for_nothing_are_texts_and_nan_is_a_number(path: Path) -> None:
    raw = read(path, HEADER + b"1,NA,nan\n2,null,-inf\n")
    assert raw.table["id"].to_pylist() == ["NA", "null"]
    assert [str(value) for value in raw.table["v"].to_pylist()] == ["nan", "-inf"]


def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_a_value(path: Path) -> None:
    raw = read(path, b"\xef\xbb\xbft,id,v\r\n1,a,2\r\n3,b,4\r\n")
    assert raw.table.to_pydict() == {"t": [1, 3], "id": ["a", "b"], "v": [2.0, 4.0]}


def test_the_last_record_needs_no_newline(path: Path) -> None:
    assert read(path, HEADER + b"1,a,2\n3,b,4").table["id"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("text", [b"", HEADER, HEADER.strip(), b"\xef\xbb\xbf" + HEADER])
def test_an_empty_file_and_a_header_alone_have_no_records_and_no_types(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    assert (FILES.split(path), FILES.types(path, replace(COLUMNS, key=None))) == ([], None)


def test_a_file_cut_in_half_has_the_records_before_the_cut_and_one_that_is_none(path: Path) -> None:
    whole = HEADER + b'1,"a",0.5\n' * 100
    raw = read(path, whole[: len(HEADER) + 503])
    assert (raw.table.num_rows, [fault.record for fault in raw.malformed]) == (50, ['1,"'])


RECORDS = [GOOD.strip(), b"x", b'1,"b\nb",2', b"", b'1,"a,2', b"1,c,2", b'"1","' + b"d" * 70 + b'",2']


@pytest.mark.parametrize("block", [1, 7, 40, 90, 1000])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_file_is_split_by_bytes_at_the_ends_of_records_without_losing_one(path, monkeypatch, block, end) -> None:
    path.write_bytes(HEADER + b"\n".join(RECORDS * 3) + end)
    whole = Segment(str(path), 0, 3 * len(RECORDS))
    monkeypatch.setattr(csv_files, "BYTES_PER_SEGMENT", block)
    parts = FILES.split(path)
    assert [(part.first_row, part.of_rows) for part in parts] == [
        (sum(part.rows for part in parts[:number]), whole.rows) for number in range(len(parts))
    ]
    assert [part.block_start for part in parts] == [len(HEADER), *[part.block_end for part in parts[:-1]]]
    lines = [line for part in parts for line in FILES.records(part, range(part.rows))]
    assert lines == [record.decode() for record in RECORDS * 3]
    raws = [FILES.read(part, TYPES) for part in parts]
    assert [id for raw in raws for id in raw.table["id"].to_pylist()] == ["a", "b\nb", "c", "d" * 70] * 3


@pytest.mark.parametrize("block", [40, 1000])
@pytest.mark.parametrize("first", range(4))
def test_a_part_of_a_segment_is_read_by_its_rows(path, monkeypatch, block, first) -> None:
    path.write_bytes(HEADER + b"".join(b"%d,a,0.5\n" % line for line in range(7)))
    monkeypatch.setattr(csv_files, "BYTES_PER_SEGMENT", block)
    for part in FILES.split(path):
        rest = replace(part, first_row=part.first_row + first, rows=max(part.rows - first, 0))
        assert FILES.read(rest, TYPES).table["t"].to_pylist() == list(range(rest.first_row, rest.first_row + rest.rows))


def test_a_record_that_is_too_long_is_not_well_formed(path, monkeypatch) -> None:
    monkeypatch.setattr(csv_records, "LONGEST_BYTES", 20)
    raw = read(path, HEADER + b'1,"' + b"a" * 30 + b'",2\n' + GOOD)
    assert ([fault.row for fault in raw.malformed], raw.row.tolist()) == ([0], [1])


@pytest.mark.parametrize(
    ("text", "whole"), [(b"", True), (HEADER, True), (HEADER + GOOD, True), (HEADER + GOOD[:-1], False), (b"t,", False)]
)
def test_a_file_is_complete_when_it_is_unchanged_and_ends_with_a_newline(path, text, whole) -> None:
    path.write_bytes(text)
    assert FILES.whole(path, still=True) is whole
    assert FILES.whole(path, still=False) is False


def types(path: Path, text: str, columns: SourceMapping = COLUMNS) -> dict[str, str] | None:
    path.write_text(text)
    return FILES.types(path, columns)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("1,7,a,0.5\n", ("int64", "string", "string", "double")),
        ("2020-01-01T00:00:00Z,x,3,1\n", ("text with zone", "string", "string", "double")),
        ("1,007,a,1\n", ("int64", "string", "string", "double")),
        ("1,7,a,1\n2,x,b,2\n", ("int64", "string", "string", "double")),
        ("oops,7,a,1\n5,8,b,2\n", ("int64", "string", "string", "double")),
        (",,,\n5,8,b,2\n", ("int64", "string", "string", "double")),
        ("1,7,,1\n", ("int64", "string", "null", "double")),
    ],
)
def test_types_come_from_the_values_of_records(path: Path, text: str, kinds: tuple[str, ...]) -> None:
    assert types(path, "t,id,k,v\n" + text) == dict(zip(("t", "id", "k", "v"), kinds, strict=True))


@pytest.mark.parametrize("text", ["x,7,a,1\n", "1,,a,1\n", "1,7,a,high\n", "bad\n"])
def test_records_whose_values_do_not_fit_show_no_types(path: Path, text: str) -> None:
    assert types(path, "t,id,k,v\n" + text) is None


def test_carried_columns_have_the_narrowest_type_that_has_all_values(path: Path) -> None:
    carried = with_uses(COLUMNS, carried={name: name for name in ("flag", "count", "rate", "note")})
    found = types(path, "t,id,k,v,flag,count,rate,note\n1,a,b,1,true,1,1,1\n2,a,b,1,FALSE,,2.5,x\n", carried)
    assert found is not None
    assert [found[name] for name in ("flag", "count", "rate", "note")] == ["bool", "int64", "double", "string"]
    found = types(path, "t,id,k,v,flag,count,rate,note\n1,a,b,1,true,1,1,\n", carried)
    assert found is not None
    assert found["note"] == "null", "no text tells its type"


def test_ids_and_keys_are_texts_whatever_the_first_megabyte_holds(path: Path) -> None:
    columns = with_uses(COLUMNS, values={})
    integers = "".join(f"1,{line},8\n" for line in range(10**12, 10**12 + 60_000))
    kinds = types(path, "t,id,k\n" + integers + "5,u1,k1\n", columns)
    assert kinds == {"t": "int64", "id": "string", "k": "string"}
    (last,) = FILES.split(path)
    assert FILES.read(last, kinds).malformed == []


def test_types_are_looked_for_beyond_the_first_sample(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    assert types(path, "t,id,k,v\n" + ",,,\n" * 100 + "1,a,b,2\n") == {
        "t": "int64",
        "id": "string",
        "k": "string",
        "v": "double",
    }


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        ("t,id,v", "no column 'k', which the query names as key"),
        ("t,id,k,v,v", "the column v more than once"),
        ('t,"id,k,v', "its header can't be read"),
        ("", "its first line is empty"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(path: Path, header: str, wrong: str) -> None:
    with pytest.raises(Refused, match=wrong):
        types(path, f"{header}\n1,a,b,2\n")


def test_lists_are_refused(path: Path) -> None:
    shapes = with_uses(COLUMNS, key=None, values={"shape": "v"}, types={"shape": pa.list_(pa.float64())})
    with pytest.raises(Refused, match="CSV has no lists"):
        types(path, "t,id,v\n1,a,2\n", shapes)


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_text_is_a_value(path: Path, kind: pa.DataType) -> None:
    found = types(
        path, 't,id,v\n1,a,"POINT (1 2)"\n', with_uses(COLUMNS, key=None, values={"g": "v"}, types={"g": kind})
    )
    assert found is not None
    assert found["v"] == "string"


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(Refused, match=r"it can't be read[\s\S]*that is there"):
        FILES.split(path)


def test_an_io_error_is_raised_and_is_no_refusal_of_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, mode: str) -> None:
        raise PermissionError(errno.EACCES, "not now")

    path.write_bytes(b"t,id\n")
    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(PermissionError, match="not now"):
        FILES.split(path)


def shown(path: Path, *texts: str) -> str:
    """The type of a carried column with these texts."""
    found = types(path, "t,id,k,v,more\n" + "".join(f'1,a,b,1,"{text}"\n' for text in texts), MORE)
    assert found is not None
    return found["more"]


MORE = with_uses(COLUMNS, carried={"left_more": "more"})


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["true", "FALSE", ""], "bool"),
        (["true", "1"], "string"),
        (["0", "-7", "999999999999999999"], "int64"),
        (["06037", "94110"], "string"),
        (["+12135550100"], "string"),
        (["-0"], "double"),
        (["1", "2.50", "-.5", "1e-7"], "double"),
        (["0.30000000000000004", "123456789012345678.5"], "string"),
        (["0.30000000000000004", "1.7976931348623157e308", "5e-324", "9007199254740992"], "double"),
        (["1234567890123456789"], "string"),
        (["9007199254740993"], "int64"),
        (["9007199254740993", "0.5"], "string"),
        (["0.1234567890123456789"], "string"),
        (["1e999"], "string"),
        (["1e-999"], "string"),
        (["1e99999999999999999999"], "string"),
        (["9" * 5000], "string"),
        (["007.5"], "string"),
        (["1.5", "NaN"], "string"),
        ([" 1.5"], "string"),
        (["2020-01-01"], "string"),
    ],
)
def test_a_carried_column_is_text_unless_all_of_its_texts_come_back_from_another_type(path, texts, kind) -> None:
    assert shown(path, *texts) == kind


@pytest.mark.parametrize("text", ["06037.5", "+1", "9007199254740993", "1e999", "NaN", " 1", "1234567890123456789"])
def test_a_later_number_that_a_double_does_not_give_back_is_malformed_where_it_is_carried(path, text) -> None:
    path.write_text(f"t,id,v\n1,a,0.5\n1,a,{text}\n1,a,12.50\n")
    (segment,) = FILES.split(path)
    raw = replace(FILES, exact=frozenset({"v"})).read(segment, TYPES)
    (fault,) = raw.malformed
    assert (fault.row, raw.table["v"].to_pylist()) == (1, [0.5, 12.5])
    number = "number" if text == "+1" else "number that a double gives back as it is"
    assert fault.reason == f"v is no {number}: {text!r}"
    assert len(FILES.read(segment, TYPES).malformed) == (text == "+1"), "doubles to compute with are as they were"


def test_types_of_a_column_without_a_text_are_looked_for_beyond_the_first_sample(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    found = types(path, "t,id,k,v,more\n" + "1,a,b,2,\n" * 100 + "1,a,b,2,7\n", MORE)
    assert found is not None
    assert found["more"] == "int64"


def test_a_column_that_was_of_doubles_is_text_in_a_file_of_which_no_text_comes_back(path: Path) -> None:
    path.write_text("t,id,k,v,more\n1,a,b,1,06037\n")
    before = {"t": "int64", "id": "string", "k": "string", "v": "double", "more": "double"}
    assert (FILES.types(path, MORE, OtherFiles(before)) or {})["more"] == "string"


@pytest.mark.parametrize(
    ("texts", "kind", "malformed"),
    [
        (["1", "9007199254740993", "x", ""], "int64", ["x"]),
        (["1", "2.5", "9007199254740993", "x"], "double", ["9007199254740993", "x"]),
        (["x", ""], None, []),
    ],
)
def test_a_number_of_the_kind_that_is_carried_too_has_its_own_type_by_its_numbers(path, texts, kind, malformed) -> None:
    path.write_text("t,id,k,v\n" + "".join(f"1,a,b,{text}\n" for text in texts))
    for columns in (
        with_uses(COLUMNS, carried={"selected_v": "v"}),
        replace(COLUMNS, projection=Projection.parse({}, "v > 0")),
    ):
        found = FILES.types(path, columns)
        assert (found or {}).get("v") == kind
        if found is not None:
            raw = FILES.at(None, columns.exact).read(FILES.split(path)[0], found)
            assert [texts[fault.row] for fault in raw.malformed] == malformed


@pytest.mark.parametrize("other", [{"carried": {"own": "v"}}, {"projection": Projection.parse({}, "v > 0")}], ids=list)
@pytest.mark.parametrize(("texts", "kind"), [(["1", "9007199254740993"], "int64"), (["1", "2.5"], "double")])
def test_a_number_of_the_kind_that_is_read_otherwise_too_has_its_own_type(texts, kind, other):
    """As a double, 9007199254740993 would equal 9007199254740992 in a condition."""
    sample = pa.table({name: pa.chunked_array([[text] * 2]) for name, text in (("t", "1"), ("id", "a"), ("k", "b"))})
    sample = sample.append_column("v", pa.chunked_array([texts]))
    assert shown_types(sample, with_uses(COLUMNS, **other), {})["v"] == kind
