"""Sources at a path: what they say of themselves. Their feeds are in `test_file_feed.py` and beside the journal's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from kit.parts.source_mappings import source_mapping
from tailrace.ground.errors import Unfit
from tailrace.query.sections import Source
from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import DeclaredSource, Opening
from tailrace.sources.formats.csv_files import CsvFiles
from tailrace.sources.formats.json_files import JsonFiles
from tailrace.sources.formats.parquet_files import ParquetFiles
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.sources.segments import Segment, SourceFile, state_of

FORMAT_NAMES = [*FORMATS, "delta", "replay"]


def declared(format_name: str, path: Path | str = "/data/in", connection: str | None = None) -> DeclaredSource:
    fields = {"format": format_name, "path": str(path), "connection": connection}
    return TypeAdapter(Source).validate_python(fields | ({"rate": 5.0} if format_name == "replay" else {}))


def columns(arrival_time: str | None = "came", **carried: str) -> SourceMapping:
    return source_mapping("at", arrival_time, "id", None, carried=carried)


class NoTables:
    """Access to Delta tables, for sources that need none."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError("a source of files asks for a table")


def opening(**more: object) -> Opening:
    return Opening(columns(), NoTables(), 60.0, **more)


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_source_on_a_disk_names_its_place(name: str) -> None:
    source = declared(name)
    assert source.uri() == "file:///data/in"
    assert source.dataset(str) == ("file", "/data/in")
    assert source.local_path == Path("/data/in")
    assert not source.own_columns
    assert not source.reads(KafkaTopic(servers="a:1", topic="in"))


@pytest.mark.parametrize("name", [*FORMATS, "delta"])
def test_a_source_in_an_object_store_names_its_place(name: str) -> None:
    source = declared(name, "abfss://in@account.dfs.core.windows.net/a/b", "lake")
    assert source.uri() == "abfss://account.dfs.core.windows.net/in/a/b"
    assert source.dataset(str) == ("abfss://in@account.dfs.core.windows.net", "a/b")
    assert source.local_path is None


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_source_at_another_path_is_of_the_same_format_and_needs_no_connection(name: str) -> None:
    source = declared(name) if name == "replay" else declared(name, "s3://lake/in", "lake")
    other = source.at(Path("/elsewhere"))
    assert other is not None
    assert (other.format, other.local_path, other.connection) == (name, Path("/elsewhere"), None)


@pytest.mark.parametrize(
    ("name", "is_log"), [("parquet", True), ("delta", True), ("replay", True), ("json", False), ("csv", False)]
)
def test_files_that_stay_are_the_history_where_tuples_have_arrival_times(name: str, is_log: bool) -> None:
    assert declared(name).is_history(columns()) is is_log
    assert not declared(name).is_history(columns(arrival_time=None))


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("parquet", ParquetFiles("lake")),
        ("delta", ParquetFiles("lake")),
        ("json", JsonFiles("lake", frozenset({"more"}))),
        ("csv", CsvFiles("lake", frozenset({"more"}))),
    ],
)
def test_a_reader_has_the_connection_and_the_columns_that_are_carried_exactly(name: str, reader: object) -> None:
    assert declared(name, "s3://lake/in", "lake").reader(columns(left_more="more")) == reader


def write(path: Path, **more: list[object]) -> Path:
    pq.write_table(pa.table({"at": [1, 2], "came": [1, 2], "id": ["a", "b"]} | more), path)
    return path


@pytest.mark.parametrize("name", ["parquet", "replay"])
def test_a_sample_has_the_types_and_the_first_and_the_last_segment(tmp_path: Path, name: str) -> None:
    for number in range(30):
        write(tmp_path / f"{number:02d}.parquet")
    types, segments = declared(name, tmp_path).sample(opening())
    assert types == {"at": "int64", "came": "int64", "id": "string"}
    assert [Path(segment.path).name for segment in segments] == ["00.parquet", "29.parquet"]


def test_a_sample_of_an_empty_directory_has_neither_types_nor_segments(tmp_path: Path) -> None:
    assert declared("parquet", tmp_path).sample(opening()) == ({}, [])


def test_a_sample_whose_records_do_not_show_the_types_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"at": 1, "came": 1, "id": null}\n')
    with pytest.raises(Unfit, match="no record has a value of a fitting type in each of at, came, id"):
        declared("json", tmp_path).sample(opening())


def test_a_table_is_sampled_by_the_access_that_it_is_given(tmp_path: Path) -> None:
    class Tables(NoTables):
        def files(self, path: object) -> list[SourceFile]:
            assert path == tmp_path
            return [write(tmp_path / "b.parquet"), write(tmp_path / "a.parquet")]

    _, segments = declared("delta", tmp_path).sample(Opening(columns(), Tables(), 60.0))
    assert [Path(segment.path).name for segment in segments] == ["b.parquet", "a.parquet"]


def test_a_segment_is_there_while_its_file_is_as_it_was_taken(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    size, mtime_ns = state_of(file) or (0, 0)
    source = declared("parquet", tmp_path)
    taken = Segment(str(file), 0, 2, size=size, mtime_ns=mtime_ns)
    of_table = Segment(str(file), 0, 2)
    assert source.has(taken)
    assert source.has(of_table)
    write(file, more=[1.0, 2.0])
    assert not source.has(taken)
    file.unlink()
    assert not source.has(taken)
    assert not source.has(of_table)
