"""`list_files`: the files of a stream's directory, and their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.ground.errors import Refused
from tailrace.sources.formats import FORMATS, list_files


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


def test_subdirectories_are_refused_since_their_files_would_be_lost(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    with pytest.raises(Refused, match="day=1: this is a directory"):
        names(make(tmp_path, "a.json"))


def test_hidden_directories_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    assert names(make(tmp_path, "a.json")) == ["a.json"]


def test_a_single_file_is_the_stream_whatever_its_name(tmp_path: Path) -> None:
    assert names(make(tmp_path, "data.txt") / "data.txt") == ["data.txt"]


def test_an_empty_directory_is_no_fault(tmp_path: Path) -> None:
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("format_name", "right"),
    [("parquet", "*.parquet"), ("replay", "*.parquet"), ("json", "*.json or *.jsonl or *.ndjson")],
)
def test_a_file_with_another_suffix_is_refused(tmp_path: Path, format_name: str, right: str) -> None:
    with pytest.raises(Refused) as error_info:
        list_files(make(tmp_path, "b.csv", "a.txt"), format_name)
    (problem,) = error_info.value.problems
    assert (problem.where, problem.right) == (f"{tmp_path}/a.txt", f"only files named {right}")


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


@pytest.mark.parametrize("name", ["parquet", "json", "delta", "replay"])
def test_the_formats_that_a_query_file_may_name(name: str) -> None:
    assert FORMATS[name].suffixes
