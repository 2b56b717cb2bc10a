"""Files of a directory, on a disk and in an object store: those that are deleted together."""

from __future__ import annotations

import obstore
import pytest

from memory_bucket import memory_bucket
from tailrace.ground.object_path import unlink_all


@pytest.fixture(params=["disk", "bucket"])
def directory(request, tmp_path, monkeypatch):
    return tmp_path if request.param == "disk" else memory_bucket(monkeypatch)


def test_files_are_deleted_together_and_no_others(directory):
    files = [directory / f"{number}.json" for number in range(5)]
    for file in files:
        file.write_bytes(b"")
    unlink_all(files[1:4])
    assert sorted(file.name for file in directory.iterdir()) == ["0.json", "4.json"]
    unlink_all([])


def test_objects_are_deleted_by_one_call(monkeypatch):
    directory, calls, delete = memory_bucket(monkeypatch), [], obstore.delete
    monkeypatch.setattr(obstore, "delete", lambda store, keys: calls.append(keys) or delete(store, keys))
    files = [directory / str(number) for number in range(3)]
    for file in files:
        file.touch()
    unlink_all(files)
    assert calls == [["of/tests/0", "of/tests/1", "of/tests/2"]]
