"""Airflow event trigger that starts the publication of a query's new answers, at most once per interval."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from tailrace.orchestration import settings
from tailrace.storage.layout import Layout

INTERVAL_S = 60.0
PUBLISHED = ("results", "corrections")
"""The tables whose commits are published as asset events."""


class CommitTrigger(BaseEventTrigger):
    """Fires when the tables of answers, or the delivery targets, have changed; at most once per interval.

    An event may come twice or be lost, such as when the triggerer restarts. That does no harm: the started run compares
    the tables with the last asset event, which Airflow stores together with the task's success.

    Parameters
    ----------
    query : str
        The query's name.
    interval_s : float
        Interval between polls, in s; the first poll is after one interval.
    """

    def __init__(self, query: str, interval_s: float = INTERVAL_S) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.query, self.interval_s = query, interval_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("query", "interval_s")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        fired: dict[str, Any] | None = None
        while True:
            await asyncio.sleep(self.interval_s)
            snapshots = await asyncio.to_thread(self._poll)
            if snapshots and snapshots != fired:
                fired = snapshots
                yield TriggerEvent(snapshots)  # type: ignore[no-untyped-call]

    def _poll(self) -> dict[str, Any]:
        """Return the snapshots of the tables and places with rows; none on an error, which the trigger survives."""
        try:
            from tailrace.delivery.delivered import all_delivered  # noqa: PLC0415 (Delta takes long to import; DAG files import this)
            from tailrace.storage.table_snapshot import TableSnapshot  # noqa: PLC0415 (the same)

            layout = Layout.for_query(settings.warehouse(), self.query)
            snapshots = {name: TableSnapshot.read(layout, name) for name in PUBLISHED} | all_delivered(layout)
            return {name: asdict(snapshot) for name, snapshot in snapshots.items() if snapshot.rows}
        except Exception as error:
            self.log.info("the commits of %s are unknown: %s", self.query, error)
            return {}
