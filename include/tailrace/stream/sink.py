"""The sink, which appends a batch's rows to each table that lacks them, and then notes the batch as written.

Answers are sent to a topic after `results` has them, so that every sent answer is in a table, and before `metrics` has
the batch: corrections follow `metrics`, so no streamed answer is sent after its correction. A batch that fails in
between is run and sent again. The note of written batches comes last, and commits the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tailrace.delivery.answer_topic import AnswerTopic, TopicAway
from tailrace.storage.holding import RequireHeld
from tailrace.storage.tables import COMPACT_EVERY
from tailrace.storage.written_batches import record_written
from tailrace.stream.stream_tables import StreamTables


@dataclass(frozen=True)
class Sink:
    """Writes batches to a stream's tables, each exactly once.

    Attributes
    ----------
    answer_topic : AnswerTopic, optional
        The topic to which the answers of each batch are sent, at least once, after the tables have them.
    require_held : callable
        Called before each write; raises an error if another driver may have taken over.
    entries : dict
        In a rebuild: how many of the first entries each table has completely. Its newest rows may be of an earlier
        batch than the one that merges these entries.
    compact_every : int
        The number of batches between compactions of the tables.
    """

    tables: StreamTables
    answer_topic: AnswerTopic | None = None
    require_held: RequireHeld = lambda: None
    entries: Mapping[str, int] = field(default_factory=dict)
    compact_every: int = COMPACT_EVERY

    def write(self, table_rows: Mapping[str, pa.Table], batch: int) -> dict[str, pa.Table]:
        """Write a batch to all tables (idempotent); call it again for a batch that may have been written partly.

        Returns
        -------
        dict
            The batch's rows by table, as in the tables.
        """
        require_balance(table_rows)
        rows = self.tables.complete(table_rows)
        lacking = [name for name in self.tables.schemas if name in rows and batch >= self.entries.get(name, 0)]
        for name in lacking:
            if name == "metrics":
                self._send_answers(rows, batch)
            self.require_held()
            self.tables.append(name, rows[name], batch)
        if (batch + 1) % self.compact_every == 0:
            self.tables.compact()
        self.require_held()
        record_written(self.tables.tables.layout, lacking, batch)
        return rows

    def _send_answers(self, rows: Mapping[str, pa.Table], batch: int) -> None:
        """Send the answers of a batch, unless `metrics` has the batch: then they were sent before."""
        if self.answer_topic is None or self.tables.last_batch("metrics") >= batch:
            return
        for answers in self.tables.answers(rows):
            self.require_held()
            try:
                self.answer_topic.send(answers)
            except ConnectionError as error:
                raise TopicAway(str(error)) from error


def require_balance(table_rows: Mapping[str, pa.Table]) -> None:
    """Check that a batch loses no record.

    It requires that read = accepted + filtered + quarantined, and that the tasks received all accepted rows. An
    enrichment has no tasks, so its `metrics` count the accepted rows.

    Raises
    ------
    RuntimeError
        When a batch does not balance; then nothing of it is written.
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
