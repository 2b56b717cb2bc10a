"""The methods by which the stream R is spread over tasks: EMD-DDSJ, and the baselines ShuffleJ and Head-SJ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.ground.columns import Floats
from tailrace.ground.duration import format_duration
from tailrace.partition import feedback_balancing
from tailrace.partition.by_span import FARTHEST_SPAN, ByHash, BySpan
from tailrace.partition.routes import Partition

Plan = Mapping[str, Any] | None


@dataclass(frozen=True)
class SpreadingMethod(ABC):
    """How tuples of R are spread over tasks (paper 000).

    Attributes
    ----------
    width : float
        The width of a span, in units of the key: load is measured by spans.
    feedback_ms : int
        The feedback period, in ms of arrival time.
    """

    width: float
    feedback_ms: int

    @property
    @abstractmethod
    def description(self) -> str:
        """How both streams are spread, in words."""

    @property
    @abstractmethod
    def partition(self) -> Partition:
        """The partitioning of both streams."""

    @abstractmethod
    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        """Make the plan of the next feedback period, see `LoadBalanced`; `loads` has `span`, `load` and `tuples`."""


class EmdDdsj(SpreadingMethod):
    """R by spans of the key, balanced by the exact distances of each feedback period (section 4)."""

    @property
    def description(self) -> str:
        period = format_duration(self.feedback_ms)
        return f"emd_ddsj: right to all tasks, left by spans of {self.width:g} of its key, balanced every {period}"

    @property
    def partition(self) -> BySpan:
        return BySpan(self.width)

    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        """Algorithm 2. A task has finished every batch before it reports, so nothing is left to it: V_est is 0."""
        nothing_left = np.zeros(tasks)
        return feedback_balancing.next_plan(plan, loads["span"].astype(np.int64), loads["load"], nothing_left, tasks)


class ShuffleMethod(SpreadingMethod):
    """R at random (section 2.2.2)."""

    @property
    def description(self) -> str:
        return "shuffle: right to all tasks, left by the hash of its id"

    @property
    def partition(self) -> ByHash:
        return ByHash()

    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        return plan


class Head(SpreadingMethod):
    """R by ranges of its first key, which are made once, of equal numbers of tuples, and stay (section 2.2.3).

    The first key is the mean of the histogram's normal distribution; Head-SJ divides by its deviation, too. Heads-Join
    makes the ranges from a scan of the data. A stream has none: here the first feedback period stands for it.
    """

    @property
    def description(self) -> str:
        return "head: right to all tasks, left by ranges of a key that the first feedback period fixes"

    @property
    def partition(self) -> BySpan:
        return BySpan(self.width)

    def next_plan(self, plan: Plan, loads: Mapping[str, Floats], tasks: int) -> Plan:
        """The ranges of equal numbers of tuples; the outermost ones reach to the ends of the key space."""
        if plan is not None:
            return plan
        spans = loads["span"].astype(np.int64)
        first = feedback_balancing.next_plan(None, spans, loads["tuples"], np.zeros(tasks), tasks)
        if first is None:
            return None
        outermost = int(FARTHEST_SPAN)
        return {**first, "bounds": [-outermost, *first["bounds"][1:-1], outermost + 1]}


METHODS: dict[str, type[SpreadingMethod]] = {"emd_ddsj": EmdDdsj, "shuffle": ShuffleMethod, "head": Head}
