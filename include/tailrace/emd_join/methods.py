"""The methods that spread the stream R over tasks: EMD-DDSJ, and the baselines ShuffleJ and Head-SJ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.emd_join.columns import derived_name
from tailrace.emd_join.normal_bound import moments
from tailrace.emd_join.search import HistogramColumns, Rows, Values
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.ground.duration import format_duration
from tailrace.partition import feedback_balancing
from tailrace.partition.by_span import ByHash, ByHoughCell, BySpan, cells_of, codes_of, span_of, tasks_of_spans
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.partition.routes import Partition

Plan = Mapping[str, Any] | None

WORTH = 0.05
"""The least improvement of the imbalance for which a new plan replaces the one in force."""

POINT = "point"
"""The derived column with the point of each histogram in the Hough space, shape (m, 2)."""

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
        return ByHoughCell(self.width, derived_name(POINT))

    def derived(self, shares: Rows) -> Values:
        return {POINT: np.stack(moments(shares, np.array(self.places)), axis=1)}

    def spans(self, columns: HistogramColumns) -> Ints:
        return codes_of(columns.values[POINT], self.width)

    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        """Return cells with equal numbers of tuples; the outermost cells extend to the ends of the space."""
        return plan if plan is not None else cells_of(loads["span"].astype(np.int64), loads["tuples"], tasks)
