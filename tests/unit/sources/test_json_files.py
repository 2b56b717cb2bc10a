"""Files of JSON lines: types, segments by bytes, and malformed lines, which alone go to quarantine."""

from __future__ import annotations

import errno
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from kit.parts.source_mappings import source_mapping, with_uses
from tailrace.ground.errors import Refused
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.check import check
from tailrace.sources.formats import json_files
from tailrace.sources.formats.file_format import OtherFiles
from tailrace.sources.formats.json_files import JsonFiles
from tailrace.sources.segments import RawSegment, Segment

FILES = JsonFiles()
COLUMNS = source_mapping("t", None, "id", "k", {"value": "v"})
TYPES = {"t": "int64", "id": "string", "v": "double"}
GOOD = b'{"t": 1, "id": "a", "v": 0.5}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "part.jsonl"


def read(path: Path, text: bytes, types: dict[str, str] = TYPES) -> RawSegment:
    path.write_bytes(text)
    (segment,) = FILES.split(path)
    raw = FILES.read(segment, types)
    assert raw.table.num_rows + len(raw.malformed) == segment.rows
    return raw


def test_lines_are_records(path: Path) -> None:
    raw = read(path, GOOD + b'{"v": 2, "t": 3, "id": "b", "more": {"x": [1]}}\n')
    assert raw.table.to_pydict() == {"t": [1, 3], "id": ["a", "b"], "v": [0.5, 2.0]}
    assert (raw.row.tolist(), raw.malformed) == ([0, 1], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"t": 1,', "broken JSON"),
        (b"", "broken JSON"),
        (b"   ", "broken JSON"),
        (b"hello", "broken JSON"),
        (b'{"t": 1}{"t": 2}', "broken JSON: Extra data"),
        (b"[1, 2]", "no JSON object"),
        (b"5", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b'{"t": "2020-01-01"}', "t is of the wrong type: str, not int64"),
        (b'{"t": 1.5}', "t is of the wrong type: float, not int64"),
        (b'{"t": true}', "t is of the wrong type: bool, not int64"),
        (b'{"id": 7}', "id is of the wrong type: int, not string"),
        (b'{"id": {"x": 1}}', "id is of the wrong type: dict, not string"),
        (b'{"v": "0.5"}', "v is of the wrong type: str, not double"),
        (b'{"v": false}', "v is of the wrong type: bool, not double"),
        (b'{"t": 99999999999999999999}', "t is an integer beyond 64 bits: 99999999999999999999"),
        (b'{"t": 9223372036854775808}', "t is an integer beyond 64 bits"),
        (b'{"v": 1e400}', "v is a number beyond 1.8e308, which no double holds"),
        (b'{"t": 1, "v": -1e400, "t": 2}', "it has the name t more than once"),
        (b'{"t": 1, "id": "a", "t": 2}', "it has the name t more than once"),
        (b'{"id": "\\ud800"}', "no UTF-8: half of a surrogate pair"),
        (b'\xef\xbb\xbf{"t": 1.5}', "t is of the wrong type"),
    ],
)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_malformed_line_does_not_affect_the_others(path: Path, line: bytes, reason: str, place: int) -> None:
    lines = [GOOD] * 4
    lines.insert(place, line + b"\n")
    raw = read(path, b"".join(lines))
    (broken,) = raw.malformed
    assert (broken.row, broken.record) == (place, line.decode())
    assert broken.reason.startswith(reason)
    assert raw.row.tolist() == [row for row in range(5) if row != place]


def test_a_file_of_malformed_lines_has_an_empty_table(path: Path) -> None:
    raw = read(path, b"x\n" * 7)
    assert ([fault.row for fault in raw.malformed], raw.table.num_rows) == (list(range(7)), 0)
    assert raw.table.schema.names == list(TYPES)


def test_a_missing_field_is_null(path: Path) -> None:
    assert read(path, b'{"t": 1}\n{}\n').table.to_pydict() == {"t": [1, None], "id": [None] * 2, "v": [None] * 2}


def test_an_integer_is_read_as_a_double_by_the_columns_type(path: Path) -> None:
    assert read(path, b'{"v": 7}\n').table["v"].to_pylist() == [7.0]


