"""Answers that leave their type, and are null then: a kind can count them in a column of its answers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tailrace.kind.protocol import WindowedKind

OVERFLOWED = "=overflowed"
"""The column of answers with the number of those in their row that are null as their type does not hold them.

No column of a query is called so.
"""


@runtime_checkable
class CountsOverflows(Protocol):
    """A kind some of whose answers may leave their type, and are null then."""

    def counting_overflows(self) -> WindowedKind:
        """Return the kind with a further column of its answers, `OVERFLOWED`; itself where none can leave its type."""


def counting_overflows(kind: WindowedKind) -> WindowedKind:
    """Return the kind as it counts overflows in its answers, if it can have any."""
    return kind.counting_overflows() if isinstance(kind, CountsOverflows) else kind
