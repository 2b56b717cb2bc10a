"""The pairs for which a join's condition fails, which are not answered, but counted with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tailrace.ground.words import counted

FAILED = "where_failed"
"""The count of pairs for which a condition fails, for example by an overflow."""

_REASON = f"{FAILED}: "
"""The prefix of the counts of pairs that fail for one reason; the reason follows."""


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
        """Build the object from the counts of a batch, see `counts_of`."""
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
    """Return the counts of failed pairs: in total, and for each reason."""
    by_reason = {_REASON + reason: number for reason, number in reasons.items()}
    return {FAILED: sum(reasons.values())} | by_reason if reasons else {}