def test_text_is_utf_8(path: Path) -> None:
    raw = read(path, '{"id": "clé"}\n{"id": "\\u00e9"}\n{"id": "日本"}\nclé\n'.encode())
    assert raw.table["id"].to_pylist() == ["clé", "é", "日本"]
    assert raw.malformed[0].record == "clé"


def test_lines_may_end_with_a_carriage_return(path: Path) -> None:
    raw = read(path, b'{"id": "a"}\r\n{"id": "b"}\r\n')
    assert (raw.table["id"].to_pylist(), raw.malformed) == (["a", "b"], [])


def test_the_last_line_needs_no_newline(path: Path) -> None:
    assert read(path, b'{"id": "a"}\n{"id": "b"}').table["id"].to_pylist() == ["a", "b"]


def test_an_empty_file_has_no_records(path: Path) -> None:
    path.write_bytes(b"")
    assert FILES.split(path) == []


def test_records_are_the_text_of_their_lines(path: Path) -> None:
    path.write_bytes('{"id":  "é"}\nbad\n'.encode() + b"\xff\n")
    (segment,) = FILES.split(path)
    assert FILES.records(segment, [2, 0]) == ["\ufffd", '{"id":  "é"}']


LINES = [GOOD.strip(), b"x", b"", GOOD.strip() + b" " * 70, "clé".encode(), b"null"]


@pytest.mark.parametrize("block", [1, 7, 40, 90, 1000])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_a_file_is_split_by_bytes_at_line_ends_without_losing_a_record(path, monkeypatch, block, end) -> None:
    text = b"\n".join(LINES * 3) + end
    path.write_bytes(text)
    whole = Segment(str(path), 0, 3 * len(LINES) + (end == b"\n\n"))
    monkeypatch.setattr(json_files, "BYTES_PER_SEGMENT", block)
    parts = FILES.split(path)
    assert [(part.first_row, part.of_rows) for part in parts] == [
        (sum(part.rows for part in parts[:number]), whole.rows) for number in range(len(parts))
    ]
    assert [part.block_start for part in parts] == [0, *[part.block_end for part in parts[:-1]]]
    assert parts[-1].block_end == len(text)
    assert all(text[: part.block_start].count(b"\n") == part.first_row for part in parts)
    longest = max(map(len, LINES)) + 1
    assert all(part.block_end - part.block_start <= 2 * block + longest for part in parts)
    assert [line for part in parts for line in FILES.records(part, range(part.rows))] == FILES.records(
        whole, range(whole.rows)
    )


@pytest.mark.parametrize("block", [40, 1000])
@pytest.mark.parametrize("first", range(4))
def test_a_part_of_a_segment_is_read_by_its_rows(path, monkeypatch, block, first) -> None:
    path.write_bytes(b"".join(b'{"t": %d, "id": "a", "v": 0.5}\n' % line for line in range(7)))
    monkeypatch.setattr(json_files, "BYTES_PER_SEGMENT", block)
    for part in FILES.split(path):
        rest = replace(part, first_row=part.first_row + first, rows=max(part.rows - first, 0))
        times = FILES.read(rest, TYPES).table["t"].to_pylist()
        assert times == list(range(rest.first_row, rest.first_row + rest.rows))


class Counting(io.FileIO):
    """A file that records the number of bytes of each read."""

    sizes: ClassVar[list[int]] = []

    def read(self, size: int = -1) -> bytes:
        data = super().read(size)
        self.sizes.append(len(data))
        return data


def test_reading_a_segment_reads_only_its_bytes(path, monkeypatch) -> None:
    path.write_bytes(GOOD * 1000)
    monkeypatch.setattr(json_files, "BYTES_PER_SEGMENT", 10 * len(GOOD))
    parts = FILES.split(path)

    def counting(file: Path, mode: str) -> Counting:
        return Counting(file, mode)

    monkeypatch.setattr(Path, "open", counting)
    assert FILES.read(parts[50], TYPES).table.num_rows == 10
    assert Counting.sizes == [10 * len(GOOD)]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (b"", True),
        (GOOD, True),
        (GOOD.strip(), True),
        (GOOD + GOOD[:9], False),
        (GOOD[:9], False),
        (GOOD + b"x\n", True),
        (b"[" * 100_000, False),
        (GOOD + b'{"t": "' + b"x" * 100_000 + b'"}', True),
        (GOOD + b'{"t": "' + b"x" * 100_000 + b'"', False),
    ],
)
def test_a_file_is_complete_when_it_is_unchanged_and_its_last_line_is_complete(path, text, whole) -> None:
    path.write_bytes(text)
    assert FILES.whole(path, still=True) is whole
    assert FILES.whole(path, still=False) is False


