"""A snapshot of a table of answers: its number of rows and greatest time, by the statistics of its files."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tailrace.ground.duration import format_time
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


@dataclass(frozen=True)
class TableSnapshot:
    """The number of rows of `results` or `corrections`, and their greatest `as_of`.

    A compaction changes neither; an append or a new version of answers changes one of them.

    Attributes
    ----------
    as_of : str or None
        ISO 8601; None where there is no row, or no file has statistics.
    """

    rows: int
    as_of: str | None

    @staticmethod
    def read(layout: Layout, name: str) -> TableSnapshot:
        """Read the snapshot of a table; it has no rows where the table does not exist yet."""
        tables = Tables(layout)
        return TableSnapshot.from_table(tables.open(name)) if tables.has(name) else TableSnapshot(0, None)

    @staticmethod
    def from_table(table: DeltaTable) -> TableSnapshot:
        """Return the snapshot of an opened table, at its version."""
        files = pa.table(table.get_add_actions(flatten=True))
        rows = int(pc.sum(files["num_records"]).as_py() or 0) if files.num_rows else 0
        if not rows:
            return TableSnapshot(0, None)
        greatest = pc.max(files["max.as_of"]).as_py() if "max.as_of" in files.column_names else None
        return TableSnapshot(rows, None if greatest is None else format_time(round(greatest.timestamp() * 1000)))
