"""The states of tasks: those of two batches are there, a damaged one is refused, no failed clean-up fails a batch."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from kit.fakes.memory_bucket import memory_bucket
from kit.fakes.toy_join import ToyJoin
from tailrace.engine.chunk_stores import ChunkObjects, LostChunk
from tailrace.engine.task import Task
from tailrace.engine.task_states import CLOCK, TaskStates
from tailrace.ground.files.object_path import ObjectPath

ROWS = pa.record_batch({"value": ["a"]})


def refuse_deletes(patch: pytest.MonkeyPatch) -> None:
    def unlink(file: ObjectPath, missing_ok: bool = False) -> None:
        raise PermissionError(13, "the object store refuses access", file.url)

    patch.setattr(ObjectPath, "unlink", unlink)


def stored(directory: ObjectPath) -> list[str]:
    return sorted(file.stem for file in (directory / "0").iterdir())


def test_a_state_that_is_not_deleted_fails_no_batch_and_is_swept_at_the_next_start(monkeypatch):
    directory = memory_bucket(monkeypatch)
    states = TaskStates(directory)
    with monkeypatch.context() as patch:
        refuse_deletes(patch)
        for batch in range(3):
            states.write(0, batch, bytes([batch]))
    assert stored(directory) == ["00000000", "00000001", "00000002"]
    assert states.read(0, 2) == bytes([2])
    assert states.sweep(3) == 2
    states.write(0, 3, b"\3")
    assert stored(directory) == ["00000002", "00000003"]


def test_a_chunk_that_is_not_deleted_fails_no_batch(monkeypatch):
    directory = memory_bucket(monkeypatch)
    store = ChunkObjects(directory / "0")
    task = Task(ToyJoin(10), ("left", "right"), 0, store)
    state = replace(task.restore(None), batch=0).pack(store)
    store.write("00000000-left-0", ROWS)  # of an earlier attempt; the state does not name it
    with monkeypatch.context() as patch:
        refuse_deletes(patch)
        assert task.restore(state).batch == 0
    assert stored(directory)
    task.restore(state)
    assert not stored(directory)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:2],
        lambda content: content[:-1],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: bytes(len(content)),
    ],
    ids=["empty", "within its header", "cut off", "one bit", "zeros"],
)
def test_a_damaged_state_is_refused(tmp_path, damage):
    states = TaskStates(tmp_path)
    states.write(0, 1, b"a state")
    (file,) = (tmp_path / "0").iterdir()
    assert states.read(0, 1) == b"a state"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(LostChunk, match=r"00000001\.state"):
        states.read(0, 1)


@pytest.mark.parametrize("owner", [CLOCK, 0, 1])
def test_a_missing_state_of_clock_or_task_is_found(tmp_path, owner):
    states = TaskStates(tmp_path)
    for each in (CLOCK, 0, 1):
        states.write(each, 3, b"a state")
    assert states.missing(2, 3) is None
    (tmp_path / str(owner) / "00000003.state").unlink()
    assert states.missing(2, 3) == tmp_path / str(owner) / "00000003.state"
    assert states.missing(2, -1) is None
