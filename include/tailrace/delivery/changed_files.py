"""The files by which a Delta table's content changed between two of its versions, from its log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tailrace.ground.object_path import Location
from tailrace.storage.table_files import read_commit, resolve_file


def changed_files(table: Location, since: int, until: int) -> list[Location] | None:
    """List the files that were added or removed after version `since`, up to version `until`, with their rows.

    Files that a compaction merely wrote again are left out.

    Returns
    -------
    list of Location, or None
        None when the log does not reach back to `since`.
    """
    files: dict[str, Location] = {}
    for version in range(since + 1, until + 1):
        try:
            content = read_commit(table / "_delta_log" / f"{version:020d}.json")
        except FileNotFoundError:
            return None
        files |= {uri: resolve_file(uri, table) for uri in _changed(content)}
    return list(files.values())


def _changed(commit: bytes) -> Iterator[str]:
    for line in commit.splitlines():
        action: dict[str, Any] = json.loads(line)
        change = action.get("add") or action.get("remove") or {}
        if change.get("dataChange", False):
            yield change["path"]
