"""Operator of the DAG publish_<query>: makes an asset event about the changes of a table of answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow.sdk import Asset, Context
from airflow.sdk.exceptions import AirflowSkipException

from tailrace.orchestration.event_extra import query_extra
from tailrace.orchestration.refusals import refusals_fail
from tailrace.orchestration.stream_operators import StreamOperator

_NEWEST = 20  # events that are searched for ours, since anyone may add events manually


class PublishOperator(StreamOperator):
    """Compares a table with its last asset event, and makes the next event if the table has changed since.

    Airflow stores the event together with the task's success, so each change is published exactly once, despite kills
    and retries. `extra` has `rows` (added since the last event), `total_rows`, `as_of`, and the result of
    `query_extra`.

    Parameters
    ----------
    table : Asset
        The table, which is inlet and outlet of this task.
    """

    part = "answers"

    def __init__(self, *, table: Asset, **kwargs: Any) -> None:
        super().__init__(inlets=[table], outlets=[table], **kwargs)
        self.table = table

    def execute(self, context: Context) -> None:
        from tailrace.correction.table_snapshot import TableSnapshot  # noqa: PLC0415 (Delta takes long to import)

        with refusals_fail():
            layout = self.layout()
        last = last_extra(context["inlet_events"][self.table].ascending(False).limit(_NEWEST))
        snapshot = TableSnapshot.read(layout, self.table.name.rpartition(".")[2])
        if (snapshot.rows, snapshot.as_of) == (last.get("total_rows", 0), last.get("as_of")):
            raise AirflowSkipException(f"{self.table.name} has nothing new since its last event")
        extra = {
            "rows": snapshot.rows - last.get("total_rows", 0),
            "total_rows": snapshot.rows,
            "as_of": snapshot.as_of,
        } | query_extra(layout)
        self.log.info("%s: %s", self.table.name, extra)
        context["outlet_events"][self.table].extra = extra


def last_extra(events: Iterable[Any]) -> dict[str, Any]:
    """Return the `extra` of the newest event made by this operator, given events newest first; empty without one."""
    return next((event.extra for event in events if event.extra and "total_rows" in event.extra), {})
