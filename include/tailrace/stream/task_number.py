"""The number of tasks of the next batch: as declared, as requested, or as the load makes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tailrace.engine.task_change import change_after
from tailrace.ground.facts import TASKS, Facts, newest, stamp
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.rescale_request import RescaleRequest
from tailrace.stream.load_policy import LoadPolicy

BY_HAND = "requested by tailrace rescale"
"""Evidence of a number that was requested."""

DECLARED = "as the query file declares"
"""Evidence of a number that follows from an edit of the query file."""

_ASK_EVERY_S = 1.0  # an object store


@dataclass
class TaskNumber:
    """Stamps a changed number of tasks as a fact, so that a batch that is run again has the same number.

    The fact's value has the number of `tasks`; the number `before`; the bounds `declared` in the file at that time; the
    id of the last accepted `request`; and `since`, the first batch with the number.

    Attributes
    ----------
    first : int
        The number with which the checkpoint was created or rebuilt.
    since : int
        The first batch after the checkpoint was created or rebuilt.
    declared : pair of int
        The bounds of the number in the query file; equal if it declares one number.
    request : callable
        Reads the last request.
    policy : LoadPolicy, optional
        Given for a live stream whose file declares `elasticity`.
    """

    first: int
    since: int
    declared: tuple[int, int]
    request: Callable[[], RescaleRequest | None] = lambda: None
    policy: LoadPolicy | None = None

    @classmethod
    def from_query(cls, query: Query, layout: Layout, manifest: CheckpointManifest, live: bool) -> TaskNumber | None:
        """Return the task number of a query's stream; None if it never changes."""
        if not query.has_late_tuples:
            return None
        low, high = query.task_bounds
        policy = LoadPolicy(low, high) if live and low < high else None
        return cls(manifest.first_tasks, manifest.plans_from, (low, high), _Requests(layout).last, policy)

    def observe(self, tasks: int, rows: int, took_ms: int) -> None:
        """Observe a batch, see `LoadPolicy.observe`."""
        if self.policy is not None:
            self.policy.observe(tasks, rows, took_ms)

    def stamped(self, facts: Facts, segments: int, batch: int) -> Facts:
        """Return the facts of a batch; with the number of tasks if it changes, or if a request is accepted.

        Parameters
        ----------
        segments : int
            The number of segments before the batch.
        """
        fact = newest(facts, TASKS)
        known: dict[str, Any] = {} if fact is None else dict(fact.value)
        change = change_after(facts, self.first, self.since)
        before = change.now
        is_of_this_checkpoint = fact is not None and fact.batch >= self.since
        declared = known["declared"] if is_of_this_checkpoint else [self.first, self.first]
        tasks, evidence = (None if self.policy is None else self.policy.wanted(before)) or (before, None)
        # A first edit whose bounds hold the number needs no fact: the number stays as the manifest has it.
        if declared != [*self.declared] and (self._within(before) != before or is_of_this_checkpoint):
            tasks, evidence = self._within(before), DECLARED
        request = self.request()
        if request is not None and request.id != known.get("request"):
            tasks, evidence = request.tasks, BY_HAND
            known["request"] = request.id
        if evidence is None:
            return facts
        value = {"tasks": tasks, "before": before, "declared": [*self.declared], "request": known.get("request")}
        value["since"] = change.since if tasks == before else batch
        return stamp(facts, TASKS, value, segments, evidence, batch)

    def _within(self, tasks: int) -> int:
        low, high = self.declared
        return min(max(tasks, low), high)


@dataclass
class _Requests:
    """The last request of a stream; an object store is asked at most once a second."""

    layout: Layout
    _last: RescaleRequest | None = None
    _due_s: float = field(default=0.0)

    def last(self) -> RescaleRequest | None:
        now_s = time.monotonic()
        if not self.layout.is_remote or now_s >= self._due_s:
            self._due_s = now_s + _ASK_EVERY_S
            with suppress(OSError):  # a disk or a store may be away for a while: the request waits there
                self._last = RescaleRequest.read(self.layout)
        return self._last
