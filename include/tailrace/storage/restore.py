"""Restores a backup of a query into a warehouse.

The backup is checked in a temporary directory, and then moved by one rename.
"""

from __future__ import annotations

from pathlib import Path

from tailrace.ground.errors import Damaged, Problem, refuse
from tailrace.ground.files.object_path import on_disk
from tailrace.storage.backup import new_directory
from tailrace.storage.backup_manifest import BackupManifest, copy_file
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import Warehouse, moving_away


def restore(backup: Path, warehouse: Warehouse) -> BackupManifest:
    """Copy a backup's query to its place in a warehouse, which must not have it yet.

    Raises
    ------
    Refused
        When there is no backup, or the warehouse has the query.
    Damaged
        When a file of the backup is lost or damaged; nothing is restored then.
    """
    manifest = BackupManifest.read(backup)
    home = on_disk(Layout.for_query(warehouse, manifest.query).home)
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        remedy = f"another warehouse; or {moving_away(home, 'old')}, first"
        raise refuse(str(home), "the warehouse has this query already", remedy)
    source = backup / manifest.query
    for name, record in manifest.files.items():
        file = source / name
        if file.is_symlink() or not file.is_file():
            raise _damage(file, "this file of the backup is lost")
        if file.stat().st_size != record.size:
            raise _damage(file, f"it has {file.stat().st_size:,} bytes, and had {record.size:,} when it was backed up")
    with new_directory(home, "restored") as new:
        for name, record in manifest.files.items():
            if copy_file(source / name, new / name) != record:
                raise _damage(source / name, "its content has changed since it was backed up")
        on_disk(Layout(new).journal).mkdir(parents=True, exist_ok=True)  # a stream without a batch has no entry
    return manifest


def _damage(file: Path, fault: str) -> Damaged:
    return Damaged([Problem(str(file), fault, "another backup")])
