"""Dimension tables in Delta and in directories: each version once, and what is broken leaves the one in force."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from deltalake import DeltaTable, write_deltalake

from tailrace.ground.errors import Refused
from tailrace.ground.facts import Fact
from tailrace.spatial_join.table.table_lookup import TableSource
from tailrace.stream.table_versions import TableVersion, TableVersions


def rows(*ids: str, name: str = "geometry") -> pa.Table:
    shapes = [shapely.to_wkb(shapely.box(0, 0, 1, 1))] * len(ids)
    return pa.table({"id": pa.array(ids, pa.string()), name: pa.array(shapes, pa.binary()), "more": [1.5] * len(ids)})


def write_delta(path: Path, *ids: str, name: str = "geometry") -> None:
    write_deltalake(path, rows(*ids, name=name), mode="overwrite", schema_mode="overwrite")


def write_directory(path: Path, *ids: str, name: str = "geometry") -> None:
    path.mkdir(exist_ok=True)
    for number, each in enumerate(ids):
        pq.write_table(rows(each, name=name), path / f"{number}.parquet")


WRITERS = {"delta": write_delta, "parquet": write_directory}


@pytest.fixture(params=sorted(WRITERS))
def form(request) -> str:
    return request.param


def versions_of(path: Path, form: str) -> TableVersions:
    return TableVersions(TableSource(path, format=form, fields=(("geometry", "the.field"),)), path.parent / "versions")


def fact_of(version: TableVersion | None) -> Fact:
    assert version is not None
    return Fact("table", 1, 0, version.value, version.evidence)


def stored(path: Path, fact: Fact) -> pa.Table:
    return pq.read_table(path.parent / "versions" / fact.value["file"])


def test_a_version_has_the_needed_columns_in_the_order_of_ids_and_a_change_is_the_next_one(tmp_path, form):
    path, write = tmp_path / "zones", WRITERS[form]
    write(path, "b", "a")
    versions = versions_of(path, form)
    first = fact_of(versions.take(None))
    assert stored(path, first).column_names == ["id", "geometry"]
    assert stored(path, first)["id"].to_pylist() == ["a", "b"]
    assert versions.take(first) is None
    write(path, "b", "a", "c")
    second = fact_of(versions.take(first))
    assert stored(path, second)["id"].to_pylist() == ["a", "b", "c"]
    assert second.evidence == f"{path}: 3 rows"
    assert versions.problem is None


def test_nothing_is_read_again_while_the_token_stays(tmp_path, form, monkeypatch):
    path = tmp_path / "zones"
    WRITERS[form](path, "a")
    versions = versions_of(path, form)
    first = fact_of(versions.take(None))
    monkeypatch.setattr(versions._source, "read", lambda position: pytest.fail("it was read again"))
    assert versions.take(first) is None


def test_rows_that_only_move_to_other_files_are_no_new_version(tmp_path):
    delta, directory = tmp_path / "delta", tmp_path / "directory"
    write_delta(delta, "b")
    write_deltalake(delta, rows("a"), mode="append")
    versions = versions_of(delta, "delta")
    first = fact_of(versions.take(None))
    DeltaTable(delta).optimize.compact()
    assert versions.take(first) is None
    assert versions.problem is None
    write_directory(directory, "b", "a")
    assert fact_of(versions_of(directory, "parquet").take(None)).value["file"] == first.value["file"]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_log_that_is_cut_leaves_the_version_in_force_and_says_so(tmp_path, restarts):
    path = tmp_path / "zones"
    write_delta(path, "a")
    write_delta(path, "b")
    versions = versions_of(path, "delta")
    fact = fact_of(versions.take(None))
    (path / "_delta_log" / f"{1:020d}.json").unlink()
    if restarts:
        versions = TableVersions(TableSource(path, format="delta"), tmp_path / "versions", {"id": "string"})
    assert versions.take(fact) is None
    assert "its log ends with version 0, and the stream has read version 1" in versions.problem


def test_half_a_commit_leaves_the_version_in_force_until_it_is_whole(tmp_path):
    path = tmp_path / "zones"
    write_delta(path, "a")
    versions = versions_of(path, "delta")
    fact = fact_of(versions.take(None))
    write_delta(path, "b")
    commit = path / "_delta_log" / f"{1:020d}.json"
    whole = commit.read_bytes()
    commit.write_bytes(whole[: len(whole) // 2])
    assert versions.take(fact) is None
    assert "its version can't be read" in versions.problem
    commit.write_bytes(whole)
    assert versions.take(fact) is not None
    assert versions.problem is None


def test_a_restored_table_has_a_new_version_with_the_old_rows(tmp_path):
    path = tmp_path / "zones"
    write_delta(path, "a")
    versions = versions_of(path, "delta")
    first = fact_of(versions.take(None))
    write_delta(path, "b")
    second = fact_of(versions.take(first))
    DeltaTable(path).restore(0)
    third = versions.take(second)
    assert third.value["file"] == first.value["file"]
    assert int(third.value["delta_version"]) == 2


def test_a_lost_file_leaves_the_version_in_force_and_says_so(tmp_path):
    path = tmp_path / "zones"
    write_delta(path, "a")
    versions = versions_of(path, "delta")
    fact = fact_of(versions.take(None))
    write_delta(path, "b")
    for file in path.glob("*.parquet"):
        file.unlink()
    assert versions.take(fact) is None
    assert "its version can't be read" in versions.problem


def test_half_a_file_leaves_the_version_in_force_and_says_which(tmp_path):
    path = tmp_path / "zones"
    write_directory(path, "a", "b")
    versions = versions_of(path, "parquet")
    fact = fact_of(versions.take(None))
    whole = (path / "1.parquet").read_bytes()
    (path / "1.parquet").write_bytes(whole[: len(whole) // 2])
    assert versions.take(fact) is None
    assert f"{path / '1.parquet'}: it is no whole Parquet file" in versions.problem
    write_directory(path, "a", "c")
    assert versions.take(fact) is not None
    assert versions.problem is None


def test_a_column_that_is_missing_leaves_the_version_in_force_and_names_the_field(tmp_path, form):
    path = tmp_path / "zones"
    WRITERS[form](path, "a")
    versions = versions_of(path, form)
    fact = fact_of(versions.take(None))
    WRITERS[form](path, "a", name="shape")
    assert versions.take(fact) is None
    assert "the.field: " in versions.problem
    assert "it has no column geometry" in versions.problem


def test_a_source_that_is_gone_leaves_the_version_in_force_and_is_refused_without_one(tmp_path, form):
    path = tmp_path / "zones"
    WRITERS[form](path, "a")
    versions = versions_of(path, form)
    fact = fact_of(versions.take(None))
    shutil.rmtree(path)
    assert versions.take(fact) is None
    assert str(path) in versions.problem
    with pytest.raises(Refused):
        versions_of(path, form)


def test_files_of_types_that_no_type_holds_are_no_version(tmp_path):
    path = tmp_path / "zones"
    write_directory(path, "a")
    pq.write_table(rows("b").set_column(0, "id", pa.array([True])), path / "1.parquet")
    with pytest.raises(Refused, match="its files do not make one table"):
        versions_of(path, "parquet")


def test_an_empty_directory_is_no_table(tmp_path):
    (tmp_path / "zones").mkdir()
    with pytest.raises(Refused, match="no Parquet file"):
        versions_of(tmp_path / "zones", "parquet")


def test_a_table_outside_of_the_roots_of_sources_is_refused(tmp_path, monkeypatch, form):
    path = tmp_path / "zones"
    WRITERS[form](path, "a")
    monkeypatch.setenv("TAILRACE_SOURCES", os.fspath(tmp_path / "elsewhere"))
    with pytest.raises(Refused, match="lies under no root of sources"):
        versions_of(path, form)
