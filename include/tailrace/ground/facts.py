"""Facts: configuration changes, each with the point from which it holds. The driver stamps them between two batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
        Settings: the first tick in which they hold, since the clock acts by ticks. A plan, a table: the first position
        in the log at which it holds, since readers know no final ticks.
    value : mapping
        The new configuration as JSON values; to be compared as what they stand for, not as text.
    evidence : str
        Where it comes from, in words.
    batch : int
        The batch before which it was stamped.
    """

    about: Subject
    version: int
    since: int
    value: Mapping[str, Any]
    evidence: str
    batch: int = 0


Facts = tuple[Fact, ...]
"""Facts in the order in which they were stamped."""


def newest(facts: Facts, about: Subject) -> Fact | None:
    """Return the newest fact about a subject; None where there is none."""
    return next((fact for fact in reversed(facts) if fact.about == about), None)


def stamp(facts: Facts, about: Subject, value: Mapping[str, Any], since: int, evidence: str, batch: int = 0) -> Facts:
    """Append a fact, as the next version of its subject."""
    before = newest(facts, about)
    return (*facts, Fact(about, 1 if before is None else before.version + 1, since, value, evidence, batch))


def prune(facts: Facts, about: Subject, since: int) -> Facts:
    """Drop the facts about a subject that hold at no point from `since` on, since a newer one holds there."""
    mine = [fact for fact in facts if fact.about == about]
    dropped = {old.version for old, new in pairwise(mine) if new.since <= since}
    return tuple(fact for fact in facts if fact.about != about or fact.version not in dropped)
