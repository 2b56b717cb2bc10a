"""Protocol of feeds: through one the driver polls a stream's growing log for new segments."""

from __future__ import annotations

from typing import Protocol

from tailrace.sources.segments import Segment, Types


class Feed(Protocol):
    """Protocol of a feed: the growing end of a source's log."""

    @property
    def types(self) -> Types:
        """Types of the columns that the query reads; empty until a record shows them."""

    @property
    def identity(self) -> str:
        """Identifier that distinguishes the source from another one in its place; empty where it has none."""

    @property
    def version(self) -> int:
        """The version of the source's table that was last read; 0 where the source is no table."""

    @property
    def holds_back(self) -> bool:
        """True while it holds back known segments: then a call of `fresh` without segments is no silence."""

    @property
    def problem(self) -> str | None:
        """The reason why it gives no segments for now, though nothing failed; None where it can give them."""

    def fresh(self) -> list[Segment]:
        """Return the segments that it has not given before, in log order; callers poll it, also after an error.

        Raises
        ------
        Refused
            When the source is missing, unreadable, lacks a column, or has one of a wrong type.
        SourceChanged
            When a part of it that was read already has changed.
        """
