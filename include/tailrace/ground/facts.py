"""Facts: configuration changes, each with the point from which it holds. The driver stamps them between two batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

Subject = str
"""The subject of a fact: a slack policy's `settings`, a partition `plan`, the number of `tasks`, or a table's version.

The subject of a dimension table is `table`, and of a lookup's table `lookup STREAM.NAME`.
"""

TABLE = "table"
"""The subject of the versions of a dimension table."""

TASKS = "tasks"
"""The subject of the number of tasks."""

_LOOKUP = "lookup "


@dataclass(frozen=True)
class Fact:
    """A configuration change, and the point from which it holds.

    It does not affect earlier batches. The journal records it, so a replayed batch sees the same configuration.

    Attributes
    ----------
    version : int
        From 1 on, for each subject.
    since : int
        For settings: the first tick in which they hold, since the clock acts by ticks. For a plan or a table: the
        ordinal of the first segment for which it holds, since readers know no final ticks.
    value : mapping
        The new configuration as JSON values; compare the parsed values, not the text.
    evidence : str
        The reason for it, in words.
    batch : int
        It was stamped before this batch.
    earlier_event, earlier_tick : int or None
        For a plan: the greatest event time (ms) and tick of the tuples before it; None if there were none, or all have
        expired.
    """

    about: Subject
    version: int
    since: int
    value: Mapping[str, Any]
    evidence: str
    batch: int = 0
    earlier_event: int | None = None
    earlier_tick: int | None = None


Facts = tuple[Fact, ...]
"""Facts in the order in which they were stamped."""


def newest(facts: Facts, subject: Subject) -> Fact | None:
    """Return the newest fact about a subject; None without one."""
    return next((fact for fact in reversed(facts) if fact.about == subject), None)


def lookup_subject(stream: str, name: str) -> Subject:
    """Return the subject of the versions of a lookup's table."""
    return f"{_LOOKUP}{stream}.{name}"


def is_table(subject: Subject) -> bool:
    """Test whether a subject is a table's versions."""
    return subject == TABLE or subject.startswith(_LOOKUP)


def tables_in_force(facts: Facts) -> dict[Subject, Fact]:
    """Return the newest version of each table."""
    return {fact.about: fact for fact in facts if is_table(fact.about)}


def stamp(
    facts: Facts,
    subject: Subject,
    value: Mapping[str, Any],
    since: int,
    evidence: str,
    batch: int = 0,
    earlier_event: int | None = None,
    earlier_tick: int | None = None,
) -> Facts:
    """Append a fact, as the next version of its subject."""
    before = newest(facts, subject)
    version = 1 if before is None else before.version + 1
    return (*facts, Fact(subject, version, since, value, evidence, batch, earlier_event, earlier_tick))


def prune(facts: Facts, subject: Subject, since: int) -> Facts:
    """Drop the facts about a subject that are superseded before `since`."""
    return _without_superseded(facts, subject, lambda new: new.since <= since)


def prune_plans(facts: Facts, is_past: Callable[[int], bool], complete_tick: int | None) -> Facts:
    """Drop the plans whose tuples have all expired.

    The newest plan stays; if no earlier tuple lives, its `earlier_event` and `earlier_tick` become None. A tuple of an
    incomplete tick has not expired, however old: it still meets the others of its tick.

    Parameters
    ----------
    is_past : callable
        Returns whether all tuples with event times up to a given one (ms) have expired.
    complete_tick : int or None
        The newest complete tick.
    """

    def is_superseded_by(new: Fact) -> bool:
        if new.earlier_event is None:
            return True
        none_waits = new.earlier_tick is None or (complete_tick is not None and new.earlier_tick <= complete_tick)
        return none_waits and is_past(new.earlier_event)

    facts = _without_superseded(facts, "plan", is_superseded_by)
    oldest = next((fact for fact in facts if fact.about == "plan"), None)
    if oldest is None or not is_superseded_by(oldest):
        return facts
    alone = replace(oldest, earlier_event=None, earlier_tick=None)
    return tuple(alone if fact is oldest else fact for fact in facts)


def _without_superseded(facts: Facts, subject: Subject, superseded_by: Callable[[Fact], bool]) -> Facts:
    """Drop the facts about a subject whose next version fulfils a condition."""
    mine = [fact for fact in facts if fact.about == subject]
    dropped = {old.version for old, new in pairwise(mine) if superseded_by(new)}
    return tuple(fact for fact in facts if fact.about != subject or fact.version not in dropped)
