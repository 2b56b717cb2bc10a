"""Answers by pairs of a left and a right tuple in each window that holds both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.affected_pairs import IdentifiedPairs, MissedPairs
from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.by_window import DueAtWindowEnd
from tailrace.answers.identity import PAIR_IN_WINDOW, SIDES, Identity
from tailrace.answers.model import Content
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import Rows
from tailrace.ground.arrow.ranges import Ranges, merge_ranges
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class ByPairInWindow(DueAtWindowEnd, PairAnswers):
    """The answer model of kinds that answer each pair in each window that holds it, when the window closes."""

    windows: Sliding

    @property
    def identity(self) -> Identity:
        return PAIR_IN_WINDOW

    @property
    def order(self) -> tuple[str, ...]:
        return "window_end", "left_time", "right_time", "left_id", "right_id"

    def shortest_wait(self, answers: Rows, came: Ints, t_max: Ints) -> Ints:
        """Return the shortest K: a window holds a tuple if F = t_max − K before its tick is below the window's end."""
        return np.asarray(np.maximum(t_max.max(axis=0) - self.horizon(answers) + 1, 0))

    def missed_by(self, late: pa.Table) -> MissedWindowPairs:
        return MissedWindowPairs.from_late(late, self.windows)

    def identified(self, answers: Rows, times: Ints) -> IdentifiedWindowPairs:
        return IdentifiedWindowPairs(pa.table(answers.select(self.identity.determining)), times, self.windows)


@dataclass(frozen=True)
class MissedWindowPairs:
    """The pairs of some late tuples, in the windows that had closed before the tuples came.

    Attributes
    ----------
    late : tuple of Table
        `id`, `event_time` and `frontier` (F before its tick) of the late tuples of each side.
    """

    late: tuple[pa.Table, ...]
    windows: Sliding

    @staticmethod
    def from_late(late: pa.Table, windows: Sliding) -> MissedWindowPairs:
        """Return the pairs of rows of the table `late`."""
        streams = late["stream"].to_numpy(zero_copy_only=False)
        sides = (matching.select(late, streams == side).select(["id", "event_time", "frontier"]) for side in SIDES)
        return MissedWindowPairs(tuple(sides), windows)

    def ranges(self) -> Ranges:
        rows = pa.concat_tables([side.select(["event_time", "frontier"]) for side in self.late])
        event_time, frontier = (rows[name].to_numpy() for name in ("event_time", "frontier"))
        first = self.windows.first_end(self.windows.pane(event_time))
        last = np.minimum(self.windows.last_end(event_time), self.windows.end_until(frontier))
        order = np.argsort(first, kind="stable")
        some = order[(last >= first)[order]]
        return merge_ranges(first[some] - self.windows.size_ms, np.maximum.accumulate(last[some]))

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        return np.asarray(self._missed(0, answers) | self._missed(1, answers))

    def parts(self, content: Content) -> list[Content]:
        """Return the late tuples of each side, with all tuples of the other side."""
        names = ["id", "event_time"]
        return MissedPairs(tuple(side.select(names) for side in self.late), self.windows.size_ms).parts(content)

    def _missed(self, side: int, answers: Rows) -> NDArray[np.bool_]:
        """Test which answers the late tuples of a side missed.

        Among tuples with the same id and time, the last one counts.
        """
        late, names = self.late[side], ["id", "event_time"]
        ids = answers.column(f"{SIDES[side]}_id")
        late = late.set_column(0, "id", late["id"].cast(ids.type))  # `late` has text where the streams' ids differ
        tuples = pa.table([ids, answers.column(f"{SIDES[side]}_time")], names)
        number, others = matching.number_rows([tuples, late], names)
        until = np.full(1 + max(number.max(initial=-1), others.max(initial=-1)), np.iinfo(np.int64).min)
        np.maximum.at(until, others, late["frontier"].to_numpy())
        return np.asarray(np.asarray(answers.column("window_end")) <= until[number])


@dataclass(frozen=True)
class IdentifiedWindowPairs:
    """Single pairs in windows, given by their identity.

    Attributes
    ----------
    answers : Table
        `left_id`, `right_id` and `window_end`.
    times : ndarray
        The event times of their tuples.
    """

    answers: pa.Table
    times: Ints
    windows: Sliding

    def ranges(self) -> Ranges:
        times, ends = np.unique(self.times), np.unique(np.asarray(self.answers.column("window_end")))
        low = np.concatenate([times - 1, ends - self.windows.size_ms])
        high = np.concatenate([times + 1, ends])
        order = np.argsort(low, kind="stable")
        return merge_ranges(low[order], np.maximum.accumulate(high[order]))

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        return np.asarray(PAIR_IN_WINDOW.find(answers, self.answers) >= 0)

    def parts(self, content: Content) -> list[Content]:
        """Return the tuples with an id of one of the pairs."""
        return IdentifiedPairs(self.answers, self.times).parts(content)