def types(path: Path, text: str) -> dict[str, str] | None:
    path.write_text(text)
    return FILES.types(path, COLUMNS)


def test_a_segment_is_any_range_of_lines(path: Path) -> None:
    path.write_bytes(b"".join(b'{"t": %d, "id": "a", "v": 0.5}\n' % line for line in range(5)) + b"x\n")
    segment = Segment(str(path), 2, 4)
    raw = FILES.read(segment, TYPES)
    assert raw.table["t"].to_pylist() == [2, 3, 4]
    assert (raw.row.tolist(), [(broken.row, broken.record) for broken in raw.malformed]) == ([0, 1, 2], [(3, "x")])
    assert FILES.records(segment, [1, 3]) == ['{"t": 3, "id": "a", "v": 0.5}', "x"]


def test_types_come_from_the_first_record_with_a_value_in_every_column(path: Path) -> None:
    column_types = types(
        path, '{"t": 1}\nbad\n[1]\n{"t": "2020-01-01", "id": 7, "k": "a", "v": 1}\n{"t": 5, "id": "x"}\n'
    )
    assert column_types == {"t": "text without zone", "id": "int64", "k": "string", "v": "double"}


def test_times_of_another_type_than_the_first_go_to_quarantine(path: Path) -> None:
    column_types = types(
        path, '{"t": 1, "id": "a", "k": "a", "v": 1}\n{"t": "2020-01-01", "id": "b", "k": "a", "v": 1}\n'
    )
    (segment,) = FILES.split(path)
    raw = FILES.read(segment, column_types)
    assert (raw.row.tolist(), raw.malformed[0].reason) == ([0], "t is of the wrong type: str, not int64")


@pytest.mark.parametrize("text", ["", "\n", "bad\n", "[1]\n5\n"])
def test_a_file_without_records_has_no_types(path: Path, text: str) -> None:
    assert types(path, text) is None


def test_a_column_that_no_record_has_is_refused(path: Path) -> None:
    with pytest.raises(Refused, match="no column 'k', which the query names as key"):
        types(path, '{"t": 1, "id": "a", "v": 1}\n')


@pytest.mark.parametrize(
    "record",
    [
        '{"t": 1.5, "id": "a", "k": "a", "v": 1}',
        '{"t": 1, "id": true, "k": "a", "v": 1}',
        '{"t": 1, "id": "a", "k": 1.5, "v": 1}',
        '{"t": 1, "id": "a", "k": "a", "v": "1"}',
        '{"t": 1, "id": "a", "k": "a", "v": null}',
    ],
)
def test_a_record_whose_values_do_not_fit_shows_no_types(path: Path, record: str) -> None:
    assert types(path, record) is None


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(Refused, match=r"it can't be read[\s\S]*that is there"):
        FILES.split(path)


def test_an_io_error_is_raised_and_is_no_refusal_of_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, mode: str) -> None:
        raise PermissionError(errno.EACCES, "not now")

    path.write_bytes(GOOD)
    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(PermissionError, match="not now"):
        FILES.split(path)


@pytest.mark.parametrize("lines", [b'{"id": "a"}{"id": "b"}\n\n', b'{"id":\n"a"}{"id": "b"}\n'], ids=["empty", "split"])
def test_two_records_on_a_line_are_malformed_beside_an_empty_or_split_line_too(path: Path, lines: bytes) -> None:
    assert [fault.row for fault in read(path, lines).malformed] == [0, 1]


