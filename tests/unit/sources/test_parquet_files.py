"""Parquet files: column types, segments by row groups, records as text."""

from __future__ import annotations

import errno
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.parts.source_mappings import source_mapping, with_uses
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused
from tailrace.query.declared import declared_query
from tailrace.sources.formats import parquet_files
from tailrace.sources.formats.file_format import OtherFiles
from tailrace.sources.formats.parquet_files import ParquetFiles
from tailrace.sources.segments import Segment

NOW = 1_577_836_800_000
COLUMNS = source_mapping("event", "came", "name", "sensor", {"value": "speed"})
FILES = ParquetFiles()


def table(rows: int = 2, **replaced: pa.Array) -> pa.Table:
    good = {
        "event": pa.array([NOW] * rows),
        "came": pa.array([NOW * 1000] * rows, pa.timestamp("us", "UTC")),
        "name": pa.array([f"n{i}" for i in range(rows)]),
        "sensor": pa.array(["s"] * rows),
        "speed": pa.array([float(i) for i in range(rows)]),
    }
    return pa.table(good | replaced)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "part.parquet"


def refusal(path: Path) -> str:
    with pytest.raises(Refused) as error_info:
        FILES.types(path, COLUMNS)
    return str(error_info.value)


def test_types_are_those_of_the_querys_columns(path: Path) -> None:
    pq.write_table(table(other=pa.array([1, 2])), path)
    assert FILES.types(path, COLUMNS) == {
        "event": "int64",
        "came": "timestamp[us, tz=UTC]",
        "name": "string",
        "sensor": "string",
        "speed": "double",
    }


TIME, NAME, NUMBER = "epoch milliseconds", "a string or an integer up to int64", "an integer, float or decimal"
KEY = "a string, an integer up to int64, a boolean, a date or a timestamp"


@pytest.mark.parametrize(
    ("name", "values", "right"),
    [
        ("event", pa.array(["2020-01-01"] * 2), TIME),
        ("event", pa.array([1.5, 2.5]), TIME),
        ("event", pa.array([1, 2], pa.int32()), TIME),
        ("event", pa.array([1, 2], pa.date32()), TIME),
        ("came", pa.array([True, False]), TIME),
        ("name", pa.array([1.5, 2.5]), NAME),
        ("name", pa.array([1, 2], pa.uint64()), NAME),
        ("sensor", pa.array([b"a", b"b"]), KEY),
        ("sensor", pa.array([{"x": "a"}, {"x": "b"}]), KEY),
        ("speed", pa.array(["1", "2"]), NUMBER),
        ("speed", pa.array([True, False]), NUMBER),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else value[:9],
)
def test_a_type_that_no_tuple_can_come_from_is_refused(path: Path, name: str, values: pa.Array, right: str) -> None:
    pq.write_table(table(**{name: values}), path)
    message = refusal(path)
    assert f"column {name}" in message
    assert f"its type is {values.type}" in message
    assert right in message


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("event", pa.array([1, 2], pa.timestamp("ns"))),
        ("name", pa.array([1, 2], pa.uint32())),
        ("name", pa.array(["a", "b"], pa.large_string())),
        ("name", pa.array(["a", "b"], pa.string_view())),  # as a merge by deltalake writes it
        ("sensor", pa.array(["a", "b"]).dictionary_encode()),
        ("speed", pa.array([1, 2], pa.uint64())),
        ("speed", pa.array([1, 2], pa.decimal128(10, 2))),
    ],
    ids=lambda value: str(value.type)[:10] if isinstance(value, pa.Array) else value,
)
def test_a_fitting_type_is_accepted(path: Path, name: str, values: pa.Array) -> None:
    pq.write_table(table(**{name: values}), path)
    assert name in FILES.types(path, COLUMNS)


CARRIED = with_uses(COLUMNS, carried={"left_more": "more", "left_speed": "speed"})


