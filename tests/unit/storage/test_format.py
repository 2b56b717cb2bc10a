"""A warehouse in another checkpoint format is refused, with the ways to go on, and left unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archives import unpack
from oracle import Settings
from tailrace.ground.errors import Damaged, Refused
from tailrace.ground.object_path import ObjectPath
from tailrace.query.query import Query
from tailrace.storage import checkpoint
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import STATE_VERSION, CheckpointManifest
from tailrace.stream import local_stream as app
from tailrace.stream.run_options import RunOptions
from warehouse import make_query, make_stream, write_files

FORMAT_4 = Path(__file__).parents[2] / "data" / "warehouse_format_4.tar.gz"
"""Written by commit 7296674: a bounded run with --keep-open over 40 rows."""


@pytest.fixture
def warehouse(tmp_path) -> Path:
    unpack(FORMAT_4, tmp_path / "wh")
    stream = tmp_path / "wh" / "readings" / "_stream"
    (stream / "origin.json").rename(stream / "manifest.json")
    return tmp_path / "wh"


@pytest.fixture
def query(tmp_path) -> Query:
    write_files(make_stream(40, seed=1), tmp_path / "in", [0, 40])
    return make_query(tmp_path / "in", Settings(1000, 500, 100, "sum", ("k_slack", 100)))


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


@pytest.mark.parametrize("live", [False, True])
def test_a_stream_in_an_earlier_format_is_not_resumed(warehouse, query, live):
    before = contents(warehouse)
    with pytest.raises(Refused) as error_info:
        app.run(query, warehouse, RunOptions(live=live))
    message = str(error_info.value)
    assert f"{warehouse / 'readings'}: the stream was begun by an older version of tailrace: format 4" in message
    assert (
        f"that version of tailrace, to go on with it; or another warehouse, or mv {warehouse / 'readings'} " in message
    )
    assert contents(warehouse) == before


@pytest.mark.parametrize("look", [checkpoint.readable, checkpoint.resumable])
def test_a_checkpoint_in_an_earlier_format_is_not_read(warehouse, query, look):
    with pytest.raises(Refused, match="begun by an older version of tailrace"):
        look(Layout.for_query(warehouse, query.name), query)


@pytest.mark.parametrize("look", [checkpoint.readable, checkpoint.resumable])
def test_a_checkpoint_in_a_later_format_is_not_read_whatever_its_fields_are(tmp_path, query, look):
    layout = Layout.for_query(tmp_path / "later", query.name)
    layout.stream.mkdir(parents=True)
    (layout.stream / "manifest.json").write_text('{"format": 1000, "what": "nobody knows"}')
    with pytest.raises(Refused, match="begun by a newer version of tailrace: format 1000") as error_info:
        look(layout, query)
    assert not isinstance(error_info.value, Damaged), "a restored backup would not help"


@pytest.mark.parametrize("value", [None, "9", 9.5])
def test_a_checkpoint_without_a_format_is_not_taken_for_one_in_the_present_format(tmp_path, query, value):
    layout = Layout.for_query(tmp_path / "unknown", query.name)
    layout.create_checkpoint(query.structure(), {}, {})
    file = layout.stream / "manifest.json"
    manifest = json.loads(file.read_text())
    del manifest["format"]
    file.write_text(json.dumps(manifest if value is None else manifest | {"format": value}))
    with pytest.raises(Damaged, match=r"manifest\.json: it is damaged \(.*format"):
        checkpoint.resumable(layout, query)


@pytest.mark.parametrize("state", [STATE_VERSION, STATE_VERSION - 1], ids=["another window", "an older state"])
@pytest.mark.parametrize("is_remote", [False, True], ids=["disk", "bucket"])
def test_a_rebuild_is_advised_only_where_it_is_possible(tmp_path, query, state, is_remote):
    layout = Layout(ObjectPath("s3://lake/tables/readings") if is_remote else tmp_path)
    manifest = CheckpointManifest("1", query.structure() | {"window.size": "2 s"}, {}, state=state)
    with pytest.raises(Refused) as error_info:
        layout.require_same(manifest, query)
    right = "the old value" if state == STATE_VERSION else "the tailrace that wrote it"
    advice = "another name for the query, or another warehouse" if is_remote else "tailrace rebuild FILE --warehouse"
    assert f"{right}; or {advice}" in str(error_info.value)
    assert ("tailrace rebuild" in str(error_info.value)) is not is_remote
