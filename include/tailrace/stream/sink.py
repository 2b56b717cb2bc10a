"""The sink: gives each table the rows of a batch unless it has that batch already, and then notes the batch as written.

Answers go to a topic once the tables have them, so that nobody is sent an answer that no table has; a batch that fails
there is run again, and sent again. The note of written batches comes last: it is the commit of the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tailrace.storage.holding import RequireHeld
from tailrace.storage.tables import COMPACT_EVERY
from tailrace.storage.written_batches import record_written
from tailrace.stream.answer_topic import AnswerTopic
from tailrace.stream.stream_tables import StreamTables


@dataclass(frozen=True)
class Sink:
    """Writes batches to a stream's tables, each exactly once.

    Attributes
    ----------
    answer_topic : AnswerTopic, optional
        The topic that gets the answers of each batch once the tables have it, at least once.
    require_held : callable
        Called before each write: raises an error where another driver may have taken over.
    entries : dict
        In a rebuild: the number of the first entries of which a table has all rows, though its newest ones may be of an
        earlier batch than the one that merges these entries.
    compact_every : int
        The number of batches from one compaction of the tables to the next.
    """

    tables: StreamTables
    answer_topic: AnswerTopic | None = None
    require_held: RequireHeld = lambda: None
    entries: Mapping[str, int] = field(default_factory=dict)
    compact_every: int = COMPACT_EVERY

    def write(self, table_rows: Mapping[str, pa.Table], batch: int) -> dict[str, pa.Table]:
        """Write a batch to all tables (idempotent); to be called again for one that may have been written in part.

        Returns
        -------
        dict
            The batch's rows by table, as the tables have them.
        """
        require_balance(table_rows)
        rows = self.tables.complete(table_rows)
        lacking = [name for name in self.tables.schemas if name in rows and batch >= self.entries.get(name, 0)]
        for name in lacking:
            self.require_held()
            self.tables.append(name, rows[name], batch)
        if self.answer_topic is not None and "results" in rows:
            self.answer_topic.send(rows["results"])
        if (batch + 1) % self.compact_every == 0:
            self.tables.compact()
        self.require_held()
        record_written(self.tables.tables.layout, lacking, batch)
        return rows


def require_balance(table_rows: Mapping[str, pa.Table]) -> None:
    """Check that a batch drops nothing: read = accepted + filtered + quarantined, and the tasks took in all accepted.

    An enrichment has no tasks: its `metrics` count what was accepted.

    Raises
    ------
    RuntimeError
        When a batch does not balance; nothing of it is written then.
    """
    if "segments" not in table_rows:
        return
    read, accepted, filtered, quarantined = (
        sum(table_rows["segments"][name].to_pylist()) for name in ("rows", "accepted", "filtered", "quarantined")
    )
    in_tasks = sum(table_rows["metrics"]["rows"].to_pylist())
    in_quarantine = table_rows["quarantine"].num_rows if "quarantine" in table_rows else 0
    if (read, accepted, quarantined) != (accepted + filtered + quarantined, in_tasks, in_quarantine):
        raise RuntimeError(
            f"a batch does not balance: {read} read, {accepted} accepted of which the tasks took {in_tasks}, "
            f"{filtered} filtered, "
            f"{quarantined} rejected of which {in_quarantine} came to quarantine"
        )
