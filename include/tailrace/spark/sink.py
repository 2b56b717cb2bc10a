"""The sink: executes a batch's plan once, then gives each table its rows unless the table has that batch already.

Answers go to a topic after that, so that nobody is sent an answer that no table has; a batch that fails there is run
again, and sent again. The note of written batches comes last: in an object store it is by the note that a batch is
committed.

The order matters. A replayed batch must run the operator again, or Spark finds its state uncommitted, so the plan is
executed before any table may say that it has the batch; and it must run once, or the state would be stepped twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import DataFrame

from tailrace.engine.output_tables import with_imbalance
from tailrace.ground import wire
from tailrace.ground.errors import Busy
from tailrace.ground.times import TIME, with_times
from tailrace.storage.holding import RequireHeld
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import stream_tables
from tailrace.storage.tables import COMPACT_EVERY, VACUUM, Tables
from tailrace.storage.written_batches import record_written
from tailrace.stream.answer_topic import AnswerTopic


@dataclass(frozen=True)
class Sink:
    """Writes batches to a query's tables, each exactly once.

    Attributes
    ----------
    schemas : dict
        The schema of each table, by its name; of a table whose rows the readers write, that of the records of files.
    app : str
        Identifies the checkpoint in the tables' app transactions.
    answer_topic : AnswerTopic, optional
        The topic that gets the answers of each batch once the tables have it, at least once.
    require_held : callable
        Called before each write: raises an error where another driver may have taken over.
    entries : dict
        In a replay: the number of the first entries of which a table has all rows, though its newest ones may be of an
        earlier batch than the one that merges these entries.
    """

    tables: Tables
    schemas: dict[str, pa.Schema]
    app: str
    answer_topic: AnswerTopic | None = None
    require_held: RequireHeld = lambda: None
    entries: Mapping[str, int] = field(default_factory=dict)

    def write(self, rows: DataFrame, batch: int) -> dict[str, pa.Table]:
        """Write a batch to all tables (idempotent); to be called again for one that may have been written in part.

        Returns
        -------
        dict
            The batch's rows by table.
        """
        table_rows = self.execute(rows)
        self.balance(table_rows)
        names = stream_tables(name for name in self.schemas if Layout.is_history(name))
        lacking = [name for name in names if name in table_rows and batch >= self.entries.get(name, 0)]
        for name in lacking:
            self.require_held()
            self.tables.append(name, table_rows[name], self.app, batch)
        if self.answer_topic is not None and "results" in table_rows:
            self.answer_topic.send(table_rows["results"])
        if (batch + 1) % COMPACT_EVERY == 0:
            self._compact(names)
        self.require_held()
        record_written(self.tables.layout, lacking, batch)
        return table_rows

    def _compact(self, names: Sequence[str]) -> None:
        """Compact the tables; while a correction reads them, none of their files is removed."""
        with ExitStack() as held:
            try:
                held.enter_context(self.tables.layout.lock(VACUUM, 0))
            except Busy:
                self.tables.compact(names, removes=False)
            else:
                self.tables.compact(names)

    def execute(self, rows: DataFrame) -> dict[str, pa.Table]:
        """Execute the plan, and return the rows by table."""
        parts_of: dict[str, list[pa.Table]] = {}
        collected = rows.toArrow()
        for name, data in zip(collected.column("what").to_pylist(), collected.column("bytes").to_pylist(), strict=True):
            part = pa.Table.from_batches([wire.unpack(data)[0][name]])
            now = pa.array([datetime.now(UTC)] * part.num_rows, TIME)
            part = part.append_column("emitted_at", now) if name == "results" else part
            parts_of.setdefault(name, []).append(with_times(part, self.schemas[name]))
        tables = {name: pa.concat_tables(parts) for name, parts in parts_of.items()}
        return tables | {"metrics": with_imbalance(tables["metrics"])}

    def balance(self, table_rows: dict[str, pa.Table]) -> None:
        """Check that nothing is dropped: read = accepted + quarantined, and the tasks took in all that was accepted.

        Raises
        ------
        RuntimeError
            When a batch does not balance; nothing of it is written then.
        """
        if "segments" not in table_rows:
            return
        read, accepted, quarantined = (
            sum(table_rows["segments"][name].to_pylist()) for name in ("rows", "accepted", "quarantined")
        )
        in_tasks = sum(table_rows["metrics"]["rows"].to_pylist())
        in_quarantine = table_rows["quarantine"].num_rows if "quarantine" in table_rows else 0
        if (read, accepted, quarantined) != (accepted + quarantined, in_tasks, in_quarantine):
            raise RuntimeError(
                f"a batch does not balance: {read} read, {accepted} accepted of which the tasks took {in_tasks}, "
                f"{quarantined} rejected of which {in_quarantine} came to quarantine"
            )
