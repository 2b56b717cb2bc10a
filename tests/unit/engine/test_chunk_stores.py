"""Stores of chunks: what a state names is there, in every attempt of a batch; what none names is deleted."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pytest

from kit.fakes.memory_bucket import memory_bucket
from kit.suite.waiting import PATIENCE_S
from tailrace.engine.chunk_stores import (
    ChunkFiles,
    ChunkObjects,
    ChunkStore,
    LostChunk,
    MemoryChunks,
    delete_unnamed,
    store_new,
)
from tailrace.ground.files.object_path import ObjectPath
from tailrace.operators.chunk import Chunk

ROWS = pa.record_batch({"key": [1.0, 2.0], "of_rows": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))})


@pytest.fixture(params=["memory", "files", "objects"])
def store(request, tmp_path, monkeypatch):
    if request.param == "objects":
        return ChunkObjects(memory_bucket(monkeypatch) / uuid.uuid4().hex)
    return MemoryChunks() if request.param == "memory" else ChunkFiles(tmp_path / "chunks" / "0")


def read(store: ChunkStore, name: str) -> pa.RecordBatch:
    return store.read([name])[name].rows


def test_a_chunk_is_read_as_it_was_written(store):
    store.write("00000001-left-0", ROWS)
    assert read(store, "00000001-left-0").equals(ROWS)
    assert store.names() == ["00000001-left-0"]


def test_only_new_chunks_are_stored_under_names_of_their_batch(store):
    old = Chunk(ROWS, "00000001-left-0")
    stored = store_new(store, {"left": (old, Chunk(ROWS.slice(1))), "right": (Chunk(ROWS),)}, 7)
    names = {part: [chunk.name for chunk in chunks] for part, chunks in stored.items()}
    assert names == {"left": ["00000001-left-0", "00000007-left-1"], "right": ["00000007-right-0"]}
    assert sorted(store.names()) == ["00000007-left-1", "00000007-right-0"]
    assert read(store, "00000007-left-1").equals(ROWS.slice(1))


def test_a_batch_that_is_run_again_replaces_its_chunks(store):
    store.write("00000002-left-0", ROWS.slice(1))
    store_new(store, {"left": (Chunk(ROWS),)}, 2)
    assert read(store, "00000002-left-0").equals(ROWS)


def test_unnamed_chunks_are_deleted_but_those_of_a_later_attempt(store):
    for name in ("00000001-left-0", "00000002-left-0", "00000003-left-0"):
        store.write(name, ROWS)
    delete_unnamed(store, {"00000001-left-0"}, 2)
    assert sorted(store.names()) == ["00000001-left-0", "00000003-left-0"]


def test_deleting_is_idempotent(store):
    store.write("00000001-left-0", ROWS)
    store.delete("00000001-left-0")
    store.delete("00000001-left-0")
    assert store.names() == []


def test_what_is_mapped_into_memory_outlives_its_file(tmp_path):
    store = ChunkFiles(tmp_path)
    store.write("00000001-left-0", ROWS)
    rows = read(store, "00000001-left-0")
    store.delete("00000001-left-0")
    assert rows.equals(ROWS)


def assert_lost(directory: Path, damage: Callable[[Path], object], reason: str) -> None:
    """Assert that a chunk whose file is damaged is told as lost, by the file's name."""
    store = ChunkFiles(directory)
    store.write("00000001-left-0", ROWS)
    damage(directory / "00000001-left-0.arrow")
    with pytest.raises(LostChunk, match=rf"00000001-left-0\.arrow.*{reason}"):
        read(store, "00000001-left-0")


def test_a_lost_file_is_told(tmp_path):
    assert_lost(tmp_path, Path.unlink, "No such file")


@pytest.mark.parametrize("cut", [0, 20, -10])
def test_a_file_that_was_cut_is_told(tmp_path, cut):
    assert_lost(tmp_path, lambda file: file.write_bytes(file.read_bytes()[:cut]), "")


@pytest.mark.parametrize("place", range(0, 700, 7))
def test_a_byte_that_changed_is_found(tmp_path, place):
    def change(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[place % len(content)] ^= 0x40
        file.write_bytes(content)

    assert_lost(tmp_path, change, "checksum")


def test_an_error_of_the_disk_is_no_lost_chunk(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(5, "Input/output error")

    store = ChunkFiles(tmp_path)
    store.write("00000001-left-0", ROWS)
    monkeypatch.setattr(pa, "memory_map", fail)
    with pytest.raises(OSError, match="Input/output"):
        read(store, "00000001-left-0")


def test_a_file_cut_by_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    store = ChunkFiles(tmp_path)
    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        store.write("00000001-left-0", ROWS)
    assert list(tmp_path.iterdir()) == []


def test_missing_objects_are_read_at_once(monkeypatch):
    store, names = ChunkObjects(memory_bucket(monkeypatch) / uuid.uuid4().hex), [f"0000000{n}-left-0" for n in range(4)]
    for name in names:
        store.write(name, ROWS)
    assert store.read(names[:1]).keys() == {names[0]}  # the others are not held any more
    read_bytes, all_read = ObjectPath.read_bytes, Barrier(3)

    def read_beside_the_others(file: ObjectPath) -> bytes:
        all_read.wait(PATIENCE_S)
        return read_bytes(file)

    monkeypatch.setattr(ObjectPath, "read_bytes", read_beside_the_others)
    chunks = store.read(names)
    assert [chunks[name].rows for name in names] == [ROWS] * 4
    assert list(store.read(names)) == names  # and these requests were the last ones


def test_a_lost_or_damaged_object_is_told(monkeypatch):
    store = ChunkObjects(memory_bucket(monkeypatch) / uuid.uuid4().hex)
    with pytest.raises(LostChunk, match="00000001-left-0"):
        store.read(["00000001-left-0"])
    for content in (bytes(4), b"another content"):
        (store.directory / "00000001-left-0.arrow").write_bytes(content)
        with pytest.raises(LostChunk, match="00000001-left-0"):
            store.read(["00000001-left-0"])


def test_an_object_is_not_held_once_its_deletion_was_asked_for(monkeypatch):
    """The request may fail, and have been carried out: then the chunk is lost, which its task is to be told."""
    store = ChunkObjects(memory_bucket(monkeypatch) / uuid.uuid4().hex)
    store.write("00000001-left-0", ROWS)
    unlink = ObjectPath.unlink

    def lose_the_reply(file: ObjectPath, missing_ok: bool = False) -> None:
        unlink(file, missing_ok)
        raise OSError("the reply is lost")

    monkeypatch.setattr(ObjectPath, "unlink", lose_the_reply)
    with pytest.raises(OSError, match="the reply is lost"):
        store.delete("00000001-left-0")
    with pytest.raises(LostChunk):
        store.read(["00000001-left-0"])
