"""Directories and files, on a disk and in an object store: those that are there, and what is deleted together."""

from __future__ import annotations

import obstore
import pytest

from kit.fakes.memory_bucket import memory_bucket
from tailrace.ground.files.object_path import unlink_all


@pytest.fixture(params=["disk", "bucket"])
def directory(request, tmp_path, monkeypatch):
    return tmp_path if request.param == "disk" else memory_bucket(monkeypatch)


def test_a_directory_is_there_with_its_first_file(directory):
    (directory / "sub" / "sub").mkdir(parents=True)
    (directory / "sub" / "sub" / "file").write_bytes(b"")
    (directory / "substance").write_bytes(b"")
    for path, is_dir in (
        ("sub", True),
        ("sub/sub", True),
        ("substance", False),
        ("su", False),
        ("sub/sub/file", False),
    ):
        assert (directory / path).is_dir() == is_dir
    assert directory.is_dir()


def test_of_a_prefix_one_object_is_asked_for(monkeypatch):
    directory, calls, listing = memory_bucket(monkeypatch), [], obstore.list
    monkeypatch.setattr(obstore, "list", lambda *which, **more: calls.append(more) or listing(*which, **more))
    monkeypatch.delattr(obstore, "list_with_delimiter")
    for number in range(3):
        (directory / str(number)).touch()
    assert directory.is_dir()
    assert calls == [{"chunk_size": 1}]


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
