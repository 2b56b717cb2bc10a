"""The methods that spread the stream R over tasks: EMD-DDSJ, and the baselines ShuffleJ and Head-SJ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.emd_join.columns import derived_column
from tailrace.emd_join.normal_bound import moments
from tailrace.emd_join.search import HistogramColumns, Reals, Rows, Values
from tailrace.ground.columns import Floats, Ints
from tailrace.ground.duration import format_duration
from tailrace.ground.facts import Facts
from tailrace.partition import feedback_balancing
from tailrace.partition.by_span import FARTHEST_SPAN, ByHash, BySpan, span_of, tasks_of_spans
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.partition.routes import LEFT, Partition, Routes

Plan = Mapping[str, Any] | None

WORTH = 0.05
"""The least improvement of the imbalance for which a new plan replaces the one in force."""

LOADS = ("load", "tuples", "filter_ms", "solve_ms")
"""The loads of a span: its exact distances, its tuples of R, and the CPU time for filtering and for exact distances."""


@dataclass(frozen=True)
class SpreadingMethod(ABC):
    """A method that spreads tuples of R over tasks (paper 000).

    Attributes
    ----------
    width : float
        The width of a span, in units of the key; load is measured by spans (with `head`, by squares of this width).
    feedback_ms : int
        The feedback period, in ms of arrival time.
    """

    width: float
    feedback_ms: int

    @property
    @abstractmethod
    def description(self) -> str:
        """The spreading of both streams, in words."""

    @property
    @abstractmethod
    def partition(self) -> Partition:
        """The partitioning of both streams."""

    @abstractmethod
    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        """Make the plan of the next feedback period, see `LoadBalanced`; `loads` has `span` and `LOADS`."""

    @property
    def balances_cost(self) -> bool:
        """Whether plans also balance the cost of stored tuples, and not only new tuples and exact distances."""
        return False

    def derived(self, shares: Rows) -> Values:
        """Return the columns that the method itself needs of histograms, shape (m, n)."""
        return {}

    def spans(self, columns: HistogramColumns) -> Ints:
        """Return the span of each histogram, by which load is measured; shape (m,)."""
        return span_of(columns.keys[:, 0], self.width)


class EmdDdsj(SpreadingMethod):
    """Spreads R by spans of the key, balanced by the measured cost of each feedback period (section 4).

    The paper only balances numbers of exact distances, as these dominate its cost (eq. 6). If filters leave few of
    them, filtering is most of the cost, so both terms count here, as CPU time.
    """

    @property
    def description(self) -> str:
        period = format_duration(self.feedback_ms)
        return f"emd_ddsj: right to all tasks, left by spans of {self.width:g} of its key, balanced every {period}"

    @property
    def balances_cost(self) -> bool:
        return True

    @property
    def partition(self) -> BySpan:
        return BySpan(self.width)

    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        """Return the plan by Algorithm 2 over both terms of eq. (6), with V_est = 0.

        A task finishes every batch before it reports, so nothing is pending. Measured times always vary, so the plan in
        force stays unless the new one would have balanced the period clearly better.
        """
        spans, cost = loads["span"].astype(np.int64), loads["filter_ms"] + loads["solve_ms"]
        new = feedback_balancing.next_plan(plan, spans, cost, np.zeros(tasks), tasks)
        if plan is None or new is None or len(plan["bounds"]) != len(new["bounds"]):
            return new
        former, best = (load_imbalance(_cost_of_tasks(each, spans, cost, tasks)) for each in (plan, new))
        return new if former > best + WORTH else plan


def _cost_of_tasks(plan: Mapping[str, Any], spans: Ints, cost: Floats, tasks: int) -> Floats:
    """Return the cost that each task would have had under a plan, shape (tasks,)."""
    task, is_hot = tasks_of_spans(spans, plan, tasks)
    half = np.where(is_hot, cost / 2, 0.0)
    return np.asarray(np.bincount(task, cost - half, tasks) + np.bincount((task - 1) % tasks, half, tasks))


class ShuffleMethod(SpreadingMethod):
    """Spreads R at random (section 2.2.2)."""

    @property
    def description(self) -> str:
        return "shuffle: right to all tasks, left by the hash of its id"

    @property
    def partition(self) -> ByHash:
        return ByHash()

    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        return plan


@dataclass(frozen=True)
class Head(SpreadingMethod):
    """Spreads R by cells of the Hough space with equal numbers of tuples, determined once (section 2.2.3).

    A histogram's point there is the mean and the deviation of its normal distribution along a projection. Heads-Join
    determines the cells by a scan of the data. For a stream, the first feedback period replaces the scan.

    Attributes
    ----------
    places : tuple of float
        The projected bins.
    """

    places: tuple[float, ...]

    @property
    def description(self) -> str:
        return "head: right to all tasks, left by cells of mean and deviation that the first feedback period fixes"

    @property
    def partition(self) -> ByHoughCell:
        return ByHoughCell(self.width)

    def derived(self, shares: Rows) -> Values:
        return {POINT: hough_points(shares, np.array(self.places))}

    def spans(self, columns: HistogramColumns) -> Ints:
        return codes_of(columns.values[POINT], self.width)

    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        """Return cells with equal numbers of tuples; the outermost cells extend to the ends of the space."""
        return plan if plan is not None else cells_of(loads["span"].astype(np.int64), loads["tuples"], tasks)


# A histogram's point is the mean and the deviation of its normal distribution along a projection of the bins. The space
# is cut into columns by the mean, and each column into cells by the deviation, a cell for each task, with equal numbers
# of the tuples from which the plan is made.

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
    """Return the first span after each share of the weight, in ascending order; 0 without weight."""
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
