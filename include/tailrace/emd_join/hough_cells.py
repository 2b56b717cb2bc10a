"""The partitioning of Head-SJ: R by two-dimensional cells of the Hough space (paper 000, section 2.2.3).

A histogram's point is the mean and the deviation of its normal distribution along a projection of the bins. The space
is cut into columns by the mean, and each column into cells by the deviation, a cell for each task, with equal numbers
of the tuples from which the plan is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.emd_join.columns import derived_column
from tailrace.emd_join.normal_bound import moments
from tailrace.emd_join.search import Reals, Rows
from tailrace.ground.columns import Floats, Ints
from tailrace.ground.facts import Facts
from tailrace.partition.by_span import FARTHEST_SPAN, BySpan, span_of
from tailrace.partition.routes import LEFT, Routes

POINT = "point"
"""The derived column with the point of each histogram, shape (m, 2)."""

_SIDE = 1 << 20
"""A code is the mean's span times this, plus the deviation's span. So it is exact as a double."""


def hough_points(shares: Rows, places: Reals) -> Rows:
    """Return the mean and the deviation of each histogram along the projected bins, shape (m, 2)."""
    return np.stack(moments(shares, places), axis=1)


def codes_of(points: Rows, width: float) -> Ints:
    """Return the code of the square of each point; squares are `width` wide, and both coordinates are at least 0."""
    mean, deviation = (np.clip(span_of(column, width), 0, _SIDE - 1) for column in points.T)
    return np.asarray(mean * _SIDE + deviation)


def cells_of(codes: Ints, tuples: Floats, tasks: int) -> Mapping[str, Any] | None:
    """Make the plan of a cell for each task, from the numbers of tuples by code; None without tuples.

    Returns
    -------
    mapping or None
        {"bounds": [b_0, …, b_c], "deviations": [[…], …], "hot": []}: column i has the means' spans from b_i on and
        below b_{i+1}, and its cells begin at the given spans of the deviation; the first one has all below.
    """
    if not tuples.any():
        return None
    count = round(np.sqrt(tasks))
    sizes = [tasks // count + (column < tasks % count) for column in range(count)]
    means, deviations = codes // _SIDE, codes % _SIDE
    cuts = _cuts(means, tuples, np.cumsum(sizes)[:-1] / tasks)
    column = np.searchsorted(cuts, means, side="right")
    inner = [
        _cuts(deviations[column == each], tuples[column == each], np.arange(1, size) / size)
        for each, size in enumerate(sizes)
    ]
    outermost = int(FARTHEST_SPAN)
    return {"bounds": [-outermost, *cuts, outermost + 1], "deviations": inner, "hot": []}


def _cuts(spans: Ints, weights: Floats, shares: Floats) -> list[int]:
    """Return the first span after each share of the weight, in ascending order; 0 where there is no weight."""
    if not weights.any():
        return [0] * len(shares)
    order = np.argsort(spans, kind="stable")
    before = np.cumsum(weights[order]) / weights.sum()
    at = np.minimum(np.searchsorted(before, shares * (1 - 1e-12)), len(order) - 1)
    return [int(span) + 1 for span in spans[order][at]]


@dataclass(frozen=True)
class ByHoughCell:
    """The partitioning by the cells of the newest plan; without a plan, by the code of a tuple's square.

    Attributes
    ----------
    width : float
        The width of a square.
    """

    width: float

    @property
    def needs_earlier_plans(self) -> bool:
        return False

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        """Route rows with the derived column `point`, of the left input, and `id`; see `Partition.assign`.

        Raises
        ------
        ValueError
            The plan is for another number of tasks.
        """
        if side != LEFT:
            return BySpan(self.width).assign(side, rows, plans, tasks)
        codes = codes_of(derived_column(rows, POINT), self.width)
        task = codes % tasks
        if plans:
            cuts, inner = plans[-1].value["bounds"][1:-1], plans[-1].value["deviations"]
            first = np.cumsum([0, *(len(each) + 1 for each in inner)])
            if first[-1] != tasks:
                raise ValueError(f"plan {plans[-1].version} is for {first[-1]} tasks, and the query has {tasks}")
            column = np.searchsorted(np.array(cuts, np.int64), codes // _SIDE, side="right")
            for each, bounds in enumerate(inner):
                mine = column == each
                task[mine] = first[each] + np.searchsorted(
                    np.array(bounds, np.int64), codes[mine] % _SIDE, side="right"
                )
        return Routes(np.arange(len(task)), task, np.ones(len(task), bool))
