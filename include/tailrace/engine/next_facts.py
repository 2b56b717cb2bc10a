"""The facts of the next batch, which the driver stamps between two batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tailrace.disorder.policies import policy_of, settings_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.progress import Progress
from tailrace.ground.facts import TABLE, TASKS, Facts, Subject, newest, prune, prune_plans, stamp, tables_in_force
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.kind.protocol import Enrichment, Kind, windowed

DECLARED = "declared"
"""Evidence of settings that are declared in the query."""


def next_facts(
    facts: Facts, policy: SlackPolicy, evidence: str, progress: Progress | None, kind: Kind, batch: int
) -> Facts:
    """Return the facts of the next batch: the last batch's facts that may still be needed, and a new policy.

    A new policy holds from the tick after the newest begun tick, so no processed tick changes.

    Parameters
    ----------
    progress : Progress or None
        The progress of the stream after the last batch; None before the first.
    batch : int
        The number of the next batch.
    """
    tick = -1
    if progress is not None:
        tick = -1 if progress.newest_tick is None else progress.newest_tick
        if progress.complete_tick is not None:
            facts = prune(facts, "settings", progress.complete_tick + 1)
        expiry_frontier, sides = kind.answers.expiry_frontier, range(len(kind.inputs))
        if not isinstance(kind, Enrichment) and windowed(kind).partition.needs_earlier_plans:
            frontier, complete = progress.frontier, progress.complete_tick
            facts = prune_plans(
                facts,
                lambda event: all(expiry_frontier(np.array([event]), side)[0] <= frontier for side in sides),
                complete,
            )
        else:
            facts = prune_plans(facts, lambda event: True, AFTER_ALL)
    for subject in (TASKS, *tables_in_force(facts)):
        facts = prune(facts, subject, AFTER_ALL)
    last = newest(facts, "settings")
    if last is not None and policy_of(last.value) == policy:
        return facts
    return stamp(facts, "settings", settings_of(policy), tick + 1, evidence, batch)


def with_plan(
    facts: Facts, partition_plan: Mapping[str, Any], evidence: str, progress: Progress | None, segments: int, batch: int
) -> Facts:
    """Append a partition plan to the facts of the next batch, which begins with the segment of the given ordinal."""
    newest_event, newest_tick = (None, None) if progress is None else (progress.newest_event, progress.newest_tick)
    return stamp(facts, "plan", partition_plan, segments, evidence, batch, newest_event, newest_tick)


def with_table(
    facts: Facts, version: Mapping[str, Any], evidence: str, segments: int, batch: int, subject: Subject = TABLE
) -> Facts:
    """Append a version of a table to the facts of the next batch, which begins with the segment of this ordinal."""
    return stamp(facts, subject, version, segments, evidence, batch)
