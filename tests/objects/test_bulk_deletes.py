"""Objects that are deleted together, in an S3-compatible store."""

from __future__ import annotations

from tailrace.ground.object_path import ObjectPath, unlink_all


def test_objects_are_deleted_together_and_no_others(warehouse, connection):
    files = [ObjectPath(f"{warehouse}/{number}.json", connection) for number in range(5)]
    for file in files:
        file.touch()
    unlink_all(files[1:4])
    assert sorted(file.name for file in files[0].parent.iterdir()) == ["0.json", "4.json"]
    unlink_all(files[:4])  # some are gone
    assert [file.name for file in files[0].parent.iterdir()] == ["4.json"]
