"""Dimension tables in PostgreSQL: columns, versions, validity, and what is broken; replayed without the server."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from kit.runs.postgres_desk import PASSWORD
from kit.runs.table_runs import COUNT, write_stream
from kit.runs.warehouse import read_paid
from tailrace.ground.errors import Refused
from tailrace.ground.facts import Fact
from tailrace.kind.table_place import DatabaseTable
from tailrace.sources.lookup import postgres_columns
from tailrace.sources.lookup.postgres_columns import PostgresColumns
from tailrace.sources.lookup.postgres_table import PostgresTable
from tailrace.spatial_join.table.table_lookup import TableSource
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import rebuild, run
from tailrace.stream.run_options import RunOptions
from tailrace.stream.table_versions import TableVersions
from unit.cli.conftest import tailrace
from unit.spatial_join.test_dimension_tables_page import NOON, PAGE, TEN, expected, pairs_of, query_of, write_example
from unit.stream import test_lookups as lookups

__all__ = ["tailrace"]

TABLE = "reports.zones"
HOUR = timedelta(hours=1)


def ewkb(shape: shapely.Geometry, srid: int = 4326) -> str:
    return shapely.to_wkb(shapely.set_srid(shape, srid), hex=True, include_srid=True)


@pytest.fixture
def geometry(sql):
    """A type of the name and the text of PostGIS's."""
    sql("CREATE TYPE reports.geometry")
    for name, takes, gives, does in (("in", "cstring", "reports.geometry", "textin"),
                                     ("out", "reports.geometry", "cstring", "textout")):  # fmt: skip
        sql(f"CREATE FUNCTION reports.g_{name}({takes}) RETURNS {gives} AS '{does}' LANGUAGE internal IMMUTABLE STRICT")
    sql("CREATE TYPE reports.geometry (INPUT = reports.g_in, OUTPUT = reports.g_out, STORAGE = extended)")
    return "reports.geometry"


def write(sql, shapes, column="text", name="geometry"):
    sql(f"DROP TABLE IF EXISTS {TABLE} CASCADE")
    sql(f"CREATE TABLE {TABLE} (id text, {name} {column}, more numeric(6,2))")
    for each, shape in shapes.items():
        value = "\\x" + ewkb(shape) if column == "bytea" else ewkb(shape)
        sql(f"INSERT INTO {TABLE} VALUES (%s, %s, 1.5)", each, value)


BOX = shapely.box(0, 0, 1, 1)


def versions_of(tmp_path, connection, degrees=True, **more):
    place = DatabaseTable(connection, TABLE)
    source = TableSource(place, degrees=degrees, fields=(("geometry", "the.field"),), format="postgres", **more)
    return TableVersions(source, tmp_path / "versions")


def fact_of(version):
    assert version is not None
    return Fact("table", 1, 0, version.value, version.evidence)


# ---------------------------------------------------------------- columns


def test_values_are_those_that_the_client_reads(connection, sql, monkeypatch):
    """In parts of a row or two; beside psycopg2, which reads each value by itself."""
    columns = {"i2": "smallint", "i4": "integer", "i8": "bigint", "f4": "real", "f8": "double precision", "b": "bool"}
    columns |= {"t": "text", "d": "date", "ts": "timestamp", "tz": "timestamptz", "n": "numeric(12,3)", "by": "bytea"}
    columns |= {'odd {0} "n': "varchar", "bp": "char(3)", "mood": "reports.mood", "price": "reports.price"}
    sql("CREATE TYPE reports.mood AS ENUM ('a', 'b')")
    sql("CREATE DOMAIN reports.price AS numeric(5,2)")
    names = ['"' + name.replace('"', '""') + '"' for name in columns]
    sql(f"CREATE TABLE {TABLE} ({', '.join(map(' '.join, zip(names, columns.values(), strict=True)))})")
    time = datetime(1969, 12, 31, 23, 59, 59, 123456)
    rows = [
        (-7, 8, -(2**63), 0.5, 0.1, True, 'a"\nb,\\.', time.date(), time, time.replace(tzinfo=UTC), Decimal("-1.234"),
         b"\x00\xff", "", "x", "a", Decimal("1.50")),
        (None,) * 16,
        (0, 0, 2**63 - 1, 1024.0, -0.0, False, "", datetime(9999, 12, 31).date(), datetime(1, 1, 1),
         datetime(9999, 12, 31, tzinfo=UTC), Decimal(0), b"", "NaN", "", "b", Decimal("-0.01")),
        (*[None] * 6, "ü✓\t", None, None, None, Decimal("123456789.001"), b"x" * 100, "null", "abc", None, None),
    ]  # fmt: skip
    for row in rows:
        sql(f"INSERT INTO {TABLE} VALUES ({', '.join(['%s'] * len(row))})", *row)
    selected = ", ".join("bp::text" if name == '"bp"' else name for name in names)
    there = [tuple(map(_plain, row)) for row in sql(f"SELECT {selected} FROM {TABLE}")]
    for part in (1, 300, 1 << 20):
        monkeypatch.setattr(postgres_columns, "PART_BYTES", part)
        read = PostgresColumns(PostgresTable(connection=connection, table=TABLE)).read([*columns])
        assert read.column_names == [*columns]
        assert list(zip(*(column.to_pylist() for column in read.columns), strict=True)) == there
    alone = PostgresColumns(PostgresTable(connection=connection, table=TABLE)).read(["i2"])
    assert alone["i2"].to_pylist() == [-7, None, 0, None]


