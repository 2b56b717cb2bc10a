"""Sets of pairs that a correction recomputes, given by late tuples, by a range of event time, or by identity.

For a range [low, high) of event time, answers with a later time in (low, high] are read, so each range begins 1 ms
before the earliest tuple that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.answers.identity import PAIR, SIDES
from tailrace.answers.model import Content
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import Rows
from tailrace.ground.arrow.ranges import Ranges, merge_ranges


@dataclass(frozen=True)
class ClosedPairs:
    """All pairs with a tuple in the event times [low, high), and both tuples before the frontier.

    Attributes
    ----------
    reach_ms : int
        The greatest distance of the two event times.
    """

    event_times: tuple[int, int]
    reach_ms: int
    frontier: int

    def ranges(self) -> Ranges:
        low, high = self.event_times
        low, high = low - self.reach_ms - 1, min(high + self.reach_ms, self.frontier)
        some = slice(0, int(low < high))
        return np.array([low])[some], np.array([high])[some]

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        low, high = self.event_times
        left, right = (np.asarray(answers.column(f"{side}_time")) for side in SIDES)
        in_range = ((left >= low) & (left < high)) | ((right >= low) & (right < high))
        return np.asarray(in_range & (np.maximum(left, right) < self.frontier))

    def parts(self, content: Content) -> list[Content]:
        return [content]


@dataclass(frozen=True)
class MissedPairs:
    """The pairs of some late tuples.

    Attributes
    ----------
    late : tuple of Table
        `id` and `event_time` of the late tuples of each side. Only some of the tuples with one id may be late, so id
        and time together identify a tuple.
    """

    late: tuple[pa.Table, ...]
    reach_ms: int

    @staticmethod
    def from_late(late: pa.Table, reach_ms: int) -> MissedPairs:
        """Return the pairs of rows of the table `late`."""
        sides = (late.filter(pc.equal(late["stream"], side)).select(["id", "event_time"]) for side in SIDES)
        return MissedPairs(tuple(sides), reach_ms)

    def ranges(self) -> Ranges:
        times = np.unique(np.concatenate([side["event_time"].to_numpy() for side in self.late]))
        return merge_ranges(times - self.reach_ms - 1, times + self.reach_ms + 1)

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        left, right = (
            self._is_late(side, answers.column(f"{name}_id"), answers.column(f"{name}_time"))
            for side, name in enumerate(SIDES)
        )
        return left | right

    def parts(self, content: Content) -> list[Content]:
        """Return the late tuples of each side, with all tuples of the other side."""
        left, right = content
        late_left, late_right = (
            tuples.filter(pa.array(self._is_late(side, tuples.column("id"), tuples.column("event_time"))))
            for side, tuples in enumerate(content)
        )
        return [(late_left, right), (left, late_right)]

    def _is_late(self, side: int, ids: pa.Array, times: pa.Array) -> NDArray[np.bool_]:
        late, names = self.late[side], ["id", "event_time"]
        late = late.set_column(0, "id", late["id"].cast(ids.type))  # `late` has text where the streams' ids differ
        return np.asarray(matching.find(*matching.number_rows([pa.table([ids, times], names), late], names)) >= 0)


@dataclass(frozen=True)
class IdentifiedPairs:
    """Single pairs, given by their ids.

    Attributes
    ----------
    pairs : Table
        `left_id` and `right_id`.
    times : ndarray
        The event times of their tuples.
    """

    pairs: pa.Table
    times: Ints

    def ranges(self) -> Ranges:
        times = np.unique(self.times)
        return merge_ranges(times - 1, times + 1)

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        return np.asarray(PAIR.find(answers, self.pairs) >= 0)

    def parts(self, content: Content) -> list[Content]:
        """Return the tuples with an id of one of the pairs."""
        sides = zip(SIDES, content, strict=True)
        return [tuple(tuples.filter(_has_id(tuples, self.pairs, side)) for side, tuples in sides)]


def _has_id(tuples: pa.RecordBatch, pairs: Rows, side: str) -> pa.Array:
    ids: Sequence[pa.Array] = [tuples.column("id"), pairs.column(f"{side}_id")]
    ids_of = [pa.table([column], ["id"]) for column in ids]
    return pa.array(matching.find(*matching.number_rows(ids_of, ["id"])) >= 0)
