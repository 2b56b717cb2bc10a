"""The sink: a batch's plan is executed once, then each table takes its rows unless it has that batch already.

The order matters. A replayed batch must run the operator again, or Spark finds its state uncommitted, so the plan is
executed before any table may say that it has the batch; and it must run once, or the state would be stepped twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import DataFrame

from tailrace.ground import wire
from tailrace.storage.tables import COMPACT_EVERY, STREAM_TABLES, TIME, Tables, with_times
from tailrace.storage.written_batches import record_written


@dataclass(frozen=True)
class Sink:
    """Writes batches to a query's tables.

    Attributes
    ----------
    schemas : dict
        Of each table.
    app : str
        Names the checkpoint in the tables' app transactions.
    """

    tables: Tables
    schemas: dict[str, pa.Schema]
    app: str

    def write(self, rows: DataFrame, batch: int) -> dict[str, pa.Table]:
        """Write a batch, all that it has to say; to be called again for a batch that may have been written in part.

        Returns
        -------
        dict
            The rows that each table has of it.
        """
        written = self.execute(rows)
        self.balance(written)
        for name in STREAM_TABLES:
            if name in written:
                self.tables.append(name, written[name], self.app, batch)
        record_written(self.tables.layout, written, batch)
        if (batch + 1) % COMPACT_EVERY == 0:
            self.tables.compact(STREAM_TABLES)
        return written

    def execute(self, rows: DataFrame) -> dict[str, pa.Table]:
        """Run the plan, and give the rows of each table."""
        found: dict[str, list[pa.Table]] = {}
        collected = rows.toArrow()
        for name, data in zip(collected.column("what").to_pylist(), collected.column("bytes").to_pylist(), strict=True):
            part = pa.Table.from_batches([wire.unpack(data)[0][name]])
            now = pa.array([datetime.now(UTC)] * part.num_rows, TIME)
            part = part.append_column("emitted_at", now) if name == "results" else part
            found.setdefault(name, []).append(with_times(part, self.schemas[name]))
        return {name: pa.concat_tables(parts) for name, parts in found.items()}

    def balance(self, written: dict[str, pa.Table]) -> None:
        """Nothing is dropped: read = accepted + quarantined, and the tasks took in all that was accepted.

        Raises
        ------
        RuntimeError
            When a batch does not balance; nothing of it is written then.
        """
        if "segments" not in written:
            return
        read, accepted, quarantined = (
            sum(written["segments"][name].to_pylist()) for name in ("rows", "accepted", "quarantined")
        )
        taken = sum(written["metrics"]["rows"].to_pylist())
        aside = written["quarantine"].num_rows if "quarantine" in written else 0
        if (read, accepted, quarantined) != (accepted + quarantined, taken, aside):
            raise RuntimeError(
                f"a batch does not balance: {read} read, {accepted} accepted of which the tasks took {taken}, "
                f"{quarantined} rejected of which {aside} came to quarantine"
            )