@pytest.mark.needs("process")
def test_a_file_of_one_line_null_has_no_record(path: Path) -> None:
    path.write_bytes(b"null\n")
    script = (
        "from pathlib import Path; from tailrace.sources.formats.json_files import JsonFiles as J; import sys;"
        "f = J(); raw = f.read(f.split(Path(sys.argv[1]))[0], {'id': 'string'}); assert len(raw.malformed) == 1"
    )
    package_root = str(Path(sys.modules["tailrace"].__path__[0]).parent)
    environment = {"PYTHONPATH": package_root}
    subprocess.run([sys.executable, "-c", script, str(path)], env=environment, check=True, cwd=path.parent)


def test_a_line_null_after_a_record_is_malformed(path: Path) -> None:
    assert [fault.row for fault in read(path, GOOD + b"null\n").malformed] == [1]


def test_a_deeply_nested_line_goes_to_quarantine(path: Path) -> None:
    assert [fault.row for fault in read(path, GOOD + b"[" * 100_000 + b"\n").malformed] == [1]


@pytest.mark.parametrize("name", ["t", "id"])
def test_text_that_is_not_utf_8_goes_to_quarantine(path: Path, name: str) -> None:
    raw = read(path, b'{"%s": "2020-\xff"}\n' % name.encode(), {"t": "string", "id": "string"})
    columns = source_mapping("t", None, "id", None)
    check(raw.table, columns, np.arange(raw.table.num_rows), ColumnTypes(), 0)
    assert raw.table.to_pylist() == []


SHAPES = with_uses(COLUMNS, key=None, values={"shape": "v"}, types={"shape": pa.list_(pa.float64())})


def test_lists_of_numbers_are_values(path: Path) -> None:
    path.write_bytes(b'{"t": 1, "id": "a", "v": 3}\n{"t": 1, "id": "a", "v": [1, 2.5]}\n')
    types = FILES.types(path, SHAPES)
    assert types == {"t": "int64", "id": "string", "v": "list<double>"}
    raw = read(path, b'{"t": 1, "id": "a", "v": [1, 2.5]}\n{"t": 2, "id": "b", "v": []}\n', types)
    assert raw.table.column("v").to_pylist() == [[1.0, 2.5], []]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'[1, "x"]', "v holds what is no number"),
        (b"[true]", "v holds what is no number"),
        (b"[0, 1e400]", "v is a number beyond 1.8e308, which no double holds"),
        (b"3", "v is of the wrong type: int, not list<double>"),
    ],
)
def test_a_list_of_anything_else_is_quarantined(path: Path, value: bytes, reason: str) -> None:
    raw = read(path, b'{"t": 1, "id": "a", "v": ' + value + b"}\n", {"t": "int64", "id": "string", "v": "list<double>"})
    assert [(malformed.row, malformed.reason) for malformed in raw.malformed] == [(0, reason)]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_text_is_a_value(path: Path, kind: pa.DataType) -> None:
    path.write_bytes(b'{"t": 1, "id": "a", "v": "POINT (1 2)"}\n')
    assert FILES.types(path, with_uses(SHAPES, types={"shape": kind}))["v"] == "string"


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("places", [[0], [1], [0, 2], [0, 1, 2, 3]])
def test_a_byte_order_mark_before_a_record_is_no_part_of_it(path: Path, places: list[int]) -> None:
    lines = [BOM + GOOD if place in places else GOOD for place in range(4)]
    raw = read(path, b"".join(lines))
    assert (raw.malformed, raw.row.tolist(), raw.table["v"].to_pylist()) == ([], [0, 1, 2, 3], [0.5] * 4)
    assert FILES.types(path, replace(COLUMNS, key=None)) is not None
    path.write_bytes(BOM + GOOD.strip())
    assert FILES.whole(path, still=True)


EXACT = JsonFiles(exact=frozenset({"v"}))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64 + 1, 10**23, 10**400])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_an_integer_that_a_double_rounds_is_malformed_where_it_is_to_be_given_back(path, value, place) -> None:
    lines = [GOOD] * 3
    lines.insert(place, b'{"t": 1, "id": "a", "v": %d}\n' % value)
    path.write_bytes(b"".join(lines))
    (segment,) = FILES.split(path)
    types = {"t": "int64", "id": "string", "v": "double"}
    raw = EXACT.read(segment, types)
    (fault,) = raw.malformed
    assert fault.row == place
    assert fault.reason.startswith("v is an integer that a double does not hold: ")
    assert json.loads(fault.record)["v"] == value
    assert raw.row.tolist() == [row for row in range(4) if row != place]
    assert raw.table["v"].to_pylist() == [0.5] * 3


