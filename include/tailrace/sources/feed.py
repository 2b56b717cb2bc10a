"""Protocol of feeds, through which the driver polls a stream's growing log for new segments."""

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
        """Identifier that distinguishes the source from another one at the same location; empty without one."""

    @property
    def version(self) -> int:
        """The version of the source's table that was last read; 0 where the source is no table."""

    @property
    def holds_back(self) -> bool:
        """Whether it holds back known segments, so that a call of `fresh` without segments is not silence."""

    @property
    def problem(self) -> str | None:
        """The reason why it returns no segments for now, without a failure; None if there is none."""

    def fresh(self) -> list[Segment]:
        """Return the segments that it has not returned before, in log order; callers poll it, also after an error.

        Raises
        ------
        Refused
            When the source is missing, unreadable, lacks a column, or has one of a wrong type.
        SourceChanged
            When a part of it that was read already has changed.
        """


class FeedAround:
    """A feed that wraps another one; subclasses override parts of it."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed

    @property
    def types(self) -> Types:
        return self.feed.types

    @property
    def identity(self) -> str:
        return self.feed.identity

    @property
    def version(self) -> int:
        return self.feed.version

    @property
    def holds_back(self) -> bool:
        return self.feed.holds_back

    @property
    def problem(self) -> str | None:
        return self.feed.problem

    def fresh(self) -> list[Segment]:
        return self.feed.fresh()
