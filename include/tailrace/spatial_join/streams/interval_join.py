"""The kind `spatial_join` with `join: interval`: pairs of two streams in an interval of event time (paper 003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.operators.chunk import Chunk
from tailrace.operators.interval_join import Matches
from tailrace.spatial_join.streams.joined_streams import JoinedStreams


@dataclass(frozen=True, kw_only=True)
class SpatialIntervalJoin(JoinedStreams):
    """Pairs of related geometries with lower ≤ right_time − left_time ≤ upper (BSINLJ: definition 6, Algorithm 4).

    Attributes
    ----------
    interval : (int, int)
        lower and upper in ms.
    bins : int or None
        The length of the bins in which rows are stored, in ms (eq. 4).
    """

    interval: tuple[int, int]
    bins: int | None

    @property
    def bin_ms(self) -> int | None:
        return self.bins

    @property
    def bounds_ms(self) -> tuple[int, int]:
        return self.interval

    @property
    def kept_ms(self) -> tuple[int, int]:
        """How long each side is stored: T_ub for the left one, −T_lb for the right one (eq. 5)."""
        lower, upper = self.interval
        return max(upper, 0), max(-lower, 0)

    def match(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches:
        """Find the pairs of one side's new rows; Algorithm 4 in both directions."""
        return self.join.match((left, right), new, self.interval, self.task_slot)
