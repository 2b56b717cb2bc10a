"""What the events of a query's assets hold, where Airflow shows it: the promise, the coverage, the progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from airflow.sdk import Context

from tailrace.ground.duration import format_time
from tailrace.orchestration.links import page_url
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status


def query_extra(layout: Layout) -> dict[str, Any]:
    """Return what is true of a query now, for the `extra` of an event.

    Returns
    -------
    dict
        `coverage`: the share of the tuples that came in time; `committed`: the arrival time up to which everything was
        taken in; `promise`: `kept` or `broken` by the newest measured errors, or `unknown`; `promise_detail`: the
        measured errors against the promise; `page`: where more stands.
    """
    from tailrace.correction.promise_state import PromiseState  # noqa: PLC0415 (Delta takes long to import)

    status, promise = Status.read(layout), PromiseState.read(layout)
    committed = None if status is None else status.committed
    return {
        "coverage": None if status is None else status.coverage,
        "committed": None if committed is None else format_time(committed),
        "promise": promise.state,
        "promise_detail": promise.detail,
        "page": page_url(layout.home.name, "promise"),
    }


def add_to_events(context: Context, assets: Iterable[Any], layout: Layout, log: Callable[[str], Any]) -> None:
    """Add what is true of a query to the events of a task's assets; a failure of that fails no task."""
    if not (outlets := list(assets)):
        return
    try:
        extra = query_extra(layout)
    except Exception as error:  # the disk may be away, and the task has done its work
        log(f"the events of {', '.join(each.name for each in outlets)} lack the promise, which can't be read: {error}")
        return
    for asset in outlets:
        context["outlet_events"][asset].extra |= extra
