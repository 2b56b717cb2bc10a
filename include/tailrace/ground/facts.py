"""Facts: configuration changes, each with the point from which it holds. The driver stamps them between two batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

Subject = Literal["settings", "plan", "table"]
"""The subject of a fact: a slack policy's settings, a partition plan, or the version of a dimension table."""


@dataclass(frozen=True)
class Fact:
    """A configuration change, and from when on it holds.

    It touches nothing that was processed before, and is recorded in the journal; so a replayed batch sees what it saw.

    Attributes
    ----------
    version : int
        From 1 on, for each subject.
    since : int
        Settings: the first tick in which they hold, since the clock acts by ticks. A plan, a table: the ordinal of the
        first segment for which it holds, since readers know no final ticks.
    value : mapping
        The new configuration as JSON values; to be compared as what they stand for, not as text.
    evidence : str
        Where it comes from, in words.
    batch : int
        The batch before which it was stamped.
    earlier_event, earlier_tick : int or None
        A plan: the greatest event time of the tuples before it, in ms, and the greatest number of their ticks; None
        where there were none, or none of them lives any more.
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


def newest(facts: Facts, about: Subject) -> Fact | None:
    """Return the newest fact about a subject; None where there is none."""
    return next((fact for fact in reversed(facts) if fact.about == about), None)


def stamp(
    facts: Facts,
    about: Subject,
    value: Mapping[str, Any],
    since: int,
    evidence: str,
    batch: int = 0,
    earlier_event: int | None = None,
    earlier_tick: int | None = None,
) -> Facts:
    """Append a fact, as the next version of its subject."""
    before = newest(facts, about)
    version = 1 if before is None else before.version + 1
    return (*facts, Fact(about, version, since, value, evidence, batch, earlier_event, earlier_tick))


def prune(facts: Facts, about: Subject, since: int) -> Facts:
    """Drop the facts about a subject that hold at no point from `since` on, since a newer one holds there."""
    return _without_superseded(facts, about, lambda new: new.since <= since)


def prune_plans(facts: Facts, is_past: Callable[[int], bool], complete_tick: int | None) -> Facts:
    """Drop the plans that placed no living tuple: the event times of all their tuples have passed.

    The newest plan stays; it has no earlier tuples then, if none of them lives. A tuple that waits for its tick to be
    complete lives, however old it is: it still meets the others of its tick.

    Parameters
    ----------
    is_past : callable
        Tells whether all tuples with event times up to a given one (ms) have expired.
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


def _without_superseded(facts: Facts, about: Subject, superseded_by: Callable[[Fact], bool]) -> Facts:
    """Drop the facts about a subject whose next version fulfils a condition."""
    mine = [fact for fact in facts if fact.about == about]
    dropped = {old.version for old, new in pairwise(mine) if superseded_by(new)}
    return tuple(fact for fact in facts if fact.about != about or fact.version not in dropped)
