"""Lookups from end to end, held to SQL joins by DuckDB: the page's example, versions, replays, and what has no row."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake

from kit.runs.local_driver import correct_here
from kit.runs.warehouse import EPOCH, TIME, read_paid
from kit.suite.command_line import call
from tailrace.ground.errors import Refused
from tailrace.panels.query_view import QueryView
from tailrace.panels.settings import PANEL
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.backup import back_up
from tailrace.storage.layout import Layout
from tailrace.storage.restore import restore
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import rebuild, run
from tailrace.stream.run_options import RunOptions

PAGE = Path(__file__).parents[3] / "docs" / "lookups.md"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
COUNT, TEN = 1000, 10
RANDOM = np.random.default_rng(3)
EVENTS = EPOCH + np.arange(COUNT) * 10
ARRIVALS = EVENTS + RANDOM.integers(0, 4000, COUNT)
SKUS = RANDOM.integers(0, 6, COUNT)
ORDER = np.argsort(ARRIVALS, kind="stable")
KNOWN = 5  # products 0 to 4 have a row


def write_example(home: Path) -> None:
    """Product 1 costs twice as much from one o'clock on; 7 is unknown."""
    hour = timedelta(hours=1)
    since = pa.array([None, NOON + hour, None, None], pa.timestamp("us", "UTC"))
    until = pa.array([NOON + hour, None, None, None], pa.timestamp("us", "UTC"))
    products = {"product_id": [1, 1, 2, 3], "category": ["a", "a", "b", "samples"], "list_price": [1.0, 2.0, 5.0, 9.0]}
    write_deltalake(home / "products", pa.table(products | {"since": since, "until": until}))
    (home / "orders").mkdir()
    times = [NOON + each * hour for each in (-0.5, 0, 0.5, 1, 1.5, 0, 2.5)]
    orders = {"order_id": [*"abcdefg"], "ordered": times, "received": sorted(times), "sku": [1, 1, 2, 1, 1, 7, 3]}
    pq.write_table(pa.table(orders | {"pieces": [1, 2, 3, 4, 5, 6, 7]}), home / "orders" / "0.parquet")


