"""Stores of chunks: what a state names is there, in every attempt of a batch; what none names is deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.engine.chunk_stores import ChunkFiles, LostChunk, MemoryChunks, delete_unnamed, store_new
from tailrace.operators.chunk import Chunk

ROWS = pa.record_batch({"key": [1.0, 2.0], "of_rows": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))})


@pytest.fixture(params=["memory", "files"])
def store(request, tmp_path):
    return MemoryChunks() if request.param == "memory" else ChunkFiles(tmp_path / "chunks" / "0")


def test_a_chunk_is_read_as_it_was_written(store):
    store.write("00000001-left-0", ROWS)
    assert store.read("00000001-left-0").rows.equals(ROWS)
    assert store.names() == ["00000001-left-0"]


def test_only_new_chunks_are_stored_under_names_of_their_batch(store):
    old = Chunk(ROWS, "00000001-left-0")
    stored = store_new(store, {"left": (old, Chunk(ROWS.slice(1))), "right": (Chunk(ROWS),)}, 7)
    names = {part: [chunk.name for chunk in chunks] for part, chunks in stored.items()}
    assert names == {"left": ["00000001-left-0", "00000007-left-1"], "right": ["00000007-right-0"]}
    assert sorted(store.names()) == ["00000007-left-1", "00000007-right-0"]
    assert store.read("00000007-left-1").rows.equals(ROWS.slice(1))


def test_a_batch_that_is_run_again_replaces_its_chunks(store):
    store.write("00000002-left-0", ROWS.slice(1))
    store_new(store, {"left": (Chunk(ROWS),)}, 2)
    assert store.read("00000002-left-0").rows.equals(ROWS)


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
    rows = store.read("00000001-left-0").rows
    store.delete("00000001-left-0")
    assert rows.equals(ROWS)


def assert_lost(directory: Path, damage: Callable[[Path], object], reason: str) -> None:
    """Assert that a chunk whose file is damaged is told as lost, by the file's name."""
    store = ChunkFiles(directory)
    store.write("00000001-left-0", ROWS)
    damage(directory / "00000001-left-0.arrow")
    with pytest.raises(LostChunk, match=rf"00000001-left-0\.arrow.*{reason}"):
        store.read("00000001-left-0")


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
        store.read("00000001-left-0")


def test_a_file_cut_by_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    store = ChunkFiles(tmp_path)
    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        store.write("00000001-left-0", ROWS)
    assert list(tmp_path.iterdir()) == []