@pytest.mark.parametrize("deep", [b"[" * 100_000 + b"]" * 100_000, b"9" * 5000], ids=["nested", "long"])
def test_a_record_that_python_cant_read_stops_none_where_numbers_are_to_be_given_back(path: Path, deep: bytes) -> None:
    path.write_bytes(GOOD + b'{"t": 1, "id": "a", "v": 9007199254740993, "more": ' + deep + b"}\n" + GOOD)
    (segment,) = FILES.split(path)
    raw = EXACT.read(segment, {"t": "int64", "id": "string", "v": "double"})
    assert [fault.row for fault in raw.malformed] == [1]
    path.write_bytes(GOOD + b'{"t": 1, "id": "a", "v": ' + b"9" * 5000 + b"}\n" + GOOD)
    (segment,) = FILES.split(path)
    raw = EXACT.read(segment, {"t": "int64", "id": "string", "v": "double"})
    assert [fault.row for fault in raw.malformed] == [1]


def test_integers_that_doubles_have_and_numbers_that_are_no_integers_are_given_back(path: Path) -> None:
    values = [2**53, 2**60, -(2**62), 1e300, 9007199254740993.0, 1.5]
    path.write_text("".join(f'{{"t": 1, "id": "a", "v": {value}}}\n' for value in values))
    (segment,) = FILES.split(path)
    raw = EXACT.read(segment, {"t": "int64", "id": "string", "v": "double"})
    assert (raw.malformed, raw.table["v"].to_pylist()) == ([], values)
    path.write_text('{"t": 1, "id": "a", "v": 9007199254740993}\n')
    (segment,) = FILES.split(path)
    assert FILES.read(segment, {"t": "int64", "id": "string", "v": "double"}).malformed == [], (
        "computed with in doubles"
    )


RECORD = b'{"t": 1, "id": "a", "v": 2}'
WITHOUT_KEY = replace(COLUMNS, key=None)
LISTS = [b"[" + RECORD + b"]", b"[\n " + RECORD + b"\n]\n", b"\xef\xbb\xbf\n\n[\n" + RECORD + b",\n" + RECORD + b"\n]"]


@pytest.mark.parametrize("text", LISTS)
def test_a_list_of_records_is_no_lines_of_records(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a b.json"
    path.write_bytes(text)
    with pytest.raises(Refused) as refused:
        JsonFiles().types(path, WITHOUT_KEY)
    (problem,) = refused.value.problems
    assert problem.where == str(path)
    assert problem.fault == "it is one JSON list, and records are read line by line"
    assert problem.remedy == f"one object a line, as by: jq -c '.[]' '{path}' > 'a b.jsonl'"
    assert JsonFiles().whole(path, still=True), "a live run refuses it, and does not wait for its last line"


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_objects_over_several_lines_are_named(tmp_path: Path, line_end: bytes) -> None:
    path = tmp_path / "a b.json"
    path.write_bytes(line_end.join([b"", b"{ ", b' "t": 1', b"}", b"{", b' "t": 2', b"}", b""]))
    with pytest.raises(Refused, match="its objects stand over several lines") as refused:
        JsonFiles().types(path, WITHOUT_KEY)
    (problem,) = refused.value.problems
    assert problem.remedy == f"one object a line, as by: jq -c . '{path}' > 'a b.jsonl'"
    path.write_bytes(b"{}\n" + RECORD + b"\n")
    assert JsonFiles().types(path, WITHOUT_KEY) is not None


def test_a_list_among_lines_is_a_malformed_record(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[1, 2]\n" + RECORD + b"\n")
    assert JsonFiles().types(path, WITHOUT_KEY) is not None
    path.write_bytes(LISTS[1])
    before = OtherFiles({"t": "int64"})
    assert JsonFiles().types(path, WITHOUT_KEY, before) is not None, "of a later file each line is quarantined alone"


def test_carriage_returns_alone_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(RECORD + b"\r" + RECORD + b"\r")
    with pytest.raises(Refused, match="carriage returns alone"):
        JsonFiles().types(path, WITHOUT_KEY)
