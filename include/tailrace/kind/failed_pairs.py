"""The pairs for which a join's condition fails: they are not answered, but counted with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tailrace.ground.words import counted
from tailrace.kind.protocol import WindowedKind

FAILED = "where_failed"
"""The count of pairs for which a condition fails, for example by an overflow."""

_REASON = f"{FAILED}: "
"""The prefix of the counts of pairs that fail for one reason; the reason follows."""

FAILURE = "=where_failed"
"""The column of answers with the reason why the condition fails for a pair; null for pairs that it keeps.

No column of a query can have this name.
"""


@dataclass(frozen=True)
class FailedPairs:
    """The number of pairs for which a condition failed, and the reason of one of them."""

    number: int = 0
    reason: str | None = None

    def __add__(self, other: FailedPairs) -> FailedPairs:
        """Return the sum of both, with the first reason."""
        return FailedPairs(self.number + other.number, self.reason or other.reason)

    @staticmethod
    def of_counts(counts: Iterable[tuple[str, int]]) -> FailedPairs:
        """Build them from the counts of a batch, see `counts_of`."""
        by_name = dict(counts)
        reasons = sorted(name for name in by_name if name.startswith(_REASON))
        return FailedPairs(by_name.get(FAILED, 0), reasons[0].removeprefix(_REASON) if reasons else None)

    @property
    def warning(self) -> str:
        """The warning about them, with the remedy."""
        remedy = "try_divide, try_cast and the like give null in the place of a failure, which coalesce can replace"
        number = counted(self.number, "pair")
        return f"where of pairs failed for {number}, which are not answered, as by {self.reason}: {remedy}"


def counts_of(reasons: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of failed pairs: of all, and of each reason."""
    by_reason = {_REASON + reason: number for reason, number in reasons.items()}
    return {FAILED: sum(reasons.values())} | by_reason if reasons else {}


@runtime_checkable
class CountsFailures(Protocol):
    """A kind whose condition over pairs may fail."""

    def counting_failures(self) -> WindowedKind:
        """Return the kind whose `evaluate` keeps failed pairs, with `FAILURE`; the same kind without a condition."""


def counting_failures(kind: WindowedKind) -> WindowedKind:
    """Return the kind whose answers include the pairs for which its condition fails, if it can have any."""
    return kind.counting_failures() if isinstance(kind, CountsFailures) else kind