def _plain(value):
    value = bytes(value) if isinstance(value, memoryview) else value
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def test_the_token_changes_with_every_change_of_the_table(connection, sql):
    sql(f"CREATE TABLE {TABLE} (id integer)")
    columns, tokens = PostgresColumns(PostgresTable(connection=connection, table=TABLE)), []
    for change in ("INSERT INTO {} VALUES (1), (2)", "UPDATE {} SET id = 3 WHERE id = 2", "DELETE FROM {} WHERE id = 3",
                   "TRUNCATE {}", "ALTER TABLE {} ADD COLUMN more text DEFAULT 'x'"):  # fmt: skip
        sql(change.format(TABLE))
        tokens.append(columns.token())
        assert columns.token() == tokens[-1] is not None
    assert len(set(tokens)) == len(tokens)


def test_a_transaction_that_began_before_the_token_changes_it_by_its_end(postgres, connection, sql):
    sql(f"CREATE TABLE {TABLE} (id integer)")
    columns = PostgresColumns(PostgresTable(connection=connection, table=TABLE))
    login = {"host": "127.0.0.1", "port": postgres.port, "user": "airflow", "password": PASSWORD, "dbname": "airflow"}
    with closing(psycopg2.connect(**login)) as other, other.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE} VALUES (1)")
        sql("CREATE TABLE reports.later (id integer)")  # so that the other transaction is one of those in progress
        token = columns.token()
        assert columns.token() == token
        other.commit()
    assert columns.token() != token
    assert columns.read(["id"])["id"].to_pylist() == [1]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW {} AS SELECT 1 AS id WHERE now() > '2000-01-01'",
        "CREATE TABLE {} (id integer) PARTITION BY LIST (id)",
        "CREATE TABLE {0} (id integer); ALTER TABLE {0} ENABLE ROW LEVEL SECURITY",
    ],
)
def test_what_may_change_without_a_transaction_has_no_token(connection, sql, statement):
    sql(statement.format(TABLE))
    assert PostgresColumns(PostgresTable(connection=connection, table=TABLE)).token() is None


# ---------------------------------------------------------------- versions


@pytest.mark.parametrize("column", ["text", "bytea", "geometry"])
def test_each_content_is_a_version_and_what_rewrites_the_same_rows_is_none(tmp_path, connection, sql, geometry, column):
    column = geometry if column == "geometry" else column
    write(sql, {"b": BOX, "a": shapely.force_3d(BOX, 7)}, column)
    versions = versions_of(tmp_path, connection)
    first = fact_of(versions.take(None))
    stored = pq.read_table(tmp_path / "versions" / first.value["file"])
    assert stored.column_names == ["id", "geometry"]
    assert stored["id"].to_pylist() == ["a", "b"]
    table = versions.table.read(Path("x.parquet"), (tmp_path / "versions" / first.value["file"]).read_bytes())
    assert shapely.equals(table.shapes, BOX).all()
    assert not shapely.has_z(table.shapes).any()
    sql(f"UPDATE {TABLE} SET more = 2")
    assert versions.take(first) is None
    sql(f"DELETE FROM {TABLE} WHERE id = 'a'")
    second = fact_of(versions.take(first))
    assert second.evidence == f"{TABLE} of connection {connection}: 1 row"
    assert versions.problem is None


