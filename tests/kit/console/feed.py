"""A source that goes on: files of readings that come as time passes, until it is stopped."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from generators.delays import DelayModel, epoch_ms
from generators.replay import TIME, generate
from kit.console.warehouse import write_files

LATE_IDS = 10_000_000
"""The first id of the readings that a test lets come late."""


class Feed:
    """Readings of four sensors from a point of event time on; each arrives when the wall clock reaches its arrival.

    As a context manager it feeds in a thread; `give` feeds at once what a test wants to have come.
    """

    def __init__(self, directory: Path, start_ms: int, model: DelayModel, rate: int = 20, minutes: int = 60) -> None:
        self.start_ms, self.late_ids = start_ms, list[int]()
        self._directory = directory
        self._table = generate(minutes * 60 * rate, rate, 4, model, 1, start_ms)
        self._arrival_ms = epoch_ms(self._table["arrival_time"])
        self._given, self._stopped = 0, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def give(self, until_ms: int) -> pa.Table:
        """Write what has arrived by a time as a file, and return it."""
        end = int(np.searchsorted(self._arrival_ms, until_ms, side="right"))
        rows = self._table.slice(self._given, max(end - self._given, 0))
        if rows.num_rows:
            write_files(self._directory, rows, 1)
        self._given = max(end, self._given)
        return rows

    def give_late(self, start_ms: int, end_ms: int, number: int, value: float) -> None:
        """Write readings of a range of event time that arrive after all that was given, with the next `late_ids`."""
        arrival_ms = int(self._arrival_ms[self._given - 1])
        template, ids = self._table.slice(0, number), range(LATE_IDS, LATE_IDS + number)
        columns = {
            "id": pa.array(ids, pa.int64()),
            "event_time": pa.array(np.linspace(start_ms, end_ms - 1, number).astype(np.int64)).cast(TIME),
            "arrival_time": pa.array(np.full(number, arrival_ms)).cast(TIME),
            "sensor": template["sensor"],
            "value": pa.array([value] * number, pa.float64()),
        }
        write_files(self._directory, pa.table(columns), 1)
        self.late_ids += ids

    def _run(self) -> None:
        while not self._stopped.wait(2):
            self.give(time.time_ns() // 1_000_000)
