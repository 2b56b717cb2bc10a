"""A query's tables for one reader: each is opened at its first use, and always read at that version."""

from __future__ import annotations

from dataclasses import dataclass, field

from deltalake import DeltaTable

from tailrace.storage.tables import Tables


@dataclass(frozen=True)
class OpenedTables(Tables):
    """The tables of a query for a reader that needs each of them several times; not for a writer.

    A compaction may remove files of the opened version, after 7 days; after less for tables with very many removed
    files, but at least an hour (`storage.retention`). A reader that takes longer fails. Use it from one thread.
    """

    _opened: dict[str, DeltaTable] = field(default_factory=dict, compare=False, repr=False)
    _there: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def has(self, name: str) -> bool:
        """Test whether the table existed at the first call; see `Tables.has`."""
        if name not in self._there:
            self._there[name] = super().has(name)
        return self._there[name]

    def open(self, name: str) -> DeltaTable:
        """Return the table at the version at which it was first opened; see `Tables.open`."""
        if name not in self._opened:
            self._opened[name] = super().open(name)
        return self._opened[name]