def test_nothing_is_read_again_while_nothing_is_committed(tmp_path, connection, sql, monkeypatch):
    write(sql, {"a": BOX})
    versions = versions_of(tmp_path, connection)
    first = fact_of(versions.take(None))
    monkeypatch.setattr(versions._source, "read", lambda position: pytest.fail("it was read again"))
    assert versions.take(first) is None


BROKEN = {
    "the.field: ": f"ALTER TABLE {TABLE} RENAME geometry TO shape",
    "is of the type json": f"ALTER TABLE {TABLE} ALTER geometry TYPE json USING '{{}}'",
    "there is no such table": f"DROP TABLE {TABLE}",
    "has no id": f"INSERT INTO {TABLE} VALUES (NULL, '{ewkb(BOX)}')",
    "have the same id a": f"INSERT INTO {TABLE} VALUES ('a', '{ewkb(BOX)}')",
    "could not be read": f"INSERT INTO {TABLE} VALUES ('b', '{ewkb(BOX)[:30]}')",
    "geometries of the SRID 3857": f"INSERT INTO {TABLE} VALUES ('b', '{ewkb(BOX, 3857)}')",
}


def test_a_broken_version_leaves_the_one_in_force_and_is_refused_without_one(tmp_path, connection, sql):
    for said, change in BROKEN.items():
        write(sql, {"a": BOX})
        versions = versions_of(tmp_path, connection, on_invalid="skip" if "SRID" in said else "refuse")
        fact = fact_of(versions.take(None))
        sql(change)
        assert versions.take(fact) is None
        assert said in versions.problem
        assert TABLE in versions.problem
        with pytest.raises(Refused, match=re.escape(said)):
            versions_of(tmp_path, connection, on_invalid="skip" if "SRID" in said else "refuse")
        write(sql, {"a": BOX, "b": BOX})
        assert versions.take(fact) is not None
        assert versions.problem is None


def test_in_a_plane_one_srid_is_taken_and_two_are_refused(tmp_path, connection, sql):
    write(sql, {})
    sql(f"INSERT INTO {TABLE} VALUES ('a', %s), ('b', %s)", ewkb(BOX, 25832), ewkb(BOX, 25832))
    assert fact_of(versions_of(tmp_path, connection, degrees=False).take(None)).evidence.endswith("2 rows")
    sql(f"UPDATE {TABLE} SET geometry = %s WHERE id = 'b'", ewkb(BOX, 25833))
    with pytest.raises(Refused, match="SRIDs 25832, 25833"):
        versions_of(tmp_path, connection, degrees=False)


def test_a_server_that_is_away_or_a_locked_table_leave_the_version_in_force(
    tmp_path, postgres, connection, sql, monkeypatch
):
    write(sql, {"a": BOX})
    versions = versions_of(tmp_path, connection)
    fact = fact_of(versions.take(None))
    sql(f"DELETE FROM {TABLE}")
    away = postgres.connection(port=1)
    with monkeypatch.context() as patch:
        patch.setenv(f"AIRFLOW_CONN_{connection.upper()}", away)
        assert versions.take(fact) is None
        assert "it can't be read" in versions.problem
        assert PASSWORD not in versions.problem
        with pytest.raises(Refused) as refused:
            versions_of(tmp_path, connection)
        assert PASSWORD not in str(refused.value)
    monkeypatch.setattr(postgres_columns, "LOCK_TIMEOUT", "SET lock_timeout = '1ms'")
    login = {"host": "127.0.0.1", "port": postgres.port, "user": "airflow", "password": PASSWORD, "dbname": "airflow"}
    with closing(psycopg2.connect(**login)) as other, other.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {TABLE}")
        assert versions.take(fact) is None
        assert "lock timeout" in versions.problem
    assert versions.take(fact) is not None
    assert versions.problem is None


# ---------------------------------------------------------------- whole queries


