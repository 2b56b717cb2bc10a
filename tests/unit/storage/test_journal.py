"""The journal: its appends are atomic, and old entries are merged into blocks, wherever the process is killed."""

from __future__ import annotations

import errno
import gzip
import os
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from kit.fakes.memory_bucket import memory_bucket
from kit.suite.waiting import PATIENCE_S
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.errors import Busy
from tailrace.ground.facts import Fact
from tailrace.ground.files.object_path import Location, ObjectPath
from tailrace.sources.segments import Segment
from tailrace.storage import journal as journals
from tailrace.storage.journal import BatchRecord, Journal, LogPosition, StreamPosition

BLOCK = 3


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "BLOCK", BLOCK)


def nth_record(batch: int) -> BatchRecord:
    """The n-th record, with every field in use."""
    segments = tuple(
        Segment(
            f"/in/é {batch}\u2028\n",
            part,
            3,
            2 * batch + part,
            6 * batch + 3 * part,
            batch or None,
            77,
            9,
            batch,
            stream="left",
        )
        for part in range(batch % 3)
    )
    facts = (Fact("settings", 1, 0, {"k": "½"}, "declared"),)
    heartbeats, idle = {"left": 5 * batch} if batch else {}, ("right",) if batch % 4 else ()
    batch_header = BatchHeader(batch, facts, heartbeats, idle, batch % 2 == 1, batch % 5 == 4, idle_ms=batch)
    left = StreamPosition(2 * batch, batch - 1, 8 * batch, 9 * batch, batch or None, batch % 3 == 0)
    position = LogPosition({"left": left, "right": StreamPosition(batch)}, 3 * batch, 10 * batch, batch % 2 == 0)
    return BatchRecord(batch_header, segments, position)


def journal_of(directory: Location, entries: int) -> Journal:
    journal = Journal(directory)
    for batch in range(entries):
        journal.append(nth_record(batch))
    return journal


