"""Adds the promise, coverage and progress of a query to the events of its assets, which Airflow shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from airflow.sdk import Context

from tailrace.orchestration.links import page_url
from tailrace.storage.layout import Layout


def query_extra(layout: Layout) -> dict[str, Any]:
    """Return the present `facts` about a query, and the link to its `page`, for the `extra` of an event."""
    from tailrace.correction.query_facts import facts  # noqa: PLC0415 (Delta takes long to import)

    return _with_page(layout, facts(layout.home))


def add_to_events(context: Context, assets: Iterable[Any], layout: Layout, log: Callable[[str], Any]) -> None:
    """Add the present facts about a query to the events of a task's assets; an error does not fail the task."""
    if not (outlets := list(assets)):
        return
    try:
        extra = _with_page(layout, _facts_by_child(str(layout.home)))
    except Exception as error:  # the disk may be unavailable, and the task has done its work
        log(f"the events of {', '.join(each.name for each in outlets)} lack the promise, which can't be read: {error}")
        return
    for asset in outlets:
        context["outlet_events"][asset].extra |= extra


def _facts_by_child(home: str) -> dict[str, Any]:
    from tailrace.correction.query_facts import facts_by_child  # noqa: PLC0415 (Delta takes long to import)

    return facts_by_child(home)


def _with_page(layout: Layout, extra: dict[str, Any]) -> dict[str, Any]:
    return extra | {"page": page_url(layout.home.name, "promise")}
