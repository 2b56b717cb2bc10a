"""The number of tasks of a query's stream, as in the journal, and requests for another one."""

from __future__ import annotations

from tailrace.engine.task_change import tasks_after
from tailrace.ground.errors import refuse
from tailrace.query.query import Query
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.rescale_request import RescaleRequest

_MOST = 64


def tasks_after_batch(layout: Layout, query: Query, manifest: CheckpointManifest, batch: int) -> int:
    """Return the number of tasks that have a state after a batch of the journal; -1 is before the first one."""
    facts = Journal(layout.journal)[batch].header.facts if batch >= 0 else ()
    return tasks_after(facts, manifest.first_tasks if query.tasks else 0, manifest.plans_from)


def request_tasks(layout: Layout, query: Query, tasks: int) -> int:
    """Request another number of tasks from the stream's next batch on; return the number until then.

    Raises
    ------
    Refused
        When the query has no stream or no tasks, or the number is out of bounds.
    """
    name = f"query {query.name}"
    if not 1 <= tasks <= _MOST:
        raise refuse(name, f"{tasks} tasks", f"a number from 1 to {_MOST}")
    if not query.has_late_tuples:
        raise refuse(name, "a join with a table has no tasks: its readers answer", "more cores, at the next start")
    low, high = query.task_bounds
    if low < high and not low <= tasks <= high:
        fault = f"{tasks} tasks are out of the bounds that its file declares, from {low} to {high}"
        raise refuse(name, fault, "a number within them; or other bounds in the file, then drain and start")
    manifest = layout.manifest()
    if manifest is None:
        raise refuse(str(layout.home), "the query has never run in this warehouse", f"parallelism: {tasks} in its file")
    layout.require_same(manifest, query)
    now = tasks_after_batch(layout, query, manifest, Journal(layout.journal).count - 1)
    RescaleRequest.new(tasks).write(layout)
    return now
