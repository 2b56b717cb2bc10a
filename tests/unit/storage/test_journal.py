"""The journal: entries from 0 on, whole or not at all; old ones folded, whatever a folding was killed at."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import Fact
from tailrace.sources.segments import Segment
from tailrace.storage import journal as journals
from tailrace.storage.journal import BatchRecord, Journal, LogPosition

BLOCK = 3


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_BLOCK", BLOCK)


def entry(batch: int) -> BatchRecord:
    """The n-th; with all that an entry can say."""
    segments = tuple(
        Segment(f"/in/é {batch}\u2028\n", part, 3, 2 * batch + part, 6 * batch + 3 * part, batch or None, 77, 9, batch)
        for part in range(batch % 3)
    )
    facts = (Fact("settings", 1, 0, {"k": "½"}, "declared"),)
    head = BatchHeader(batch, facts, 5 * batch or None, closes=batch % 2 == 1, ends=batch % 5 == 4)
    return BatchRecord(
        head, segments, LogPosition(batch, 2 * batch, batch - 1, 9 * batch, 8 * batch, batch or None, batch % 2 == 0)
    )


def filled(directory: Path, entries: int) -> Journal:
    journal = Journal(directory)
    for batch in range(entries):
        journal.append(entry(batch))
    return journal


def names(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


def assert_holds(directory: Path, entries: int) -> None:
    """Read by one who sees the directory for the first time."""
    journals._block.cache_clear()
    journal = Journal(directory)
    assert [journal[batch] for batch in range(entries)] == [entry(batch) for batch in range(entries)]
    assert [batch in journal for batch in range(entries + 2 * BLOCK)] == [True] * entries + [False] * 2 * BLOCK
    assert journal.last() == (entry(entries - 1) if entries else None)


@pytest.mark.parametrize("entries", [*range(1, 15), 40])
def test_what_was_appended_is_there_in_whole(tmp_path, entries):
    filled(tmp_path, entries)
    assert_holds(tmp_path, entries)


def test_an_empty_journal(tmp_path):
    assert_holds(tmp_path, 0)
    with pytest.raises(FileNotFoundError):
        Journal(tmp_path)[0]


# append 6: the blocks before the last full one are folded, so that the newest entries are files of their own
def test_old_blocks_are_one_file_each_and_the_last_full_one_is_not_folded(tmp_path):
    filled(tmp_path, 6)
    assert names(tmp_path) == [f"{batch:08d}.json" for batch in range(6)]
    Journal(tmp_path).append(entry(6))
    assert names(tmp_path) == ["00000000.jsonl.gz", *(f"{batch:08d}.json" for batch in range(3, 7))]
    for batch in range(7, 13):
        Journal(tmp_path).append(entry(batch))
    folded = ["00000000.jsonl.gz", "00000003.jsonl.gz", "00000006.jsonl.gz"]
    assert names(tmp_path) == [*folded, *(f"{batch:08d}.json" for batch in range(9, 13))]


def test_files_of_a_year_are_few(tmp_path):
    filled(tmp_path, 300)
    assert len(list(tmp_path.glob("*.json"))) <= 2 * BLOCK


def test_a_reader_finds_an_entry_while_its_block_is_folded(tmp_path, monkeypatch):
    """As a worker that reads beside the driver: the file is gone when it looks, and the block is there."""
    journal = filled(tmp_path, 6)
    read = Path.read_text

    def folds_first(file: Path, *how: object) -> str:
        monkeypatch.setattr(Path, "read_text", read)
        journal.append(entry(6))
        return read(file, *how)

    monkeypatch.setattr(Path, "read_text", folds_first)
    assert journal[1] == entry(1)


def test_an_entry_that_was_written_in_part_is_not_there(tmp_path):
    filled(tmp_path, 2)
    (tmp_path / ".00000002.json.new").write_text('{"head"')
    assert_holds(tmp_path, 2)
    Journal(tmp_path).append(entry(2))
    assert_holds(tmp_path, 3)


class Killed(BaseException):
    """The process is gone."""


# what append 6 does to the file system: the entry's own file, the block, and the block's entries are removed
STEPS = ["open", "fsync", "rename"] * 2 + ["unlink"] * 3


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> list[str]:
    """Die before the n-th thing that is done to the file system; tells what was done until then."""
    done: list[str] = []

    def count(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def counted(*args: object, **named: object) -> object:
            if name != "open" or "w" in str((args[1:], named)):  # to read is nothing done
                if len(done) == step:
                    raise Killed
                done.append(name)
            return real(*args, **named)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in ((Path, "open"), (os, "fsync"), (Path, "rename"), (Path, "unlink")):
        count(owner, name)
    return done


@pytest.mark.parametrize("step", range(len(STEPS) + 1))
def test_killed_at_any_step_of_an_append_that_folds(tmp_path, monkeypatch, step):
    filled(tmp_path, 6)
    with monkeypatch.context() as patch:
        done = kill_at(patch, step)
        if step < len(STEPS):
            with pytest.raises(Killed):
                Journal(tmp_path).append(entry(6))
        else:
            Journal(tmp_path).append(entry(6))
        assert done == STEPS[:step]
    entries = 7 if step > STEPS.index("rename") else 6
    assert_holds(tmp_path, entries)
    for batch in range(entries, 20):
        Journal(tmp_path).append(entry(batch))
    assert_holds(tmp_path, 20)
    assert not [name for name in names(tmp_path) if name.endswith(".new")]
    assert len(list(tmp_path.glob("*.json"))) <= 2 * BLOCK


def test_a_block_that_was_written_in_part_is_none(tmp_path):
    filled(tmp_path, 6)
    (tmp_path / ".00000000.jsonl.gz.new").write_bytes(gzip.compress(b"{}" * 999)[:20])
    assert_holds(tmp_path, 6)
    Journal(tmp_path).append(entry(6))
    assert_holds(tmp_path, 7)
