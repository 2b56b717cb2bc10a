"""Γ: the watch over a query's late tuples, in the triggerer, which starts the query's correction."""

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
from tailrace.storage.layout import Layout
from tailrace.windows.sliding import Sliding

RANGE = ("arrived_from", "arrived_to")
"""What an event holds: [from, to) of arrival, as ISO 8601; all that is asked for arrived in it."""

_POLL_S = 2.0


class GapTrigger(BaseEventTrigger):
    """Fires each time when the uncorrected late tuples that no correction was asked for span more than Γ.

    Airflow runs it as long as correct_<query> is not paused, in one triggerer at a time, and starts it anew as it
    likes: what was asked for is noted beside the tables. Its arguments name it to Airflow, so they are plain numbers.

    Parameters
    ----------
    query : str
        The query's name.
    gap_ms, tick_ms, pane_ms : int
        As in `asking.Gap`.
    poll_s : float
        From look to look.
    """

    def __init__(self, query: str, gap_ms: int, tick_ms: int, pane_ms: int, poll_s: float = _POLL_S) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.query, self.gap_ms, self.tick_ms, self.pane_ms, self.poll_s = query, gap_ms, tick_ms, pane_ms, poll_s

    @staticmethod
    def of(query: Query, gap_ms: int) -> GapTrigger:
        pane_ms = Sliding(query.window.size_ms, query.window.slide_ms).pane_ms
        return GapTrigger(query.name, gap_ms, query.tick_ms, pane_ms)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("query", "gap_ms", "tick_ms", "pane_ms", "poll_s")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        told_s = -math.inf
        while True:
            look = asyncio.ensure_future(asyncio.to_thread(self._look))
            try:
                interval, line = await asyncio.shield(look)
            except asyncio.CancelledError:  # what it notes from now on would never be fired
                interval, _ = await look
                if interval is not None:
                    await asyncio.to_thread(self._take_back, interval)
                raise
            if interval is not None or time.monotonic() - told_s >= TELL_S:
                self.log.info(line)
                told_s = time.monotonic()
            if interval is not None:
                ends = dict(zip(RANGE, map(format_time, interval), strict=True))
                yield TriggerEvent(ends)  # type: ignore[no-untyped-call]
            await asyncio.sleep(self.poll_s)

    def _layout(self) -> Layout:
        return Layout.of(settings.warehouse(), self.query)

    def _take_back(self, interval: tuple[int, int]) -> None:
        from tailrace.correction.requests import withdraw  # noqa: PLC0415

        withdraw(self._layout(), interval)

    def _look(self) -> tuple[tuple[int, int] | None, str]:
        """What to ask for, or None; and what is to be said of it. The watch outlives whatever goes wrong here."""
        try:
            from tailrace.correction.requests import GapRule, request_correction  # noqa: PLC0415 (Delta takes long to import; DAG files import this)

            return request_correction(
                self._layout(), GapRule(self.gap_ms, self.tick_ms, self.pane_ms), time.time_ns() // 1_000_000
            )
        except Exception as error:
            return None, f"what of {self.query} is uncorrected can't be told: {error}"
