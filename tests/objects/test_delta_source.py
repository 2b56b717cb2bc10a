"""A Delta table in an S3-compatible store as source: the answers are those of the same table in a directory."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from kit.parts.object_store import BUCKET
from kit.runs.local_driver import Driver
from kit.runs.object_streams import START, answers, query_on, readings
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused, SourceChanged
from tailrace.ground.files.object_path import ObjectPath
from tailrace.ground.files.object_stores import store_of
from tailrace.storage.log import Log
from tailrace.storage.table_files import resolve_file
from tailrace.storage.warehouses import storage_options
from tailrace.stream.source_opening import open_feeds


@pytest.fixture
def place(connection):
    """The place of a table that is not there yet."""
    return ObjectPath(f"s3://{BUCKET}/tables/{uuid.uuid4().hex}", connection)


@pytest.fixture
def stream(place, tmp_path):
    """A stream of a table's first commit, which was read, and a second one."""
    append(place, 0)
    app = Driver(query_on(place.url, "delta", place.connection), tmp_path / "warehouse")
    app.run()
    append(place, 1)
    return app


def append(place: Path | ObjectPath, number: int, **options) -> None:
    rows = readings(400 * number, 400)
    write_deltalake(str(place), rows, mode="append", storage_options=storage_options(place), **options)


def table(place: ObjectPath) -> DeltaTable:
    return DeltaTable(place.url, storage_options=storage_options(place))


def fresh(app: Driver, live: bool = False):
    (feed,) = open_feeds(CompiledQuery.declare(app.query), app.layout, app.layout.manifest(), live=live).values()
    return feed.fresh()


@pytest.mark.parametrize("partitions", [[], ["day"]], ids=["flat", "partitioned"])
def test_the_answers_are_those_of_the_same_table_in_a_directory(place, tmp_path, partitions):
    local, apps = tmp_path / "in", []
    for number in range(3):
        days = ["a day" if n < 200 else "é=1" for n in range(400)]
        rows = readings(400 * number, 400).append_column("day", [days])
        write_deltalake(local, rows, mode="append", partition_by=partitions)
        for file in sorted(local.rglob("*.*"), reverse=True):  # the log last
            (place / file.relative_to(local)).write_bytes(file)
        if not apps:
            queries = query_on(str(local), "delta", None), query_on(place.url, "delta", place.connection)
            apps = [Driver(query, tmp_path / name) for query, name in zip(queries, ("disk", "bucket"), strict=True)]
        for app in apps:
            app.run(batch_rows=150, flush=number == 2)
    expected, actual = map(answers, apps)
    assert len(expected) > 30
    assert actual == expected


def test_a_file_whose_name_has_a_space_is_read(place, tmp_path):
    """Spark writes a partition's value as it is, and only the log has it encoded."""
    write_deltalake(tmp_path / "in", readings(0, 400))
    (file,) = (tmp_path / "in").glob("*.parquet")
    (commit,) = (tmp_path / "in" / "_delta_log").glob("*.json")
    (place / f"city=New York/{file.name}").write_bytes(file)
    (place / f"_delta_log/{commit.name}").write_bytes(
        commit.read_text().replace(f'"path":"{file.name}"', f'"path":"city=New%20York/{file.name}"').encode()
    )
    app = Driver(query_on(place.url, "delta", place.connection), tmp_path / "warehouse")
    app.run()
    assert app.tables.read("segments").column("rows").to_pylist() == [400]


def test_a_correction_reads_the_tables_files_again(stream):
    stream.run(flush=True)
    log = Log.read(stream.pipeline.readers[0], stream.tables, START + 10**9)
    tuples = [log.reader().read(piece, ["id"]) for piece in log.pieces()]
    assert sorted(id_ for batch in tuples for id_ in batch.column("id").to_pylist()) == sorted(
        f"t{n}" for n in range(800) if n not in (5, 405)
    )


def test_a_compaction_brings_no_rows_and_removed_rows_end_the_stream(stream, place):
    stream.run()
    table(place).optimize.compact()
    assert fresh(stream) == []
    table(place).delete("id = 't1'")
    with pytest.raises(SourceChanged, match="it removed or changed rows"):
        fresh(stream)


def test_a_file_that_was_vacuumed_before_it_was_read_ends_the_stream(stream, place, gateway):
    (read,) = stream.tables.read("segments").column("path").to_pylist()
    (file,) = set(table(place).file_uris()) - {read}
    gateway.delete(file.partition(f"{BUCKET}/")[2])
    with pytest.raises(SourceChanged, match=f"{file}.*it was removed"):
        fresh(stream)


def test_a_live_feed_goes_on_when_the_store_is_back(stream, place, gateway):
    (feed,) = open_feeds(
        CompiledQuery.declare(stream.query), stream.layout, stream.layout.manifest(), live=True
    ).values()
    assert [segment.rows for segment in feed.fresh()] == [400]
    gateway.stop()
    try:
        for opened in (feed.fresh, lambda: fresh(stream, live=True)):
            with pytest.raises(OSError, match=place.url):
                opened()
    finally:
        gateway.start()
    append(place, 2)
    assert [segment.rows for segment in feed.fresh()] == [400]
    assert feed.fresh() == []


def test_a_wrong_secret_is_told_and_not_taken_for_a_missing_table(stream, gateway, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", gateway.connection(password="another one"))
    store_of.cache_clear()
    with pytest.raises(PermissionError, match="the object store refuses access"):
        fresh(stream)


def test_where_no_table_is_one_is_asked_for(place, tmp_path):
    with pytest.raises(Refused, match="there is no Delta table"):
        Driver(query_on(place.url, "delta", place.connection), tmp_path / "warehouse").run()


@pytest.mark.parametrize("uri", ["/in/part.parquet", "file:///in/part.parquet", "https://host/part.parquet", "../part"])
def test_a_file_elsewhere_than_in_an_object_store_is_refused(place, uri):
    with pytest.raises(Refused, match="which is no object that can be read"):
        resolve_file(uri, place)


def test_a_file_in_an_object_store_is_none_of_a_table_on_a_disk(tmp_path):
    with pytest.raises(Refused, match="which is on no disk"):
        resolve_file("s3://lake/part.parquet", tmp_path)


def test_a_table_may_name_files_of_another_bucket(place):
    copied = resolve_file("s3://other/in/part.parquet", place)
    assert copied == ObjectPath("s3://other/in/part.parquet", place.connection)
