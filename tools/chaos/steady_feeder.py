"""A thread that writes files of rows at a steady rate, and for a while at a multiple of it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
from workloads import EPOCH, Drawn, Workload


class SteadyFeeder(threading.Thread):
    """Writes files of each stream at an interval, late rows too.

    Attributes
    ----------
    every_s : float
        The interval, in s.
    written_s : dict
        The wall-clock time of each file, in s, by its name. Files of two streams that come together have one name.
    crowd : int
        The multiple of the rate at which it writes now.
    keeps : bool
        Whether the rows are kept for an oracle, or only those that repeats are drawn from.
    """

    def __init__(
        self,
        workload: Workload,
        streams: dict[str, Drawn],
        directory: Path,
        rate: int,
        keeps: bool = False,
        every_s: float = 1.0,
    ) -> None:
        super().__init__(daemon=True)
        self.workload, self.streams, self.directory, self.rate = workload, streams, directory, rate
        self.written, self.crowd, self.keeps, self.every_s = 0, 1, keeps, every_s
        self.written_s: dict[str, float] = {}
        self._ended, self._began_s = threading.Event(), time.monotonic()
        for name in streams:
            (directory / name).mkdir(parents=True)
        self._write(0)

    def run(self) -> None:
        number = 1
        while not self._ended.wait(max(self._began_s + number * self.every_s - time.monotonic(), 0)):
            self._write(number)
            number += 1

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def behind_s(self, committed_ms: int | None) -> float:
        """How long ago the newest rows that were taken in had been written, in seconds."""
        newest_ms = min(stream.arrival for stream in self.streams.values())
        of_gaps = newest_ms - (EPOCH if committed_ms is None else committed_ms)
        return of_gaps / next(iter(self.streams.values())).gap_ms / self.rate

    def _write(self, number: int) -> None:
        for name, stream in self.streams.items():
            unfinished = self.directory / f"{name}.unfinished"
            stream.crowd, rows = self.crowd, round(self.rate * self.every_s) * self.crowd
            pq.write_table(self.workload.table(stream.more(rows)), unfinished)
            file = unfinished.rename(self.directory / name / f"part-{number:06d}.parquet")
            self.written_s[file.name] = time.time()
            if not self.keeps:
                stream.forget()
            self.written += rows
