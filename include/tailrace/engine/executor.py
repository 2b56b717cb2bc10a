"""Protocol of executors: they run the pipeline, the clock and the tasks of a batch, and return its rows by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import pyarrow as pa

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.output_tables import with_imbalance
from tailrace.sources.segments import Segment


class Executor(Protocol):
    """Runs batches, one at a time. It writes the states of clock and tasks, but no other output of a batch."""

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        """Run a batch, and return its rows by table. Running a batch again is allowed, also after a failure.

        Parameters
        ----------
        before : int
            The number of the previous batch, from whose states it starts; -1 for none.

        Raises
        ------
        LostChunk
            When a state is missing or damaged.
        """

    def cancel(self) -> None:
        """Cancel the batch that runs in another thread, as soon as possible."""


def rows_by_table(parts: Iterable[tuple[str, pa.RecordBatch]]) -> dict[str, pa.Table]:
    """Return the rows of a batch by table, for the tables with rows.

    Readers, clock and tasks each contribute parts.
    """
    batches: dict[str, list[pa.RecordBatch]] = {}
    for table, part in parts:
        if part.num_rows:
            batches.setdefault(table, []).append(part)
    rows = {table: pa.Table.from_batches(mine) for table, mine in batches.items()}
    return rows | {"metrics": with_imbalance(rows["metrics"])}
