"""Operator of the DAG publish_<query>: creates an asset event about new answers in a table or delivery target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, Context
from airflow.sdk.exceptions import AirflowSkipException

from tailrace.orchestration.event_extra import query_extra
from tailrace.orchestration.refusals import refusals_fail
from tailrace.orchestration.stream_operators import StreamOperator
from tailrace.storage.layout import Layout

if TYPE_CHECKING:
    from tailrace.storage.table_snapshot import TableSnapshot

_NEWEST = 20  # events read first: anyone may add events, and other queries may send to a topic


class PublishOperator(StreamOperator):
    """Compares a table or delivery target with its last asset event; creates the next event if it has changed.

    Airflow stores the event together with the task's success, so each change is published exactly once, despite kills
    and retries. `extra` has `query`, `rows` (added since the last event), `total_rows`, `as_of`, and the result
    of `query_extra`.

    Parameters
    ----------
    table : Asset
        The table or target, which is inlet and outlet of this task.
    place : str, optional
        The name of a delivery target; by default the asset is one of the query's tables.
    """

    part = "answers"

    def __init__(self, *, table: Asset, place: str | None = None, **kwargs: Any) -> None:
        super().__init__(inlets=[table], outlets=[table], **kwargs)
        self.table, self.place = table, place

    def execute(self, context: Context) -> None:
        with refusals_fail():
            layout = self.layout()
            snapshot = self._snapshot(layout)
        if self.place is not None and not snapshot.rows:
            raise AirflowSkipException(f"nothing is known yet of what {self.table.name} has")
        last = self._last_extra(context["inlet_events"][self.table])
        if (snapshot.rows, snapshot.as_of) == (last.get("total_rows", 0), last.get("as_of")):
            raise AirflowSkipException(f"{self.table.name} has nothing new since its last event")
        extra = {
            "query": self.query,
            "rows": snapshot.rows - last.get("total_rows", 0),
            "total_rows": snapshot.rows,
            "as_of": snapshot.as_of,
        } | query_extra(layout)
        self.log.info("%s: %s", self.table.name, extra)
        context["outlet_events"][self.table].extra = extra

    def _last_extra(self, events: Any) -> dict[str, Any]:
        """Return the `extra` of the last event of this query; empty without one. Reads no more events than needed."""
        most = _NEWEST
        while True:
            newest = list(events.ascending(False).limit(most))
            last = last_extra(newest, self.query)
            if last or len(newest) < most:
                return last
            most *= 10

    def _snapshot(self, layout: Layout) -> TableSnapshot:
        from tailrace.delivery.delivered import delivered  # noqa: PLC0415 (Delta takes long to import)
        from tailrace.storage.table_snapshot import TableSnapshot  # noqa: PLC0415 (the same)

        if self.place is None:
            return TableSnapshot.read(layout, self.table.name.rpartition(".")[2])
        return delivered(layout, self.place, self.declared().query.answers.uris.get(self.place))


def last_extra(events: Iterable[Any], query: str) -> dict[str, Any]:
    """Return the `extra` of the first event that this operator made for a query; empty without one.

    `events` begin with the newest. Several queries may send their answers to one topic.
    """
    extras = (event.extra for event in events if event.extra and "total_rows" in event.extra)
    return next((extra for extra in extras if extra.get("query") == query), {})
