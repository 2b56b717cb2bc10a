"""Checks repeatedly that each file named in the logs of a query's tables exists and is complete."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tailrace.ground.errors import Damaged, Problem
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import lost_file, named_files
from tailrace.storage.table_log import stamp
from tailrace.storage.tables import Tables
from tailrace.tables.every import TABLES
from tailrace.tables.stream import is_history

_NAMES = {table.name for table in TABLES}


class FileCheck:
    """The files named by each table of a query; a table is opened again only if its log has changed.

    Rows are not read, so a file with wrong bytes and its right size passes. Use it from one thread.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._named = dict[str, tuple[object, pa.Table]]()

    def problems(self) -> list[Problem]:
        """Return the problem of each damaged table, by name; none in an object store, which does not lose files."""
        if self._layout.is_remote:
            return []
        names = sorted(name for name in self._tables() if name in _NAMES or is_history(name))
        return [problem for name in names for problem in self._problems(name)]

    def _tables(self) -> list[str]:
        """Return the names in the query's home, without tables that were moved away, whose names have a suffix."""
        home = Path(str(self._layout.home))
        return [entry.name for entry in home.iterdir() if not entry.suffix] if home.is_dir() else []

    def _problems(self, name: str) -> list[Problem]:
        try:
            problem = self._lost_file(name)
            if problem is not None and self._log(name) != self._named[name][0]:
                problem = self._lost_file(name)  # a compaction may have removed it meanwhile
        except Damaged as damaged:
            return list(damaged.problems)
        return [] if problem is None else [problem]

    def _lost_file(self, name: str) -> Problem | None:
        log = self._log(name)
        known, named = self._named.get(name, (None, None))
        if named is None or known != log:
            self._named.pop(name, None)
            tables = Tables(self._layout)
            if not tables.has(name):
                return None
            named = named_files(tables.open(name))
            self._named[name] = log, named
        return lost_file(self._layout, name, named)

    def _log(self, name: str) -> object:
        """Return a value that changes when a file of a table's log is written, cut or removed."""
        log = Path(str(self._layout.table(name))) / "_delta_log"
        return {file.name: stamp(file) for file in log.iterdir()} if log.is_dir() else None
