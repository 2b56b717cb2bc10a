"""A prefix of an S3-compatible store as source: the answers are those of the same files in a directory."""

from __future__ import annotations

import uuid

import pytest

from kit.parts.object_store import BUCKET, PASSWORD
from kit.runs.local_driver import Driver
from kit.runs.object_streams import START, answers, query_on, readings, write
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused, SourceChanged
from tailrace.ground.files.object_stores import store_of
from tailrace.sources.discovery.object_files import find_object
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.stream.source_opening import open_feeds


@pytest.fixture
def place(gateway):
    """A prefix of its own, and a function that puts a file there."""
    prefix = f"runs/{uuid.uuid4().hex}"
    return f"s3://{BUCKET}/{prefix}", lambda file: gateway.put(f"{prefix}/{file.name}", file.read_bytes())


@pytest.mark.parametrize("format_name", ["parquet", "json", "csv"])
def test_the_answers_are_those_of_the_same_files_in_a_directory(place, connection, tmp_path, format_name):
    url, put = place
    local = tmp_path / "in"
    local.mkdir()
    apps = []
    for number in range(3):
        write(readings(400 * number, 400), file := local / f"part-{number}.{format_name}")
        put(file)
        if not apps:
            apps = [
                Driver(query_on(str(local), format_name, None), tmp_path / "local"),
                Driver(query_on(url, format_name, connection), tmp_path / "remote"),
            ]
        for app in apps:
            app.run(batch_rows=150, flush=number == 2)
    expected, actual = map(answers, apps)
    assert len(expected) > 40
    assert actual == expected
    quarantines = [app.tables.read("quarantine").to_pylist() for app in apps]
    assert [len(rows) for rows in quarantines] == [3, 3]
    assert {row["position"].rpartition("#")[0] for row in quarantines[1]} == {
        f"{url}/part-{n}.{format_name}" for n in range(3)
    }


@pytest.fixture
def stream(place, connection, tmp_path):
    """A stream of two files, of which the first was read, and a function that writes a file and puts it."""
    url, put = place

    def add(number: int, first: int = 0) -> None:
        write(readings(first or 400 * number, 400), file := tmp_path / f"part-{number}.parquet")
        put(file)

    add(0)
    app = Driver(query_on(url, "parquet", connection), tmp_path / "warehouse")
    app.run()
    add(1)
    return app, add


def fresh(app: Driver, live: bool = False):
    (feed,) = open_feeds(CompiledQuery.declare(app.query), app.layout, app.layout.manifest(), live=live).values()
    return feed.fresh()


def test_an_object_that_is_replaced_or_removed_after_it_was_taken_ends_the_stream(stream, gateway):
    app, add = stream
    add(0, 5000)
    with pytest.raises(SourceChanged, match="a file of this name was read before"):
        fresh(app)
    gateway.delete(app.query.streams["readings"].source.path.partition("lake/")[2] + "/part-0.parquet")
    with pytest.raises(SourceChanged, match="it was removed"):
        fresh(app)


def test_an_object_replaced_while_it_is_read_is_not_mixed_with_the_other(stream):
    app, add = stream
    (segment,) = fresh(app)
    file = find_object(segment.path, "lake")
    add(1, 5000)
    with pytest.raises(OSError, match="replaced or removed while it was read"):
        file.open().read()
    with pytest.raises(SourceChanged, match="was changed since"):
        app.pipeline.readers[0].read(segment)


def test_a_correction_reads_the_objects_again(stream):
    app, _ = stream
    app.run(flush=True)
    log = Log.read(app.pipeline.readers[0], app.tables, START + 10**9)
    tuples = [log.reader().read(piece, ["id"]) for piece in log.pieces()]
    assert sorted(id_ for batch in tuples for id_ in batch.column("id").to_pylist()) == sorted(
        f"t{n}" for n in range(800) if n not in (5, 405)
    )


def test_a_live_feed_takes_an_object_at_once_and_goes_on_when_the_store_is_back(stream, gateway):
    app, add = stream
    (feed,) = open_feeds(CompiledQuery.declare(app.query), app.layout, app.layout.manifest(), live=True).values()
    assert [segment.rows for segment in feed.fresh()] == [400]
    gateway.stop()
    try:
        with pytest.raises(OSError, match="s3://lake/runs/"):
            feed.fresh()
    finally:
        gateway.start()
    add(2)
    assert [segment.rows for segment in feed.fresh()] == [400]
    assert feed.fresh() == []


def test_a_live_feed_takes_a_json_object_without_a_last_newline(place, connection, tmp_path):
    url, put = place
    write(readings(0, 10), file := tmp_path / "a.json")
    file.write_text(file.read_text().rstrip("\n"))
    put(file)
    query = query_on(url, "json", connection)
    (feed,) = open_feeds(
        CompiledQuery.declare(query), Layout.for_query(tmp_path / "warehouse", "load"), None, live=True
    ).values()
    assert [segment.rows for segment in feed.fresh()] == [10]  # of a file on a disk the writer may still be at work


def test_a_wrong_secret_is_told_without_showing_it(stream, gateway, monkeypatch):
    app, _ = stream
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", gateway.connection(password=PASSWORD[::-1]))
    store_of.cache_clear()
    with pytest.raises(PermissionError, match="the object store refuses access") as refusal:
        fresh(app)
    assert PASSWORD[::-1] not in str(refusal.value)


def test_a_prefix_without_objects_and_one_with_a_directory_are_refused(place, connection, tmp_path):
    url, _ = place
    with pytest.raises(Refused, match="there is no such object, and none below it"):
        Driver(query_on(url, "parquet", connection), tmp_path / "none").run()
    with pytest.raises(Refused, match="this is a directory"):
        Driver(query_on(f"s3://{BUCKET}/runs", "parquet", connection), tmp_path / "above").run()
    with pytest.raises(Refused, match="there is no such object, and none below it"):
        Driver(query_on("s3://no-such-bucket/in", "parquet", connection), tmp_path / "bucket").run()
