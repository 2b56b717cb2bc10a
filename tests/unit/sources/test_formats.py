"""`list_files`: the files of a stream's directory, and their order."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.parts.source_mappings import source_mapping
from tailrace.ground.errors import Refused
from tailrace.sources.formats.registry import FORMATS, list_files, merge_types


def make(directory: Path, *names: str) -> Path:
    for name in names:
        (directory / name).touch()
    return directory


def names(path: Path, format_name: str = "json") -> list[str]:
    return [file.name for file in list_files(path, format_name)]


def test_files_are_listed_in_the_order_of_their_names(tmp_path: Path) -> None:
    assert names(make(tmp_path, "b.json", "a.json", "10.json", "9.json")) == ["10.json", "9.json", "a.json", "b.json"]


def test_the_order_does_not_depend_on_suffixes(tmp_path: Path) -> None:
    assert names(make(tmp_path, "b.json", "c.ndjson", "a.jsonl")) == ["a.jsonl", "b.json", "c.ndjson"]


def test_hidden_files_and_those_with_an_underscore_are_ignored(tmp_path: Path) -> None:
    assert names(make(tmp_path, "_SUCCESS", ".a.json.crc", ".b.json", "_c.json", "d.json")) == ["d.json"]


@pytest.mark.parametrize("name", ["b.json.tmp", "b.tmp", "b.json.crc", ".b.json.crc", "b.json.inprogress", "_b", ".b"])
def test_temporary_files_of_a_producer_are_ignored(tmp_path: Path, name: str) -> None:
    assert names(make(tmp_path, "a.json", name)) == ["a.json"]
    (tmp_path / f"_{name}").mkdir()
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("name", ["archive", "day", "a.json", "=1", "x=", "country=DE"])
def test_subdirectories_that_are_no_partitions_are_refused_since_their_files_would_be_lost(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(Refused, match=f"{name}: this is a directory"):
        names(make(tmp_path, "b.json"))


def test_a_table_may_have_partitions_by_other_values_than_times(tmp_path: Path) -> None:
    for name in ["country=DE/city=Köln", "country=FR"]:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.parquet").touch()
    found = list_files(tmp_path, "parquet", is_log=False)
    assert [str(file) for file in found] == [
        f"{tmp_path}/country=DE/city=Köln/a.parquet",
        f"{tmp_path}/country=FR/a.parquet",
    ]
    (tmp_path / "archive").mkdir()
    with pytest.raises(Refused, match="archive"):
        list_files(tmp_path, "parquet", is_log=False)


def test_partitions_are_read_in_the_order_of_paths_to_any_depth(tmp_path: Path) -> None:
    paths = ["2026-11-25/b.json", "2026-11-25/a.json", "2026-11-26/a.json", "2026/1/c.json", "0.json", "x.json"]
    paths += ["dt=2026-11-26/hour=09/a.json", "dt=2026-11-26/hour=10/a.json", "2026-11-26T10:00:00Z/a.json"]
    paths += ["at=2026-11-26 10%3A00%3A00/a.json"]
    for path in [*paths, "_tmp/a.json", "2026-11-25/_b.json", ".hidden/a.json"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert [str(file.relative_to(tmp_path)) for file in list_files(tmp_path, "json")] == sorted(paths)


def test_a_link_to_a_directory_is_no_partition(tmp_path: Path) -> None:
    (tmp_path / "2026").symlink_to(tmp_path)
    with pytest.raises(Refused, match="2026: this is no json file"):
        names(tmp_path)


def test_hidden_directories_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    assert names(make(tmp_path, "a.json")) == ["a.json"]


def test_a_single_file_is_the_stream_whatever_its_name(tmp_path: Path) -> None:
    assert names(make(tmp_path, "data.txt") / "data.txt") == ["data.txt"]


def test_an_empty_directory_is_no_fault(tmp_path: Path) -> None:
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("format_name", "right"),
    [("parquet", "*.parquet"), ("json", "*.json or *.jsonl or *.ndjson")],
)
def test_a_file_with_another_suffix_is_refused(tmp_path: Path, format_name: str, right: str) -> None:
    with pytest.raises(Refused) as error_info:
        list_files(make(tmp_path, "b.csv", "a.txt"), format_name)
    (problem,) = error_info.value.problems
    assert (problem.where, problem.remedy) == (f"{tmp_path}/a.txt", f"only files named {right}")


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no such file or directory"):
        list_files(tmp_path / "none", "parquet")


def test_a_link_to_a_file_is_a_file_and_a_link_to_a_directory_is_refused(tmp_path: Path) -> None:
    make(tmp_path, "a.txt")
    directory = tmp_path / "here"
    directory.mkdir()
    (directory / "a.json").symlink_to(tmp_path / "a.txt")
    assert names(directory) == ["a.json"]
    (directory / "b.json").symlink_to(tmp_path)
    with pytest.raises(Refused, match=r"b\.json: this is a directory"):
        names(directory)


COLUMNS = source_mapping("t", None, "id", None, carried={"left_more": "more"})


def merged(path: Path, before: str, values: pa.Array) -> dict[str, str]:
    """The types after a file with these values, where `before` is the type of the files before it."""
    pq.write_table(pa.table({"t": pa.array([1] * len(values)), "id": ["a"] * len(values), "more": values}), path)
    return merge_types(path, "parquet", COLUMNS, {"t": "int64", "id": "string", "more": before})


@pytest.mark.parametrize(
    ("before", "later"),
    [
        ("int64", pa.int8()),
        ("double", pa.float32()),
        ("string", pa.large_string()),
        ("uint8", pa.int16()),
        ("timestamp[ns]", pa.timestamp("ms", "UTC")),
        ("decimal128(10, 2)", pa.decimal128(8, 1)),
    ],
    ids=str,
)
def test_a_carried_column_goes_on_with_a_type_that_loses_nothing(
    tmp_path: Path, before: str, later: pa.DataType
) -> None:
    assert merged(tmp_path / "a.parquet", before, pa.nulls(1, later))["more"] == before


@pytest.mark.parametrize(
    ("before", "later"),
    [
        ("int32", pa.int64()),
        ("int64", pa.float64()),
        ("double", pa.int64()),
        ("string", pa.int64()),
        ("date32[day]", pa.timestamp("ms")),
        ("decimal128(8, 1)", pa.decimal128(10, 2)),
    ],
    ids=str,
)
def test_a_carried_column_of_another_type_is_refused(tmp_path: Path, before: str, later: pa.DataType) -> None:
    with pytest.raises(Refused) as error_info:
        merged(tmp_path / "a.parquet", before, pa.nulls(1, later))
    (problem,) = error_info.value.problems
    assert problem.where == f"{tmp_path}/a.parquet: column more"
    assert problem.fault == f"its type is {later}, in files before it {before}, which answers have"


@pytest.mark.parametrize(("before", "value"), [("int64", "1.5"), ("double", "1"), ("string", "null")])
def test_numbers_of_json_are_judged_by_record(tmp_path: Path, before: str, value: str) -> None:
    (tmp_path / "a.json").write_text(f'{{"t": 1, "id": "a", "more": {value}}}\n')
    types = {"t": "int64", "id": "string", "more": before}
    assert merge_types(tmp_path / "a.json", "json", COLUMNS, types) == types


def test_a_text_in_the_place_of_numbers_is_refused_in_json_too(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"t": 1, "id": "a", "more": "x"}\n')
    with pytest.raises(Refused, match="its type is string, in files before it int64"):
        merge_types(tmp_path / "a.json", "json", COLUMNS, {"t": "int64", "id": "string", "more": "int64"})


def test_a_link_out_of_the_roots_of_sources_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "in"
    directory.mkdir()
    make(tmp_path, "secret.json")
    make(directory, "a.json")
    (directory / "b.json").symlink_to(tmp_path / "secret.json")
    assert names(directory) == ["a.json", "b.json"]
    monkeypatch.setenv("TAILRACE_SOURCES", str(directory))
    with pytest.raises(Refused, match="lies under no root of sources"):
        list_files(directory, "json")


def types_after(directory: Path, first: str, later: str) -> dict[str, str]:
    columns = source_mapping("t", None, "id", None)
    types: dict[str, str] = {}
    for name, record in (("a.csv", first), ("b.csv", later)):
        (directory / name).write_text(f"t,id\n{record}\n")
        types = merge_types(directory / name, "csv", columns, types)
    return types


def test_csv_ids_that_are_texts_in_the_first_file_stay_texts(tmp_path: Path) -> None:
    assert types_after(tmp_path, "1,a", "2,7") == {"t": "int64", "id": "string"}


def test_csv_ids_that_are_integers_in_the_first_file_are_texts_too(tmp_path: Path) -> None:
    assert types_after(tmp_path, "1,7", "2,a") == {"t": "int64", "id": "string"}


CSV = source_mapping("t", None, "id", "k", carried={"more": "m"})
CSV_TYPES = {"t": "int64", "id": "int64", "k": "int64", "m": "double"}  # integers: as a checkpoint may have them


@pytest.mark.parametrize("poisoned", ["5,ERR,5,0.5", "5,5,ERR,0.5", "5,5,5,ERR", "x,x,x,x"])
def test_a_record_of_a_later_csv_file_that_does_not_fit_is_malformed_alone(tmp_path: Path, poisoned: str) -> None:
    file = tmp_path / "b.csv"
    file.write_text(f"t,id,k,m\n1,1,1,0.5\n{poisoned}\n")
    types = merge_types(file, "csv", CSV, CSV_TYPES)
    assert types == CSV_TYPES
    (segment,) = FORMATS["csv"].split(file)
    raw = FORMATS["csv"].read(segment, types)
    assert (raw.row.tolist(), [fault.record for fault in raw.malformed]) == ([0], [poisoned])


@pytest.mark.parametrize("column", ["id", "k", "m"])
def test_a_later_csv_file_in_which_no_value_of_a_column_fits_is_refused(tmp_path: Path, column: str) -> None:
    record = {"t": "1", "id": "1", "k": "1", "m": "1"} | {column: "ERR"}
    (tmp_path / "b.csv").write_text("t,id,k,m\n" + f"{','.join(record.values())}\n" * 2)
    with pytest.raises(Refused, match=rf"column {column}: its type is string, in files before it"):
        merge_types(tmp_path / "b.csv", "csv", CSV, CSV_TYPES)


def test_the_header_of_a_later_csv_file_is_checked(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("t,id,m\n1,1,1\n")
    with pytest.raises(Refused, match="no column 'k'"):
        merge_types(tmp_path / "b.csv", "csv", CSV, CSV_TYPES)


@pytest.mark.parametrize("place", ["in", "in/a.json"], ids=["directory", "file"])
def test_a_source_that_becomes_a_link_out_of_the_roots_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    for directory in ("in", "elsewhere"):
        (tmp_path / directory).mkdir()
        make(tmp_path / directory, "a.json")
    monkeypatch.setenv("TAILRACE_SOURCES", str(tmp_path / "in"))
    assert names(tmp_path / place) == ["a.json"]
    (tmp_path / place).rename(tmp_path / "moved")
    (tmp_path / place).symlink_to(tmp_path / place.replace("in", "elsewhere"))
    monkeypatch.setenv("TAILRACE_SOURCES", str(tmp_path / "moved"))
    with pytest.raises(Refused, match="lies under no root of sources"):
        names(tmp_path / place)


@pytest.mark.parametrize("name", [b"b\xe9.json", b"\xff"])
def test_a_file_whose_name_is_no_utf_8_is_refused(tmp_path: Path, name: bytes) -> None:
    make(tmp_path, "a.json")
    odd = tmp_path / os.fsdecode(name)
    odd.touch()
    with pytest.raises(Refused, match="its name is no UTF-8"):
        list_files(tmp_path, "json")
    with pytest.raises(Refused, match="its name is no UTF-8") as error_info:
        list_files(odd, "json")
    assert str(error_info.value).isascii(), "it can be printed"


def test_files_may_have_any_name_in_utf_8(tmp_path: Path) -> None:
    make(tmp_path, "é.json", "日.json")
    assert names(tmp_path) == ["é.json", "日.json"]