def test_a_carried_column_may_have_many_types_and_may_be_a_value_too(path: Path) -> None:
    for values in (pa.array([1, None], pa.uint32()), pa.array(["a", "b"]).dictionary_encode(), pa.array([True, False])):
        pq.write_table(table(more=values), path)
        types = FILES.types(path, CARRIED)
        value_type = getattr(values.type, "value_type", values.type)
        assert (types["more"], types["speed"]) == (str(value_type), "double")
        (segment,) = FILES.split(path)
        assert FILES.read(segment, types).table["more"].to_pylist() == values.to_pylist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2]]),
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([[("x", 1)], []], pa.map_(pa.string(), pa.int64())),
        pa.array([b"a", b"b"]),
        pa.array([1, 2], pa.uint64()),
        pa.array([1, 2], pa.time32("s")),
    ],
    ids=lambda values: str(values.type)[:9],
)
def test_a_column_that_cant_be_carried_is_refused(path: Path, values: pa.Array) -> None:
    pq.write_table(table(more=values), path)
    with pytest.raises(Refused) as error_info:
        FILES.types(path, CARRIED)
    (problem,) = error_info.value.problems
    assert problem.where == f"{path}: column more"
    assert (
        problem.fault == f"its type is {pq.read_schema(path).field('more').type}, but answers can't have such a column"
    )
    assert "an integer up to int64" in problem.remedy


def test_a_carried_column_that_is_missing_is_refused(path: Path) -> None:
    pq.write_table(table(), path)
    with pytest.raises(Refused, match="no column 'more', which the query names as left_more"):
        FILES.types(path, CARRIED)


def test_a_missing_column_is_refused_with_its_role_and_the_columns_of_the_file(path: Path) -> None:
    pq.write_table(table().drop_columns(["sensor"]), path)
    message = refusal(path)
    assert "no column 'sensor', which the query names as key" in message
    assert "one of came, event, name, speed" in message


@pytest.mark.parametrize("keep", [0, 3, 200, -1])
def test_a_truncated_file_is_refused(path: Path, keep: int) -> None:
    pq.write_table(table(), path)
    path.write_bytes(path.read_bytes()[:keep])
    for act in (lambda: FILES.types(path, COLUMNS), lambda: FILES.split(path)):
        with pytest.raises(Refused, match="a whole Parquet file"):
            act()


@pytest.mark.parametrize("act", [lambda s: FILES.read(s, {"speed": "double"}), lambda s: FILES.records(s, [0])])
def test_a_segment_that_is_damaged_inside_its_file_is_refused_by_the_files_name(path: Path, act) -> None:
    pq.write_table(table(), path)
    (segment,) = FILES.split(path)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:4] + bytes(footer - 4) + content[footer:])  # only the pages are damaged
    assert FILES.split(path)
    with pytest.raises(Refused, match=f"{re.escape(str(path))}: it can't be read as Parquet"):
        act(segment)


def test_a_missing_file_is_refused(path: Path) -> None:
    assert "can't be read as Parquet" in refusal(path)