@pytest.mark.parametrize("corrections", ["seen", "newest"])
def test_the_example_of_the_page_gives_the_join_by_sql(tmp_path, monkeypatch, capsys, corrections):
    text = PAGE.read_text()
    (yaml,), (commands,) = re.findall(r"```yaml\n(.*?)```", text, re.S), re.findall(r"```sh\n(.*?)```", text, re.S)
    line = "        on_no_match: quarantine"
    assert line in yaml
    (tmp_path / "revenue_by_category.yaml").write_text(
        yaml.replace(line, f"        corrections: {corrections}\n{line}")
    )
    write_example(tmp_path)
    monkeypatch.chdir(tmp_path)
    first, second = (line.split()[1:] for line in commands.strip().splitlines())
    call(monkeypatch, first)
    assert "lookup products has no row for its sku" in capsys.readouterr().err
    if corrections == "newest":
        call(monkeypatch, ["correct", *first[1:-1]])  # all words of `run` but --bounded
        capsys.readouterr()
    call(monkeypatch, [*second, "--format", "jsonl"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    orders, products = pq.read_table("orders"), DeltaTable("products").to_pyarrow_table()  # noqa: F841 (DuckDB reads it)
    expected = duckdb.sql(
        """SELECT category, time_bucket(INTERVAL '1 hour', ordered) AS hour, sum(pieces * list_price)
        FROM orders JOIN products ON sku = product_id
            AND (since IS NULL OR since <= ordered) AND (until IS NULL OR ordered < until)
        WHERE category <> 'samples' GROUP BY ALL ORDER BY ALL"""
    ).fetchall()
    assert len(expected) == 4
    found = [(row["key"], datetime.fromisoformat(row["window_start"]), row["revenue"]) for row in rows]
    assert sorted(found) == [(key, hour.astimezone(UTC), revenue) for key, hour, revenue in expected]


def write_stream(directory: Path) -> None:
    """Write tuples in order of arrival."""
    directory.mkdir()
    times = {"event_time": EVENTS, "arrival_time": ARRIVALS}
    columns = {name: pa.array(values[ORDER]).cast(TIME) for name, values in times.items()}
    columns |= {"id": [f"t{number}" for number in ORDER], "sku": pa.array(SKUS[ORDER], pa.int32())}
    pq.write_table(pa.table(columns), directory / "0.parquet")


def products_of(version: int) -> pa.Table:
    """The products of a version: prices rise by the version, and categories go round."""
    numbers = np.arange(KNOWN)
    category = [f"c{(number + version) % 3}" for number in numbers]
    return pa.table({"sku": numbers, "category": category, "price": numbers + 10.0 * version})


def write_delta(path: Path, version: int) -> None:
    write_deltalake(path, products_of(version), mode="overwrite")


def write_directory(path: Path, version: int) -> None:
    path.mkdir(exist_ok=True)
    for part in (0, 1):
        new = path / ".new"
        pq.write_table(products_of(version).slice(3 * part, 3), new)
        new.rename(path / f"{part}.parquet")


def write_csv(path: Path, version: int) -> None:
    new = path.with_name(".new")
    pa.csv.write_csv(products_of(version), new)
    new.rename(path)


WRITERS: dict[str, Callable[[Path, int], None]] = {"delta": write_delta, "parquet": write_directory, "csv": write_csv}


def query_of(home: Path, form: str = "csv", on_no_match: str = "null", size: str = "1 s", **more: Any) -> Query:
    place = {"path": str(home / "products.csv")} if form == "csv" else {"path": str(home / "products"), "format": form}
    products = place | {"key": "sku", "columns": ["category", "price"], "on_no_match": on_no_match} | more
    stream = {name: name for name in ("event_time", "arrival_time", "id")} | {"key": "group"}
    stream |= {"source": {"format": "parquet", "path": str(home / "in")}, "lookup": {"products": products}}
    stream |= {"columns": {"group": "coalesce(category, 'none')", "paid": "coalesce(price, 0.0) + 1"}}
    sections = {"window": {"size": size}, "aggregate": {"paid": {"function": "sum", "column": "paid"}}}
    return declared_query({"name": "paid", "kind": "aggregate", "streams": {"orders": stream}} | sections)


def place_of(home: Path, form: str) -> Path:
    return home / ("products.csv" if form == "csv" else "products")


def versions_of(tables: Tables) -> list[int]:
    """The version of the table that was in force for each tuple, in the order of their arrival."""
    facts = [fact for fact in tables.read("facts").to_pylist() if fact["about"] == "lookup orders.products"]
    versions = np.zeros(COUNT, int)
    for segment in tables.read("segments").to_pylist():
        number = max(fact["version"] for fact in facts if fact["from_segment"] <= segment["ordinal"])
        versions[segment["position"] : segment["position"] + segment["rows"]] = number
    return versions.tolist()


def expected(tables: Tables, size_ms: int, on_no_match: str = "null") -> list[tuple[str, int, float]]:
    """The answers over all tuples, each joined with the version that was in force for it, by one SQL statement."""
    orders = pa.table({"event": EVENTS[ORDER], "sku": SKUS[ORDER], "version": versions_of(tables)})  # noqa: F841
    parts = [products_of(number).append_column("version", pa.repeat(number + 1, KNOWN)) for number in range(TEN)]
    products = pa.concat_tables(parts)  # noqa: F841 (DuckDB reads it)
    join = "LEFT JOIN" if on_no_match == "null" else "JOIN"
    return duckdb.sql(
        f"""SELECT coalesce(category, 'none') AS key, event // {size_ms} * {size_ms} AS start,
            sum(coalesce(price, 0) + 1)
        FROM orders {join} products USING (sku, version) GROUP BY ALL ORDER BY ALL"""
    ).fetchall()


def run_through_versions(home: Path, form: str, query: Query, warehouse: Path, most: int = TEN) -> None:
    """Run a stream whose table changes after each of its batches."""
    WRITERS[form](place_of(home, form), 0)

    def on_batch(batch: int, *_: object) -> None:
        if batch + 1 < most:
            WRITERS[form](place_of(home, form), batch + 1)

    run(query, warehouse, RunOptions(COUNT // TEN), on_batch)


@pytest.mark.needs("long")
@pytest.mark.parametrize("form", sorted(WRITERS))
def test_ten_versions_are_seen_alike_by_corrections_and_rebuilds_when_their_source_is_gone(tmp_path, form):
    write_stream(tmp_path / "in")
    query, warehouse = query_of(tmp_path, form), tmp_path / "wh"
    run_through_versions(tmp_path, form, query, warehouse)
    tables = Tables(Layout.for_query(warehouse, query.name))
    seen = versions_of(tables)
    assert set(seen) == {*range(1, TEN + 1)}
    declared = tmp_path / "paid.yaml"
    declared.write_text(yaml.safe_dump(query.model_dump(mode="json", exclude_defaults=True)))
    shown = PANEL.read(QueryView(Layout.for_query(warehouse, query.name), declared), PANEL.request())
    assert sum(fact.about == "lookup orders.products" for fact in shown.facts) == TEN, "the page shows the versions"
    place = place_of(tmp_path, form)
    place.unlink() if form == "csv" else shutil.rmtree(place)
    late = tables.read("late").num_rows
    assert late > 0
    assert read_paid(query, warehouse) != expected(tables, 1000), "late tuples are missing"
    correct_here(query, warehouse)
    assert read_paid(query, warehouse) == expected(tables, 1000)
    wider = query_of(tmp_path, form, size="3 s")
    rebuild(wider, warehouse, Path("paid.yaml"))
    correct_here(wider, warehouse)
    again = Tables(Layout.for_query(warehouse, query.name))
    assert read_paid(wider, warehouse) == expected(again, 3000)
    assert versions_of(again) == seen


def test_a_rebuild_that_names_a_further_column_is_refused_where_versions_have_it_in_other_types(tmp_path):
    write_stream(tmp_path / "in")
    query, place = query_of(tmp_path), tmp_path / "products.csv"
    place.write_text("sku,category,price,more\n1,c0,1.5,true\n")

    def on_batch(batch: int, *_: object) -> None:
        if batch == 0:
            place.write_text("sku,category,price,more\n1,c0,1.5,2\n")

    run(query, tmp_path / "wh", RunOptions(COUNT // 2), on_batch)
    with pytest.raises(Refused, match="the type of column more is int64, in versions before bool"):
        rebuild(query_of(tmp_path, columns=["category", "price", "more"]), tmp_path / "wh", Path("paid.yaml"))
    assert read_paid(query, tmp_path / "wh"), "the old answers stand"


@pytest.mark.needs("long")
@pytest.mark.parametrize("on_no_match", ["drop", "quarantine"])
def test_a_record_without_a_row_is_left_out_or_rejected_with_the_reason(tmp_path, on_no_match):
    write_stream(tmp_path / "in")
    query, warehouse = query_of(tmp_path, on_no_match=on_no_match), tmp_path / "wh"
    run_through_versions(tmp_path, "csv", query, warehouse)
    correct_here(query, warehouse)
    tables = Tables(Layout.for_query(warehouse, query.name))
    assert read_paid(query, warehouse) == expected(tables, 1000, on_no_match)
    without = int((SKUS >= KNOWN).sum())
    reasons = tables.read("quarantine")["reason"].to_pylist() if tables.has("quarantine") else []
    counts = tables.read("segments", ["filtered", "unmatched"])
    filtered, unmatched = (sum(counts[name].to_pylist()) for name in ("filtered", "unmatched"))
    assert filtered == unmatched, "no where leaves out any"
    if on_no_match == "drop":
        assert (reasons, filtered) == ([], without)
    else:
        assert (reasons, filtered) == (["lookup products has no row for its sku"] * without, 0)


def test_a_broken_new_version_leaves_the_old_one_in_force_and_is_refused_by_a_bounded_run(tmp_path):
    write_stream(tmp_path / "in")
    query, warehouse, place = query_of(tmp_path), tmp_path / "wh", tmp_path / "products.csv"
    write_csv(place, 0)

    def on_batch(batch: int, *_: object) -> None:
        if batch == 1:
            place.write_text("sku,category,price\n1,c0,1.5\n1,c1,2.5\n")

    with pytest.raises(Refused, match="rows 1 and 2 have one key"):
        run(query, warehouse, RunOptions(COUNT // TEN), on_batch)
    write_csv(place, 1)
    run(query, warehouse, RunOptions(COUNT // TEN))
    correct_here(query, warehouse)
    tables = Tables(Layout.for_query(warehouse, query.name))
    assert versions_of(tables) == [1] * 200 + [2] * 800
    assert read_paid(query, warehouse) == expected(tables, 1000)


def test_a_backup_has_the_versions_and_goes_on_without_the_table(tmp_path):
    write_stream(tmp_path / "in")
    query, warehouse = query_of(tmp_path), tmp_path / "wh"
    run_through_versions(tmp_path, "csv", query, warehouse)
    layout = Layout.for_query(warehouse, query.name)
    back_up(layout, tmp_path / "backup")
    (tmp_path / "products.csv").unlink()
    shutil.rmtree(warehouse)
    restore(tmp_path / "backup", warehouse)
    correct_here(query, warehouse)
    assert read_paid(query, warehouse) == expected(Tables(layout), 1000)


def test_a_rebuild_may_add_a_lookup_whose_first_version_is_that_of_now(tmp_path):
    write_stream(tmp_path / "in")
    query, warehouse = query_of(tmp_path), tmp_path / "wh"
    plain = query.model_copy(
        update={
            "streams": {
                "orders": query.streams["orders"].model_copy(
                    update={"lookup": {}, "columns": {"group": "cast(sku as string)", "paid": "1.0"}}
                )
            }
        }
    )
    run(plain, warehouse, RunOptions(COUNT // TEN))
    write_csv(tmp_path / "products.csv", 0)
    rebuild(query, warehouse, Path("paid.yaml"))
    correct_here(query, warehouse)
    tables = Tables(Layout.for_query(warehouse, query.name))
    assert set(versions_of(tables)) == {1}
    assert read_paid(query, warehouse) == expected(tables, 1000)


def test_a_key_that_can_meet_none_of_the_table_is_refused_before_anything_is_written(tmp_path):
    write_stream(tmp_path / "in")
    query = query_of(tmp_path, key={"event_time": "sku"})
    write_csv(tmp_path / "products.csv", 0)
    with pytest.raises(Refused, match="an integer and a text") as refused:
        run(query, tmp_path / "wh")
    (problem,) = refused.value.problems
    assert problem.where == "streams.orders.lookup.products.key"
    assert not (tmp_path / "wh").exists()


def test_a_lookup_may_find_its_key_by_the_one_above(tmp_path):
    write_stream(tmp_path / "in")
    write_csv(tmp_path / "products.csv", 0)
    pq.write_table(pa.table({"name": ["c0", "c1"], "label": ["zero", "one"]}), tmp_path / "labels.parquet")
    query = query_of(tmp_path)
    labels = {"path": str(tmp_path / "labels.parquet"), "key": {"category": "name"}, "columns": "label"}
    declared = query.model_dump(mode="json", exclude={"disorder"})
    stream = declared["streams"]["orders"]
    stream["lookup"]["labels"] = labels
    stream["columns"]["group"] = "coalesce(label, category, 'none')"
    chained = declared_query(declared)
    run(chained, tmp_path / "wh")
    keys = {key for key, *_ in read_paid(chained, tmp_path / "wh")}
    assert keys == {"zero", "one", "c2", "none"}
