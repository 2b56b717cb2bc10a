"""The shuffle of a history scan in this process: the rows of each bucket are stored in a file until its turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.correction.bucketed_scan import MESSAGES

_THREADS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class SpilledShuffle:
    """Runs the steps of a scan in threads, see `correction.bucketed_scan.Shuffle`.

    Attributes
    ----------
    directory : Path, optional
        The directory for the files, which are removed at the end of a scan; by default the system's for temporary
        files.
    threads : int
        The number of pieces or buckets in memory at once.
    """

    directory: Path | None = None
    threads: int = field(default=_THREADS)

    def run(
        self, pieces: Sequence[Any], read: Callable[[Any], pa.Table], *steps: Callable[[pa.Table], pa.Table]
    ) -> pa.Table:
        """Read each piece, and apply each step to each bucket of the previous step's result."""
        with (
            tempfile.TemporaryDirectory(dir=self.directory, prefix="tailrace-scan-") as name,
            ThreadPoolExecutor(self.threads) as pool,
        ):
            rows: Iterable[pa.Table] = _in_turn(pool, read, pieces, self.threads)
            for number, step in enumerate(steps):
                buckets = _spill(rows, Path(name, str(number)))
                rows = _in_turn(pool, partial(_apply, step), buckets, self.threads)
            return pa.concat_tables([MESSAGES.empty_table(), *rows])


def _in_turn(
    pool: ThreadPoolExecutor, call: Callable[[Any], pa.Table], inputs: Sequence[Any], at_once: int
) -> Iterator[pa.Table]:
    """Call a function on each input, a few at a time, so that few results wait in memory."""
    for start in range(0, len(inputs), at_once):
        yield from pool.map(call, inputs[start : start + at_once])


def _spill(tables: Iterable[pa.Table], directory: Path) -> list[Path]:
    """Write the rows of each bucket into a file; return the files."""
    directory.mkdir()
    files: dict[int, Path] = {}
    with ExitStack() as opened:
        writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
        for table in tables:
            for bucket in pc.unique(table.column("task")).to_pylist():
                if bucket not in writers:
                    files[bucket] = directory / str(bucket)
                    sink = opened.enter_context(pa.OSFile(str(files[bucket]), "wb"))
                    writers[bucket] = opened.enter_context(pa.ipc.new_stream(sink, MESSAGES))
                writers[bucket].write_table(table.filter(pc.equal(table.column("task"), bucket)))
    return list(files.values())


def _apply(step: Callable[[pa.Table], pa.Table], file: Path) -> pa.Table:
    with pa.memory_map(str(file)) as source:
        return step(pa.ipc.open_stream(source).read_all())
