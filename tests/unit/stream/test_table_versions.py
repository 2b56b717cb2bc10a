"""The versions of a dimension table: each content once, what is not fit is told, and what is in force stays."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from tailrace.ground.errors import Refused
from tailrace.ground.facts import Fact
from tailrace.spatial_join.table.table_lookup import TableSource
from tailrace.stream.table_versions import TableVersion, TableVersions, first_types

SQUARE, BOW = shapely.box(0, 0, 1, 1), shapely.from_wkt("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))")


def write(path: Path, ids: list, shape: shapely.Geometry = SQUARE) -> None:
    geometry = json.loads(shapely.to_geojson(shape))
    features = [{"type": "Feature", "id": name, "properties": {}, "geometry": geometry} for name in ids]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    touch.count += 1
    os.utime(path, ns=(touch.count, touch.count))  # a file system's clock may not tell two writes apart


class touch:
    count = 0


@pytest.fixture
def path(tmp_path) -> Path:
    write(tmp_path / "zones.GeoJSON", ["a"])
    return tmp_path / "zones.GeoJSON"


def open_versions(path: Path, types: dict | None = None) -> TableVersions:
    return TableVersions(TableSource(path), path.parent / "versions", types)


def fact_of(version: TableVersion | None) -> Fact:
    assert version is not None
    return Fact("table", 1, 0, version.value, version.evidence)


def test_the_first_version_is_the_files_content(path):
    version = open_versions(path).take(None)
    assert version.value["file"].endswith(".geojson")
    assert (path.parent / "versions" / version.value["file"]).read_bytes() == path.read_bytes()
    assert str(path) in version.evidence


def test_a_fifo_in_the_place_of_the_table_is_refused_and_the_version_in_force_holds(path):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    path.unlink()
    os.mkfifo(path)
    assert versions.take(first) is None
    assert "it can't be read: it is a FIFO (named pipe), and no regular file" in versions.problem
    with pytest.raises(Refused, match="it is a FIFO"):
        open_versions(path)


def test_a_new_content_is_a_new_version_and_the_old_one_stays(path):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    assert versions.take(first) is None
    write(path, ["a", "b"])
    second = fact_of(versions.take(first))
    assert versions.take(second) is None
    assert len(list((path.parent / "versions").iterdir())) == 2
    write(path, ["a"])
    third = versions.take(second)
    assert third.value == first.value, "the same content is the same file"


def test_a_file_that_is_written_again_alike_is_no_new_version(path):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    write(path, ["a"])
    assert versions.take(first) is None
    assert versions.problem is None


def test_a_content_that_is_not_fit_is_told_and_the_version_in_force_holds(path):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    whole = path.read_text()
    write(path, ["a"], BOW)
    assert versions.take(first) is None
    assert "invalid" in versions.problem
    path.write_text(whole[: len(whole) // 2])
    os.utime(path, ns=(10**9, 10**9))
    assert versions.take(first) is None
    assert "no JSON" in versions.problem
    path.unlink()
    assert versions.take(first) is None
    assert "can't be read" in versions.problem
    write(path, ["b"])
    assert versions.take(first) is not None
    assert versions.problem is None


DEEP = "GEOMETRYCOLLECTION (" * 50_000 + "POINT (1 1)" + ")" * 50_000


@pytest.mark.parametrize("text", ["CIRCULARSTRING (0 0, 1 1, 2 0)", DEEP], ids=["a curve", "a deep nest"])
def test_what_geos_has_not_is_told_and_the_version_in_force_holds(tmp_path, text):
    """An error or the end of the process would be the end of a living driver, and of each that is started again."""
    path = tmp_path / "zones.csv"
    path.write_text(f'id,geometry\n1,"{SQUARE.wkt}"\n')
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    path.write_text(f'id,geometry\n1,"{SQUARE.wkt}"\n2,"{text}"\n')
    assert versions.take(first) is None
    assert "row 2 (id 2): its geometry is " in versions.problem
    path.write_text(f'id,geometry\n1,"{SQUARE.wkt}"\n2,POINT (1 1)\n')
    assert versions.take(first) is not None
    assert versions.problem is None


@pytest.mark.parametrize("error", [shapely.GEOSException("it is odd"), NotImplementedError("it is odd")], ids=str)
def test_a_failure_that_nobody_knew_of_is_told_and_the_version_in_force_holds(path, monkeypatch, error):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    write(path, ["a", "b"])

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(shapely, "get_coordinates", fail)
    assert versions.take(first) is None
    assert "it is odd" in versions.problem


def test_ids_of_another_type_are_no_version(path):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    write(path, [1, 2])
    assert versions.take(first) is None
    assert "int64" in versions.problem
    assert "string" in versions.problem
    assert versions.take(first) is None, "and are not read again before they change"


def test_a_resumed_stream_needs_no_file_while_a_version_is_in_force(path):
    first = fact_of(open_versions(path).take(None))
    path.unlink()
    versions = open_versions(path, {"id": "string"})
    assert versions.take(first) is None
    assert "can't be read" in versions.problem
    write(path, ["a"])
    assert versions.take(first) is None
    assert versions.problem is None


def test_a_new_query_is_refused_where_the_table_is_not_fit(path):
    write(path, ["a"], BOW)
    with pytest.raises(Refused, match="invalid"):
        open_versions(path)
    path.unlink()
    with pytest.raises(Refused, match="can't be read"):
        open_versions(path)
    with pytest.raises(Refused, match="can't be read"):
        open_versions(path, {"id": "string"}).take(None)


def write_named(path: Path, name: object, kind: str = "name") -> None:
    write(path, ["a"])
    path.write_text(path.read_text().replace('"properties": {}', f'"properties": {{"{kind}": {json.dumps(name)}}}'))
    touch.count += 1
    os.utime(path, ns=(touch.count, touch.count))


def test_a_selected_column_may_become_narrower_but_not_wider(path):
    source = TableSource(path, columns=(("right_name", "name"),))
    write_named(path, 1.5)
    versions = TableVersions(source, path.parent / "versions")
    first = fact_of(versions.take(None))
    write_named(path, "text")
    assert versions.take(first) is None
    assert "the type of right_name is string, in versions before double" in versions.problem
    write_named(path, 1.5, kind="other")
    assert versions.take(first) is None
    assert "no feature has name" in versions.problem


def test_a_version_without_rows_or_values_has_any_types(path):
    source = TableSource(path, columns=(("right_name", "name"),))
    write_named(path, 1)
    versions = TableVersions(source, path.parent / "versions")
    first = fact_of(versions.take(None))
    write_named(path, None)
    second = fact_of(versions.take(first))
    assert TableSource(path).check(path.read_bytes()).types.id == pa.string()
    write(path, [])
    assert TableVersions(TableSource(path), path.parent).types.id == pa.string()
    plain = TableVersions(TableSource(path), path.parent / "versions", {"id": "int64"})
    assert plain.take(second) is not None
    write_named(path, None)
    assert TableVersions(source, path.parent / "versions").types.carried == {"right_name": pa.string()}


CODES = (("right_code", "code"), ("right_flag", "flag"))


def write_csv(path: Path, *rows: tuple[str, str]) -> TableSource:
    shape = shapely.to_wkt(SQUARE)
    path.write_text("id,geometry,code,flag\n" + "".join(f'{n},"{shape}",{c},{f}\n' for n, (c, f) in enumerate(rows)))
    touch.count += 1
    os.utime(path, ns=(touch.count, touch.count))
    return TableSource(path, columns=CODES)


def test_a_column_of_csv_that_is_text_stays_text_in_versions_whose_texts_are_numbers(tmp_path):
    path = tmp_path / "t.csv"
    versions = TableVersions(write_csv(path, ("06037", "true"), ("94110", "1")), tmp_path / "versions")
    assert set(versions.types.carried.values()) == {pa.string()}
    first = fact_of(versions.take(None))
    source = write_csv(path, ("12.50", "true"), ("7", "false"))
    assert versions.take(first) is not None
    assert versions.problem is None
    table = source.read(path, path.read_bytes())
    assert table.values("right_code", pa.string(), pa.array([1, 0, 1])).to_pylist() == ["7", "12.50", "7"]
    assert table.values("right_flag", pa.string(), pa.array([0])).to_pylist() == ["true"]


def test_a_column_of_csv_that_is_a_number_takes_no_version_with_another_text(tmp_path):
    path = tmp_path / "t.csv"
    versions = TableVersions(write_csv(path, ("94110", "true")), tmp_path / "versions")
    first = fact_of(versions.take(None))
    write_csv(path, ("06037", "true"))
    assert versions.take(first) is None
    assert "the type of right_code is string, in versions before int64" in versions.problem


def test_a_later_version_of_doubles_may_have_integers_in_csv_too(tmp_path):
    path = tmp_path / "t.csv"
    versions = TableVersions(write_csv(path, ("1.5", "true")), tmp_path / "versions")
    first = fact_of(versions.take(None))
    source = write_csv(path, ("2", "true"))
    assert versions.take(first) is not None
    table = source.read(path, path.read_bytes())
    assert table.values("right_code", pa.float64(), pa.array([0])).to_pylist() == [2.0]


def test_what_could_not_be_read_for_a_moment_is_read_again(path, monkeypatch):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    write(path, ["a", "b"])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        assert versions.take(first) is None
        assert "can't be read: Input/output error" in versions.problem
    assert versions.take(first) is not None, "with the same times and size"
    assert versions.problem is None


def fail(path: Path) -> bytes:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_run_that_waits_for_nothing_refuses_what_is_not_fit(path):
    source = TableSource(path)
    versions = TableVersions(source, path.parent / "versions", waits=False)
    first = fact_of(versions.take(None))
    write(path, ["a"], BOW)
    with pytest.raises(Refused, match="invalid"):
        versions.take(first)


def test_integers_stand_for_doubles_but_not_for_texts(path):
    source = TableSource(path, columns=(("right_name", "name"),))
    for first_value, fits in ((1.5, True), ("text", False)):
        write_named(path, first_value)
        versions = TableVersions(source, path.parent / "versions")
        first = fact_of(versions.take(None))
        write_named(path, 2)
        assert (versions.take(first) is not None) == fits


def test_an_empty_parquet_file_tells_its_types(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"id": pa.array([], pa.int64()), "geometry": pa.array([], pa.binary()), "size": pa.array([], pa.int16())}
    pq.write_table(pa.table(columns), path)
    types = TableVersions(TableSource(path, columns=(("right_size", "size"),)), tmp_path / "versions").types
    assert (types.id, types.carried) == (pa.int64(), {"right_size": pa.int16()})


def test_a_table_that_becomes_a_link_out_of_the_roots_of_sources_is_no_version(path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TAILRACE_SOURCES", str(path.parent))
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.geojson"
    write(secret, ["b"])
    path.unlink()
    path.symlink_to(secret)
    assert versions.take(first) is None
    assert "lies under no root of sources" in versions.problem
    with pytest.raises(Refused, match="lies under no root of sources"):
        open_versions(path)


def test_versions_of_a_stream_that_began_when_more_of_csv_was_typed(tmp_path):
    path = tmp_path / "t.csv"
    source = write_csv(path, ("06037", "2024-01-01 00:00:00"), ("5", "2024-01-01"))
    table, rows = source.read(path, path.read_bytes()), pa.array([0, 1])
    assert table.values("right_code", pa.int64(), rows).to_pylist() == [6037, 5]
    times = table.values("right_flag", pa.timestamp("us", "UTC"), rows)
    assert times.cast(pa.int64()).to_pylist() == [1_704_067_200_000_000] * 2
    with pytest.raises(ValueError, match=r"right_flag of the table is of the type string, in its first version int64"):
        table.values("right_flag", pa.int64(), rows)


@pytest.mark.parametrize("later", [{"path": Path("zones.geojson")}, {"format": "delta"}], ids=str)
def test_a_stored_version_is_read_by_its_own_format_whatever_the_query_declares_today(tmp_path, later):
    source = write_csv(tmp_path / "zones.csv", ("06037", "true"))
    versions = TableVersions(source, tmp_path / "versions")
    stored = tmp_path / "versions" / fact_of(versions.take(None)).value["file"]
    changed = replace(source, **later)
    assert changed.read(stored, stored.read_bytes()).ids.to_pylist() == [0]
    assert first_types(changed, stored.read_bytes(), stored.suffix) == versions.types


def test_what_changes_while_it_is_read_is_no_version_until_it_is_read_whole(path, monkeypatch):
    versions = open_versions(path)
    first = fact_of(versions.take(None))
    write(path, ["a", "b"])
    read = versions._source.read

    def read_half(position: dict) -> object:
        content = read(position)
        write(path, ["a", "b", "c"])
        return content

    with monkeypatch.context() as patch:
        patch.setattr(versions._source, "read", read_half)
        assert versions.take(first) is None
        assert "it changed while it was read" in versions.problem
    assert "3 rows" in versions.take(first).evidence
    assert versions.problem is None
