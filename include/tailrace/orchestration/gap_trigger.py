"""Airflow event trigger that starts a query's correction when its uncorrected late tuples span more than Γ."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from tailrace.ground.duration import format_time
from tailrace.orchestration import settings
from tailrace.orchestration.triggers import TELL_S
from tailrace.query.query import Query
from tailrace.query.windowed import WindowedQuery
from tailrace.storage.layout import Layout

RANGE = ("arrived_from", "arrived_to")
"""Keys of an event: the range [from, to) of arrival time, in ISO 8601, in which all tuples to correct arrived."""

_POLL_S = 2.0


_NO_PANE_MS = 1  # late tuples of a join have no pane, but their event time


class GapTrigger(BaseEventTrigger):
    """Fires when the event times of uncorrected late tuples without a correction request span more than Γ.

    Airflow runs it while correct_<query> is not paused, in one triggerer at a time, and may restart it at any time. So
    each request is recorded beside the tables. Airflow identifies a trigger by its arguments, so these are plain
    strings and numbers.

    Parameters
    ----------
    query : str
        The query's name.
    gap_ms, tick_ms, pane_ms : int
        As in `correction.requests.GapRule`.
    poll_s : float
        Interval between two polls, in s.
    """

    def __init__(self, query: str, gap_ms: int, tick_ms: int, pane_ms: int, poll_s: float = _POLL_S) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.query, self.gap_ms, self.tick_ms, self.pane_ms, self.poll_s = query, gap_ms, tick_ms, pane_ms, poll_s

    @staticmethod
    def from_query(query: Query, gap_ms: int) -> GapTrigger:
        pane_ms = _NO_PANE_MS
        if isinstance(query, WindowedQuery):
            pane_ms = query.window.windows.pane_ms
        return GapTrigger(query.name, gap_ms, query.tick_ms, pane_ms)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("query", "gap_ms", "tick_ms", "pane_ms", "poll_s")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        last_log_s = -math.inf
        while True:
            poll = asyncio.ensure_future(asyncio.to_thread(self._poll))
            try:
                interval, line = await asyncio.shield(poll)
            except asyncio.CancelledError:  # a request that it writes now would never fire
                interval, _ = await poll
                if interval is not None:
                    await asyncio.to_thread(self._withdraw, interval)
                raise
            if interval is not None or time.monotonic() - last_log_s >= TELL_S:
                self.log.info(line)
                last_log_s = time.monotonic()
            if interval is not None:
                ends = dict(zip(RANGE, map(format_time, interval), strict=True))
                yield TriggerEvent(ends)  # type: ignore[no-untyped-call]
            await asyncio.sleep(self.poll_s)

    def _layout(self) -> Layout:
        return Layout.for_query(settings.warehouse(), self.query)

    def _withdraw(self, interval: tuple[int, int]) -> None:
        from tailrace.correction.requests import withdraw  # noqa: PLC0415

        withdraw(self._layout(), interval)

    def _poll(self) -> tuple[tuple[int, int] | None, str]:
        """Poll once: return the interval of arrival to correct, or None, and a line for the log.

        An error becomes a line for the log; the trigger survives it.
        """
        try:
            from tailrace.correction.requests import GapRule, request_correction  # noqa: PLC0415 (Delta takes long to import; DAG files import this)

            return request_correction(
                self._layout(), GapRule(self.gap_ms, self.tick_ms, self.pane_ms), time.time_ns() // 1_000_000
            )
        except Exception as error:
            return None, f"the uncorrected late tuples of {self.query} are unknown: {error}"