def test_the_example_of_the_page_gives_the_outer_join(
    tmp_path, monkeypatch, capsys, connection, sql, geometry, tailrace
):
    whole, section = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)
    text = re.sub(r"  table:\n(?:    .*\n)+", section, whole)
    assert "format: postgres" in text
    assert f"connection: {connection}\n" in text
    (tmp_path / "parcels_by_zone.yaml").write_text(text)
    write_example(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ["run", "parcels_by_zone.yaml", "--engine", "local", "--warehouse", "warehouse", "--bounded"]
    refused = tailrace(*words, code=2)
    assert "there is no such table" in refused.stderr
    assert "right would be" in refused.stderr
    assert not list(tmp_path.glob("warehouse/**/_delta_log"))
    sql(f"CREATE TABLE {TABLE} (zone text, shape {geometry}, since timestamptz, until timestamptz, tariff float8)")
    zones = [("west", (0, 0, 5, 1), "-infinity", NOON + HOUR, 1.0), ("west", (0, 0, 6, 1), NOON + HOUR, None, 1.5),
             ("east", (8, 0, 9, 1), NOON, "infinity", 2.0)]  # fmt: skip
    for zone, box, since, until, tariff in zones:
        sql(f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s, %s)", zone, ewkb(shapely.box(*box)), since, until, tariff)
    tailrace("validate", "parcels_by_zone.yaml")
    tailrace(*words)
    shown = tailrace("results", "parcels_by_zone.yaml", "--warehouse", "warehouse", "--format", "jsonl").stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    bounds = [[None if isinstance(one, str) else one for one in each[2:4]] for each in zones]
    table = {"zone": [each[0] for each in zones], "tariff": [each[4] for each in zones]}
    table |= {"x0": [each[1][0] for each in zones], "x1": [each[1][2] for each in zones]}
    table |= {"since": [each[0] for each in bounds], "until": [each[1] for each in bounds]}
    condition = "lon > x0 and lon < x1 and (since is null or seen >= since) and (until is null or seen < until)"
    with duckdb.connect() as memory:
        memory.register("zones", pa.table(table))
        memory.register("parcels", pq.read_table("parcels"))
        joined = memory.sql(f"select parcel, zone, tariff from parcels left join zones on {condition}").fetchall()
    assert {(row["left_id"], row["right_id"], row["right_tariff"]) for row in rows} == set(joined)
    assert len(rows) == len(joined) == 6


def test_ten_versions_are_replayed_alike_when_their_table_is_gone(tmp_path, connection, sql):
    write_stream(tmp_path / "in")
    warehouse = tmp_path / "wh"
    table = {"format": "postgres", "connection": connection, "table": TABLE, "on_no_match": "null"}
    write(sql, TEN[0])

    def on_batch(batch: int, *_: object) -> None:
        if batch + 1 < len(TEN):
            for name, shape in TEN[batch + 1].items():
                sql(f"UPDATE {TABLE} SET geometry = %s WHERE id = %s", ewkb(shape), name)

    run(query_of(tmp_path, table), warehouse, RunOptions(COUNT // 10), on_batch)
    tables = Tables(Layout.for_query(warehouse, "where"))
    before = pairs_of(tables)
    assert len(set(before)) == len(before)
    assert set(before) == expected(tables)
    assert {version for _, _, version in before} == set(range(1, 11))
    sql(f"DROP TABLE {TABLE}")
    rebuild(query_of(tmp_path, table, select=["left.lon"]), warehouse, Path("where.yaml"))
    again = Tables(Layout.for_query(warehouse, "where"))
    assert "left_lon" in again.read("results").column_names, "all was answered again"
    assert sorted(pairs_of(again), key=repr) == sorted(before, key=repr)


def test_a_lookup_reads_a_table_of_the_server_and_is_rebuilt_without_it(tmp_path, connection, sql):
    lookups.write_stream(tmp_path / "in")
    place = {"format": "postgres", "connection": connection, "table": "reports.products", "path": None}
    query = lookups.query_of(tmp_path, **place)
    sql("CREATE TABLE reports.products (sku integer, category text, price float8)")

    def change(version: int) -> None:
        sql("TRUNCATE reports.products")
        for row in lookups.products_of(version).to_pylist():
            sql("INSERT INTO reports.products VALUES (%s, %s, %s)", *row.values())

    change(0)
    run(query, tmp_path / "wh", RunOptions(lookups.COUNT // 2), lambda batch, *_: change(1) if batch == 0 else None)
    tables = Tables(Layout.for_query(tmp_path / "wh", query.name))
    seen = lookups.versions_of(tables)
    assert set(seen) == {1, 2}
    sql("DROP TABLE reports.products")
    wider = lookups.query_of(tmp_path, size="3 s", **place)
    rebuild(wider, tmp_path / "wh", Path("paid.yaml"))
    lookups.correct_here(wider, tmp_path / "wh")
    again = Tables(Layout.for_query(tmp_path / "wh", query.name))
    assert lookups.versions_of(again) == seen
    assert read_paid(wider, tmp_path / "wh") == lookups.expected(again, 3000)
