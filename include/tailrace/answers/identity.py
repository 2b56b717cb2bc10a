"""The identity of answers, and the version in force of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow import matching
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import Rows


@dataclass(frozen=True)
class Identity:
    """The columns that identify an answer in all of its versions.

    Attributes
    ----------
    columns : tuple of str
    determining : tuple of str
        The columns that determine the others.
    """

    columns: tuple[str, ...]
    determining: tuple[str, ...]

    def number(self, *tables: Rows) -> list[Ints]:
        """Number each row of tables by its answer, like `matching.number_rows`."""
        return matching.number_rows(tables, self.determining)

    def find(self, rows: Rows, others: Rows) -> Ints:
        """Return the position of the first row of the same answer among `others`, −1 if there is none; shape (n,)."""
        return matching.find(*self.number(rows, others))

    def first_rows(self, rows: Rows) -> Rows:
        """Select the first row of each answer."""
        first = matching.first_indices(*self.number(rows))
        return rows if len(first) == rows.num_rows else rows.take(pa.array(first))

    def latest(self, versions: pa.Table) -> pa.Table:
        """Select the version of each answer with the greatest as_of, including retracted ones.

        On a tie, the version of a correction is selected; of several with the same as_of, the last one. All rows of a
        version are selected.

        Parameters
        ----------
        versions : Table
            With `as_of` (ms), `corrected` and `interval`, as in `versions.as_streamed` and `versions.as_corrections`.
        """
        (number,), (interval,) = self.number(versions), matching.number_rows([versions], ["interval"])
        order = 2 * versions["as_of"].to_numpy() + versions["corrected"].to_numpy()
        count = number.max(initial=-1) + 1
        greatest = np.full(count, np.iinfo(np.int64).min)
        np.maximum.at(greatest, number, order)
        is_greatest = order == greatest[number]
        intervals = np.zeros(count, np.int64)
        intervals[number[is_greatest]] = interval[is_greatest]  # of equal indices the last assignment stays
        return matching.select(versions, is_greatest & (interval == intervals[number]))


WINDOW = Identity(("key", "window_start", "window_end"), ("key", "window_end"))
"""Answers by key and sliding window."""

SESSION = Identity(WINDOW.columns, WINDOW.columns)
"""Answers by key and session. A session's end does not determine its start, and each version has its own times."""

SIDES = ("left", "right")
"""The streams of a join, in the order of its inputs."""

PAIR = Identity(("left_id", "right_id", "left_time", "right_time"), ("left_id", "right_id"))
"""Answers by pairs of a left and a right tuple."""

PAIR_IN_WINDOW = Identity((*PAIR.columns, "window_start", "window_end"), (*PAIR.determining, "window_end"))
"""Answers by pairs of a left and a right tuple, in each window that holds both."""
