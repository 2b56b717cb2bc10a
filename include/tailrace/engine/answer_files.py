"""Answers that readers write directly as files of the table `results`: the answers of an enrichment."""

from __future__ import annotations

import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.disorder.ticks import end_of
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.times import with_times
from tailrace.ground.facts import Fact
from tailrace.ground.files.object_path import Location
from tailrace.ground.files.written_files import FILES
from tailrace.kind.protocol import Enrichment

FIRST_BLOCK, MOST_TUPLES, MOST_ANSWERS = 1 << 12, 1 << 18, 1 << 20
"""How many tuples' answers are in memory at once: at first, and at most; and the number of answers that they may have,
so
that fewer tuples are taken if each has many.
"""

GROWTH = 8


class WrittenAnswers(NamedTuple):
    """The answers of a segment's tuples, as they were written.

    Attributes
    ----------
    files : RecordBatch
        The record of their file, of schema `FILES`; none without answers.
    measured : dict
        `answers`: their number; `waited_ms`: the sum of the times from the tuples' event times to the answers;
        `counts`: as in `kind.step.Step`.
    """

    files: pa.RecordBatch
    measured: dict[str, Any]


@dataclass(frozen=True)
class AnswerFiles:
    """Writes the answers to tuples as files, which the sink commits.

    A reader that is run again writes files with other names. Files without a commit are removed at the next start, or
    when the table is compacted.

    Attributes
    ----------
    directory : Path or ObjectPath
        The table `results`.
    schema : Schema
        Its schema.
    versions : Path or ObjectPath
        The directory with the versions of the dimension table.
    """

    directory: Location
    schema: pa.Schema
    versions: Location

    def write(
        self, kind: Enrichment, tuples: pa.RecordBatch, version: Fact, ordinal: int, tick_ms: int
    ) -> WrittenAnswers:
        """Answer a segment's tuples by a version of the dimension table, and write the answers.

        The as_of of an answer is the end of the tick of its tuple's arrival time.
        """
        name = f"part-{ordinal:08d}-{uuid.uuid4().hex}.parquet"
        answers, waited_ms, start, block, size = 0, 0, 0, FIRST_BLOCK, 0
        file: pq.ParquetWriter | None = None
        all_counts = Counter[str]()
        with _new_file(self.directory / name) as path:
            while start < tuples.num_rows:
                some = tuples.slice(start, block)
                rows, row, counts = kind.answers_of(some, self.versions / version.value["file"])
                all_counts.update(counts)
                as_of = end_of(np.asarray(some.column("arrival_time")), tick_ms)[row]
                answers += rows.num_rows
                waited_ms += int((as_of - np.asarray(some.column("event_time"))[row]).sum())
                if rows.num_rows:
                    file = file or pq.ParquetWriter(path, self.schema)
                    file.write_table(self._stamped(rows, as_of, version))
                start += some.num_rows
                enough = some.num_rows * MOST_ANSWERS // max(rows.num_rows, 1)
                block = max(min(enough, GROWTH * block, MOST_TUPLES), 1)
            if file is not None:
                file.close()
                size = path.stat().st_size
        records = [{"path": name, "size": size, "rows": answers}] if answers else []
        measured = {"answers": answers, "waited_ms": waited_ms, "counts": dict(all_counts)}
        return WrittenAnswers(pa.RecordBatch.from_pylist(records, FILES), measured)

    def _stamped(self, answers: pa.RecordBatch, as_of: Ints, version: Fact) -> pa.Table:
        """Return the answers as rows of the table."""
        stamps = {"k_ms": 0, "emitted_at": datetime.now(UTC), "facts_version": version.version}
        columns = {name: answers.column(name) for name in answers.schema.names} | {"as_of": pa.array(as_of)}
        for name, value in stamps.items():
            dtype = self.schema.field(name).type
            columns[name] = pa.repeat(pa.scalar(value, dtype), answers.num_rows)
        return with_times(pa.table(columns), self.schema)


@contextmanager
def _new_file(target: Location) -> Iterator[Path]:
    """Yield the path of a file that may be written; a file for an object store is uploaded at the end."""
    if isinstance(target, Path):
        try:
            yield target
        except BaseException:
            target.unlink(missing_ok=True)  # frees the space of a partial file: the disk may be full
            raise
        return
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, target.name)
        yield file
        if file.exists():
            target.write_bytes(file)
