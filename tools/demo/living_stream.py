"""The living stream of the demonstration: payments that come as time passes, some late, a few unreadable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from generators.delays import epoch_ms
from generators.replay import TIME
from tailrace.ground.arrow.json_rows import json_rows
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.terminal.screen import err, plain

PAYMENTS, LARGEST = (Path(__file__).with_name(f"{name}_payments.yaml") for name in ("card", "largest"))

LIVING = (PAYMENTS, LARGEST)
"""The queries of the payments: the first one keeps its promise, the second breaks its own until it is calibrated."""

EVERY_MS = 3_000
"""The time from one file to the next; a driver's batch takes some tenths of a second of a core."""

HOURS = 3
"""The length of the stream, so that a forgotten demonstration stops growing."""

INTERVAL_MS = 300_000
"""The time between scheduled corrections, as in the files of `LIVING`."""

_RATE = 40  # payments a second
_COUNTRIES = "Austria", "France", "Germany", "Italy", "Spain"
_NETWORK_MS = 300  # the mean delay of terminals that are online
_OFFLINE, _OFFLINE_MS = 0.06, 8_000  # the share of terminals that are offline, and the mean time until they are back
_WAVE_MS, _WAVE = 240_000, 0.3  # people pay alternately more and less
_COMMA = 700  # one payment in this number has a comma in its amount
_SEED = 2


def now_ms() -> int:
    """Return the wall-clock time."""
    return time.time_ns() // 1_000_000


def first_payment_ms(at_ms: int) -> int:
    """Return the time at which a stream that is started now begins: one interval of corrections before the current one.

    Airflow corrects that interval as soon as the DAG is unpaused, as it is the newest complete one.
    """
    return (at_ms // INTERVAL_MS - 1) * INTERVAL_MS


def payments(start_ms: int, minutes: float) -> pa.Table:
    """Generate the payments from a time on, in order of arrival; the same for the same arguments."""
    rng, rows = np.random.default_rng(_SEED), int(minutes * 60 * _RATE)
    paid_ms = start_ms + np.arange(rows) * 1000 // _RATE
    is_offline = rng.random(rows) < _OFFLINE
    delay_ms = rng.exponential(np.where(is_offline, _OFFLINE_MS, _NETWORK_MS)).astype(np.int64)
    wave = 1 + _WAVE * np.sin(2 * np.pi * (paid_ms - start_ms) / _WAVE_MS)
    amounts = [f"{amount:.2f}" for amount in rng.lognormal(np.log(12), 0.6, rows) * wave]
    amounts[_COMMA - 1 :: _COMMA] = [amount.replace(".", ",") for amount in amounts[_COMMA - 1 :: _COMMA]]
    table = pa.table(
        {
            "payment": pa.array(np.arange(rows)),
            "paid_at": pa.array(paid_ms, TIME),
            "received_at": pa.array(paid_ms + delay_ms, TIME),
            "country": pa.array(_COUNTRIES).take(pa.array(rng.integers(len(_COUNTRIES), size=rows))),
            "amount": pa.array(amounts),
        }
    )
    return table.take(np.argsort(paid_ms + delay_ms, kind="stable"))


@dataclass
class LivingStream:
    """Files of payments in a directory, each of `EVERY_MS` of arrival, written once that time has passed.

    As a context manager it writes due files at once, and later ones in a thread.

    Attributes
    ----------
    start_ms : int
        The time of the first payment.
    clock : callable
        Returns the time (ms) up to which files are due.
    """

    directory: Path
    start_ms: int
    hours: float = HOURS
    clock: Callable[[], int] = now_ms
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._table = payments(self.start_ms, self.hours * 60)
        self._arrival_ms = epoch_ms(self._table["received_at"])
        self._next = 0
        self._thread = threading.Thread(target=self._run, name="payments", daemon=True)

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.write_until(self.clock())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def write_until(self, now_ms: int) -> bool:
        """Write the files whose time has passed; return False when no more will come."""
        while self._next * EVERY_MS + self.start_ms <= now_ms - EVERY_MS:
            ends_ms = self.start_ms + EVERY_MS * np.array([self._next, self._next + 1])
            first, end = np.searchsorted(self._arrival_ms, ends_ms).tolist()
            if end > first:
                lines = b"".join(row + b"\n" for row in json_rows(self._table.slice(first, end - first)))
                write_atomically(self.directory / f"part-{self._next:05d}.json", lines)
            self._next += 1
            if end == len(self._arrival_ms):
                return False
        return True

    def _run(self) -> None:
        last_fault, goes_on = "", True
        while goes_on and not self._stopped.wait(EVERY_MS / 1000):
            try:
                goes_on = self.write_until(self.clock())
            except OSError as error:  # such as a full disk; missing payments come with the next file
                if str(error) != last_fault:
                    err.print(f"payments wait: {plain(str(error))}", soft_wrap=True)
                    last_fault = str(error)