def names(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


def assert_holds(directory: Location, entries: int) -> None:
    """Assert that a new reader of the directory reads these records, and no others."""
    journals._block.cache_clear()
    journal = Journal(directory)
    assert [journal[batch] for batch in range(entries)] == [nth_record(batch) for batch in range(entries)]
    assert [batch in journal for batch in range(entries + 2 * BLOCK)] == [True] * entries + [False] * 2 * BLOCK
    assert journal.last() == (nth_record(entries - 1) if entries else None)


@pytest.mark.parametrize("entries", [*range(1, 15), 40])
def test_appended_records_are_read_back(tmp_path, entries):
    journal_of(tmp_path, entries)
    assert_holds(tmp_path, entries)


def test_an_empty_journal_has_no_records(tmp_path):
    assert_holds(tmp_path, 0)
    with pytest.raises(FileNotFoundError):
        Journal(tmp_path)[0]


# append 6: blocks before the last full one are merged, so that the newest entries stay files of their own
def test_old_blocks_are_one_file_each_and_the_last_full_one_is_not_merged(tmp_path):
    journal_of(tmp_path, 6)
    assert names(tmp_path) == [f"{batch:08d}.json" for batch in range(6)]
    Journal(tmp_path).append(nth_record(6))
    assert names(tmp_path) == ["00000000.jsonl.gz", *(f"{batch:08d}.json" for batch in range(3, 7))]
    for batch in range(7, 13):
        Journal(tmp_path).append(nth_record(batch))
    blocks = ["00000000.jsonl.gz", "00000003.jsonl.gz", "00000006.jsonl.gz"]
    assert names(tmp_path) == [*blocks, *(f"{batch:08d}.json" for batch in range(9, 13))]


def test_the_number_of_single_files_is_bounded(tmp_path):
    journal_of(tmp_path, 300)
    assert len(list(tmp_path.glob("*.json"))) <= 2 * BLOCK


def test_a_record_can_be_read_while_its_block_is_merged(tmp_path, monkeypatch):
    """As for a worker that reads beside the driver: the entry's file is merged into a block just before it is read."""
    journal = journal_of(tmp_path, 6)
    read = Path.read_text

    def append_then_read(file: Path, *options: object) -> str:
        monkeypatch.setattr(Path, "read_text", read)
        journal.append(nth_record(6))
        return read(file, *options)

    monkeypatch.setattr(Path, "read_text", append_then_read)
    assert journal[1] == nth_record(1)


def test_a_partly_written_entry_is_ignored(tmp_path):
    journal_of(tmp_path, 2)
    (tmp_path / ".00000002.json.new").write_text('{"head"')
    assert_holds(tmp_path, 2)
    Journal(tmp_path).append(nth_record(2))
    assert_holds(tmp_path, 3)


class Killed(BaseException):
    """The process was killed."""


# The file operations of append 6: create the entry's file, write the block, remove the files of the block's entries.
STEPS = ["open", "fsync", "link", "unlink", "open", "fsync", "rename", *["unlink"] * 3]


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> list[str]:
    """Raise `Killed` before the n-th file operation; returns the growing list of those done."""
    finished_steps: list[str] = []

    def count(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def counting(*args: object, **named: object) -> object:
            if name != "open" or "w" in str((args[1:], named)):  # opening to read is no step
                if len(finished_steps) == step:
                    raise Killed
                finished_steps.append(name)
            return original(*args, **named)

        monkeypatch.setattr(owner, name, counting)

    for owner, name in ((Path, "open"), (os, "fsync"), (os, "link"), (Path, "rename"), (Path, "unlink")):
        count(owner, name)
    return finished_steps


@pytest.mark.parametrize("step", range(len(STEPS) + 1))
def test_an_append_is_atomic_wherever_it_is_killed(tmp_path, monkeypatch, step):
    journal_of(tmp_path, 6)
    with monkeypatch.context() as patch:
        finished_steps = kill_at(patch, step)
        if step < len(STEPS):
            with pytest.raises(Killed):
                Journal(tmp_path).append(nth_record(6))
        else:
            Journal(tmp_path).append(nth_record(6))
        assert finished_steps == STEPS[:step]
    entries = 7 if step > STEPS.index("link") else 6
    assert_holds(tmp_path, entries)
    for batch in range(entries, 20):
        Journal(tmp_path).append(nth_record(batch))
    assert_holds(tmp_path, 20)
    assert len([name for name in names(tmp_path) if name.endswith(".new")]) <= 1  # which the next start removes
    assert len(list(tmp_path.glob("*.json"))) <= 2 * BLOCK


def test_an_entry_that_another_driver_has_appended_is_not_replaced(tmp_path):
    journal_of(tmp_path, 20)
    for batch in (19, 0):  # 0 is in a block, and has no file of its own
        with pytest.raises(Busy, match=f"another driver has planned batch {batch} meanwhile"):
            Journal(tmp_path).append(replace(nth_record(batch), position=LogPosition({}, planned_ms=7)))
    assert_holds(tmp_path, 20)
    assert not [name for name in names(tmp_path) if name.endswith(".new")]


def test_an_entry_of_which_nobody_could_tell_whether_it_was_written_is_appended_again(tmp_path):
    journal_of(tmp_path, 20).append(nth_record(19))
    assert_holds(tmp_path, 20)


def test_entries_that_can_not_be_merged_now_are_there_and_are_merged_later(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(journals, "write_atomically", fail)
        journal_of(tmp_path, 2 * BLOCK + 1)
    assert len(names(tmp_path)) == 2 * BLOCK + 1
    for batch in range(2 * BLOCK + 1, 3 * BLOCK + 1):
        Journal(tmp_path).append(nth_record(batch))
    assert_holds(tmp_path, 3 * BLOCK + 1)
    assert [name for name in names(tmp_path) if name.endswith(".gz")] == ["00000000.jsonl.gz", "00000003.jsonl.gz"]


def test_the_entries_of_a_block_are_read_at_once_and_deleted_at_once(monkeypatch):
    directory = memory_bucket(monkeypatch)
    journal_of(directory, 2 * BLOCK)
    read, all_read, deleted = ObjectPath.read_bytes, Barrier(BLOCK), []
    delete = journals.unlink_all

    def read_beside_the_others(file: ObjectPath) -> bytes:
        all_read.wait(PATIENCE_S)
        return read(file)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectPath, "read_bytes", read_beside_the_others)
        patch.setattr(journals, "unlink_all", lambda files: deleted.append(len(files)) or delete(files))
        Journal(directory).append(nth_record(2 * BLOCK))
    assert deleted == [BLOCK]
    assert_holds(directory, 2 * BLOCK + 1)


@pytest.mark.parametrize("is_remote", [False, True])
def test_entries_of_a_block_that_could_not_be_deleted_are_deleted_with_the_next_one(tmp_path, monkeypatch, is_remote):
    directory = memory_bucket(monkeypatch) if is_remote else tmp_path

    def fail(_: object) -> None:
        raise PermissionError("the object store refuses access")

    journal_of(directory, 2 * BLOCK)
    with monkeypatch.context() as patch:
        patch.setattr(journals, "unlink_all", fail)
        Journal(directory).append(nth_record(2 * BLOCK))
    assert_holds(directory, 2 * BLOCK + 1)
    assert len(list(directory.glob("*.json"))) == 2 * BLOCK + 1
    for batch in range(2 * BLOCK + 1, 3 * BLOCK + 1):
        Journal(directory).append(nth_record(batch))
    assert_holds(directory, 3 * BLOCK + 1)
    assert len(list(directory.glob("*.json"))) == BLOCK + 1


def test_a_partly_written_block_is_ignored(tmp_path):
    journal_of(tmp_path, 6)
    (tmp_path / ".00000000.jsonl.gz.new").write_bytes(gzip.compress(b"{}" * 999)[:20])
    assert_holds(tmp_path, 6)
    Journal(tmp_path).append(nth_record(6))
    assert_holds(tmp_path, 7)
