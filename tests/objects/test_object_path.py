"""Directories in an S3-compatible store: whether one is there, and objects that are deleted together."""

from __future__ import annotations

from tailrace.ground.files.object_path import ObjectPath, unlink_all


def test_objects_are_deleted_together_and_no_others(warehouse, connection):
    files = [ObjectPath(f"{warehouse}/{number}.json", connection) for number in range(5)]
    for file in files:
        file.touch()
    unlink_all(files[1:4])
    assert sorted(file.name for file in files[0].parent.iterdir()) == ["0.json", "4.json"]
    unlink_all(files[:4])  # some are gone
    assert [file.name for file in files[0].parent.iterdir()] == ["4.json"]


def test_a_directory_is_there_with_its_first_object(warehouse, connection):
    directory = ObjectPath(f"{warehouse}/sub", connection)
    assert not directory.is_dir()
    (directory / "sub" / "file").touch()
    assert [(directory / path).is_dir() for path in ("sub", "su", "sub/file")] == [True, False, False]
    assert directory.is_dir()
    assert not ObjectPath("s3://no-such-bucket/sub", connection).is_dir()
