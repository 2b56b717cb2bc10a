"""Answers that exceed their type: null, or infinite as doubles. A kind can count them in a column of its answers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tailrace.kind.protocol import WindowedKind

OVERFLOWED = "=overflowed"
"""The column of answers with the number of values of the row that exceed their type.

No column of a query can have this name.
"""


@runtime_checkable
class CountsOverflows(Protocol):
    """A kind some of whose answers may exceed their type."""

    def counting_overflows(self) -> WindowedKind:
        """Return the kind with the further column `OVERFLOWED` in its answers, or itself if nothing can overflow."""


def counting_overflows(kind: WindowedKind) -> WindowedKind:
    """Return the kind that counts overflows in its answers, if it can have any."""
    return kind.counting_overflows() if isinstance(kind, CountsOverflows) else kind