@pytest.mark.parametrize("error", [errno.EACCES, errno.EMFILE, errno.EIO, errno.ESTALE], ids=errno.errorcode.get)
def test_an_io_error_is_raised_and_is_no_refusal_of_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Such an error may be transient, and a driver that ends with a refusal is not restarted."""
    pq.write_table(table(), path)

    def fail(*_: object, **options: object) -> None:
        raise OSError(error, "not now")

    with monkeypatch.context() as patch:
        patch.setattr(parquet_files.pq, "ParquetFile", fail)
        for act in (lambda: FILES.types(path, COLUMNS), lambda: FILES.split(path)):
            with pytest.raises(OSError, match="not now") as error_info:
                act()
            assert error_info.value.errno == error
    assert FILES.split(path)


def test_a_large_file_is_split_between_row_groups(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_PER_SEGMENT", 5)
    pq.write_table(table(11), path, row_group_size=2)  # groups of 2 2 2 2 2 1
    segments = FILES.split(path)
    assert [(segment.first_row, segment.rows) for segment in segments] == [(0, 4), (4, 4), (8, 3)]
    assert {segment.of_rows for segment in segments} == {11}


def test_a_row_group_larger_than_a_segment_stays_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_PER_SEGMENT", 1)
    pq.write_table(table(5), path, row_group_size=3)
    assert [(segment.first_row, segment.rows) for segment in FILES.split(path)] == [(0, 3), (3, 2)]


def test_the_segments_hold_every_record_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_PER_SEGMENT", 4)
    pq.write_table(table(11), path, row_group_size=3)
    types = FILES.types(path, COLUMNS)
    raws = [FILES.read(segment, types) for segment in FILES.split(path)]
    assert [value for raw in raws for value in raw.table["speed"].to_pylist()] == [float(i) for i in range(11)]
    assert [raw.row.tolist() for raw in raws] == [list(range(raw.table.num_rows)) for raw in raws]
    assert not any(raw.malformed for raw in raws)


# rows      0 1 2 | 3 4 5 | 6 7 8 | 9 10     row groups
@pytest.mark.parametrize("first", range(12))
def test_a_segment_is_any_range_of_rows(path: Path, first: int) -> None:
    pq.write_table(table(11), path, row_group_size=3)
    types = FILES.types(path, COLUMNS)
    for rows in range(12 - first):
        segment = Segment(str(path), first, rows)
        raw = FILES.read(segment, types)
        assert raw.table["speed"].to_pylist() == [float(i) for i in range(first, first + rows)]
        assert raw.row.tolist() == list(range(rows))
        texts = FILES.records(segment, list(range(rows))[::-1])
        assert [json.loads(text)["name"] for text in texts] == [f"n{i}" for i in range(first, first + rows)][::-1]


def test_a_segment_within_a_row_group_has_the_types_of_the_file(path: Path) -> None:
    pq.write_table(table(4), path)
    types = FILES.types(path, COLUMNS)
    whole, part, none = (FILES.read(Segment(str(path), 1, rows), types).table for rows in (3, 1, 0))
    assert whole.schema == part.schema == none.schema


def test_row_groups_that_hold_none_of_a_segments_rows_are_not_read(path: Path, monkeypatch) -> None:
    pq.write_table(table(11), path, row_group_size=3)
    whole, batches, groups = pq.ParquetFile.read_row_groups, pq.ParquetFile.iter_batches, []
    monkeypatch.setattr(
        pq.ParquetFile,
        "read_row_groups",
        lambda self, row_groups, **options: groups.append(list(row_groups)) or whole(self, row_groups, **options),
    )
    monkeypatch.setattr(
        pq.ParquetFile,
        "iter_batches",
        lambda self, rows, row_groups, **more: groups.append(row_groups) or batches(self, rows, row_groups, **more),
    )
    for first, rows in ((4, 4), (3, 6)):
        FILES.read(Segment(str(path), first, rows), FILES.types(path, COLUMNS))
    assert groups == [[1, 2], [1, 2]]


def test_only_the_columns_of_the_query_are_read(path: Path) -> None:
    pq.write_table(table(other=pa.array([1, 2])), path)
    raw = FILES.read(Segment(str(path), 0, 2), FILES.types(path, COLUMNS))
    assert sorted(raw.table.column_names) == ["came", "event", "name", "sensor", "speed"]


def test_a_file_without_rows_is_accepted(path: Path) -> None:
    pq.write_table(table(1).slice(0, 0), path)
    (segment,) = FILES.split(path)
    assert (segment.rows, FILES.read(segment, FILES.types(path, COLUMNS)).table.num_rows) == (0, 0)


def test_records_are_text_with_all_columns_of_the_file(path: Path) -> None:
    pq.write_table(table(3, other=pa.array(["x", None, "é"])), path)
    first, second = FILES.records(Segment(str(path), 0, 3), [2, 0])
    assert json.loads(first)["other"] == "é"
    assert json.loads(second)["name"] == "n0"
    assert "2020-01-01 00:00:00+00:00" in first


@pytest.mark.parametrize("time", [253_402_300_800_000_000, -(1 << 62), (1 << 63) - 1])
def test_records_with_a_time_outside_the_calendar_are_text_too(path: Path, time: int) -> None:
    pq.write_table(table(came=pa.array([NOW * 1000, time], pa.timestamp("us", "UTC"))), path)
    first, second = FILES.records(Segment(str(path), 0, 2), [0, 1])
    assert (json.loads(first)["came"], json.loads(second)["came"]) == (NOW * 1000, time)
    assert (json.loads(first)["name"], json.loads(second)["name"]) == ("n0", "n1")


def test_rows_of_records_are_relative_to_their_segment(path: Path) -> None:
    pq.write_table(table(6), path, row_group_size=2)
    assert json.loads(FILES.records(Segment(str(path), 4, 2), [1])[0])["name"] == "n5"


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.large_string(), pa.string_view()], ids=str)
def test_a_key_of_any_type_of_text_is_text(path: Path, kind: pa.DataType) -> None:
    pq.write_table(table(sensor=pa.array(["a", "b"]).cast(kind), name=pa.array(["n0", "n1"], pa.string_view())), path)
    stream = {
        "source": {"format": "parquet", "path": str(path)},
        "event_time": "event",
        "arrival_time": "came",
        "id": "name",
        "key": "sensor",
    }
    declared = {"name": "q", "kind": "aggregate", "streams": {"s": stream}, "window": {"size": "1 s", "slide": "1 s"}}
    query = declared_query(declared | {"aggregate": {"function": "sum", "column": "speed"}})
    (reader,) = (
        CompiledQuery.declare(query)
        .bind({"s": FILES.types(path, CompiledQuery.declare(query).sources["s"])})
        .readers({"s": path.parent})
    )
    assert reader.column_types.key == pa.string()
    tuples = reader.read(Segment(str(path), 0, 2)).tuples
    assert tuples.column("key").to_pylist() == ["a", "b"]
    assert (tuples.column("id").type, tuples.column("id").to_pylist()) == (pa.string(), ["n0", "n1"])


@pytest.mark.parametrize(
    ("wanted", "stored", "fits"),
    [
        (pa.list_(pa.float64()), pa.list_(pa.float32()), True),
        (pa.list_(pa.float64()), pa.list_(pa.int16(), 4), True),
        (pa.list_(pa.float64()), pa.list_(pa.null()), True),
        (pa.list_(pa.float64()), pa.list_(pa.string()), False),
        (pa.list_(pa.float64()), pa.float64(), False),
        (pa.binary(), pa.large_binary(), True),
        (pa.binary(), pa.string(), False),
        (pa.string(), pa.large_string(), True),
        (pa.string(), pa.int64(), False),
    ],
)
def test_a_value_column_holds_the_type_that_the_kind_takes(tmp_path: Path, wanted, stored, fits: bool) -> None:
    columns = source_mapping("at", "at", "name", None, {"shape": "hist"}, types={"shape": wanted})
    table = pa.table({"at": pa.array([1]), "name": pa.array(["a"]), "hist": pa.nulls(1, stored)})
    pq.write_table(table, tmp_path / "part.parquet")
    if fits:
        types = ParquetFiles().types(tmp_path / "part.parquet", columns)
        raw = ParquetFiles().read(Segment(str(tmp_path / "part.parquet"), 0, 1), types).table.column("hist")
        assert raw.cast(wanted).type == wanted
    else:
        with pytest.raises(Refused, match=r"column hist: its type is .* but it is the query's shape\n.*right would be"):
            ParquetFiles().types(tmp_path / "part.parquet", columns)


LATEST = datetime(9999, 12, 31, tzinfo=UTC)


def test_int96_times_do_not_wrap(path: Path) -> None:
    times = pa.array([LATEST, datetime(1, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    pq.write_table(table(event=times, more=times), path, use_deprecated_int96_timestamps=True)
    types = FILES.types(path, CARRIED)
    assert types["event"] == types["more"] == "timestamp[us]"
    raw = FILES.read(Segment(str(path), 0, 2), types).table
    for name in ("event", "more"):
        assert raw[name].cast(times.type).combine_chunks() == times
    assert "9999-12-31" in FILES.records(Segment(str(path), 0, 2), [0])[0]


@pytest.mark.parametrize("name", ["event", "came", "name", "sensor", "speed", "more"])
def test_a_column_that_is_null_throughout_fits_each_part(path: Path, name: str) -> None:
    pq.write_table(table(more=pa.nulls(2)).drop_columns([name]).append_column(name, pa.nulls(2)), path)
    types = FILES.types(path, CARRIED)
    assert types[name] == "null"
    assert FILES.read(Segment(str(path), 0, 2), types).table[name].null_count == 2


def test_a_column_that_the_file_is_older_than_is_null(path: Path) -> None:
    pq.write_table(table(5), path, row_group_size=2)
    types = FILES.types(path, CARRIED, OtherFiles(newest=lambda: {"more": "int64", "speed": "float"}))
    assert (types["more"], types["speed"]) == ("int64", "double")
    raw = FILES.read(Segment(str(path), 1, 3), types)
    assert (raw.table["more"].to_pylist(), raw.table["speed"].to_pylist()) == ([None] * 3, [1.0, 2.0, 3.0])
    assert raw.row.tolist() == [0, 1, 2]


def test_a_name_that_a_column_of_the_query_shares_with_another_is_refused(path: Path) -> None:
    pq.write_table(pa.table([*table().columns, pa.array([1, 2])], names=[*table().column_names, "speed"]), path)
    assert "it has the column speed more than once" in refusal(path)


def test_columns_of_one_name_that_no_one_asks_for_are_no_fault(path: Path) -> None:
    names = [*table().column_names, "other", "other"]
    pq.write_table(pa.table([*table().columns, pa.array([1, 2]), pa.array([3, 4])], names=names), path)
    assert FILES.read(Segment(str(path), 0, 2), FILES.types(path, COLUMNS)).table.num_columns == 5
    record = json.loads(FILES.records(Segment(str(path), 0, 2), [1])[0])
    assert (record["other"], record["other (2)"]) == (2, 4)


def test_a_name_that_is_no_utf_8_is_refused(path: Path) -> None:
    odd = pa.schema([*table().schema, pa.field(b"caf\xe9", pa.int64())])
    pq.write_table(pa.table([*table().columns, pa.array([1, 2])], schema=odd), path)
    assert "the name of a column is no UTF-8: b'caf\\xe9'" in refusal(path)


def test_a_column_that_no_one_asks_for_and_that_cant_be_read_keeps_no_record_from_the_quarantine(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(table(other=pa.array([1, 2])), path)
    for name in ("read_row_groups", "iter_batches"):
        read = getattr(pq.ParquetFile, name)

        def fail(self, *args, read=read, columns=None, **options):
            if columns is None or "other" in columns:
                raise pa.ArrowNotImplementedError("nested data in chunks")
            return read(self, *args, columns=columns, **options)

        monkeypatch.setattr(pq.ParquetFile, name, fail)
    record = json.loads(FILES.records(Segment(str(path), 0, 2), [1])[0])
    assert (record["name"], record["other"]) == ("n1", "can't be read")


MANY = 20_000


def read_sensor(path: Path, sensor: pa.Array, **options: object) -> pa.DataType:
    """The type in which the sensors of one segment come."""
    pq.write_table(table(len(sensor), sensor=sensor), path, **options)
    types = FILES.types(path, COLUMNS)
    raw = FILES.read(Segment(str(path), 0, len(sensor)), types).table
    assert raw["sensor"].to_pylist() == sensor.to_pylist()
    assert raw["name"].type == pa.string(), "each occurs once"
    return raw["sensor"].type


def test_texts_that_repeat_come_as_codes(path: Path) -> None:
    texts = pa.array([None if i % 7 == 0 else f"s{i % 100}" for i in range(MANY)])
    assert read_sensor(path, texts) == pa.dictionary(pa.int32(), pa.string())


def test_texts_that_repeat_have_one_dictionary_over_row_groups(path: Path) -> None:
    texts = pa.array([f"s{i // 1000}" for i in range(MANY)])
    assert read_sensor(path, texts, row_group_size=MANY // 4) == pa.dictionary(pa.int32(), pa.string())


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (pa.array(["s"] * 10), {}),
        (pa.array([f"s{i}" for i in range(MANY)]), {}),
        (pa.array([f"s{i % 100}" for i in range(MANY)]), {"use_dictionary": False}),
        (pa.array([f"s{i % 5000:099}" for i in range(MANY)]), {"dictionary_pagesize_limit": 1024}),
        (pa.array([f"s{i % 100}" for i in range(MANY)], pa.large_string()), {}),
    ],
    ids=["few rows", "no repeats", "no codes in the file", "the writer gave up its dictionary", "of another type"],
)
def test_other_texts_come_as_they_are(path: Path, texts: pa.Array, options: dict) -> None:
    assert read_sensor(path, texts, **options) == texts.type
