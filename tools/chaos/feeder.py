"""A thread that writes files of rows, one for each stream of a workload at a time, until it is told to stop."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow.parquet as pq
from workloads import Drawn, Workload

_PAUSE_S, _ROWS = 0.5, 10
_BEFORE = 50
"""The number of rows in the first file: there is something to read when the first driver starts."""


class Feeder(threading.Thread):
    """Writes the next file of each stream twice a second; a file appears whole."""

    def __init__(self, workload: Workload, streams: dict[str, Drawn], directory: Path) -> None:
        super().__init__(daemon=True)
        self.workload, self.streams, self.directory = workload, streams, directory
        self._ended, self._files = threading.Event(), 0
        for name in streams:
            (directory / name).mkdir(parents=True)
        self._write(_BEFORE)

    def run(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self._write(_ROWS)

    def stop(self) -> None:
        """End the streams, and wait until the last files are there."""
        self._ended.set()
        self.join()

    def _write(self, rows: int) -> None:
        for name, stream in self.streams.items():
            unfinished = self.directory / f"{name}.unfinished"
            pq.write_table(self.workload.table(stream.more(rows)), unfinished)
            unfinished.rename(self.directory / name / f"part-{self._files:06d}.parquet")
        self._files += 1
