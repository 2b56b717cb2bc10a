"""The exact Earth Mover's Distance for any ground distance, by POT's network simplex, with a dual solution."""

from __future__ import annotations

import time
from types import ModuleType
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.dual_solution import DualSolution
from tailrace.emd_join.ground_distance import Costs

Histogram = NDArray[np.float64]
"""The shares of n bins, shape (n,), not negative, of sum 1."""

_MOST_STEPS = 10_000_000


class Solved(NamedTuple):
    """An Earth Mover's Distance, a feasible solution of the dual problem that attains it, and the CPU time in ms."""

    distance: float
    dual: DualSolution
    cpu_ms: float


def solver() -> ModuleType:
    """Import POT, which takes seconds the first time; only searches that solve need it."""
    import ot  # noqa: PLC0415

    return cast(ModuleType, ot)


def solve(p: Histogram, q: Histogram, costs: Costs) -> Solved:
    """Return the least cost of turning `p` into `q` by moving mass (paper 000, eq. 1), and the dual solution (eq. 3).

    With a metric, mass that both have in a bin need not move, so the solver only gets the differences.

    Raises
    ------
    ArithmeticError
        When the solver does not terminate.
    """
    ot, start_ns = solver(), time.thread_time_ns()
    more, less = np.flatnonzero(p > q), np.flatnonzero(q > p)
    if not len(more) or not len(less):
        return Solved(0.0, DualSolution.from_potential(np.zeros(len(p)), costs), 0.0)
    supply, demand = p[more] - q[more], q[less] - p[less]
    mass = min(supply.sum(), demand.sum())
    _, log = ot.emd(
        supply / supply.sum(),
        demand / demand.sum(),
        np.ascontiguousarray(costs[np.ix_(more, less)]),
        numItermax=_MOST_STEPS,
        log=True,
        center_dual=False,
        check_marginals=False,
    )
    if log["warning"] is not None:
        raise ArithmeticError(f"the Earth Mover's Distance of two histograms was not found: {log['warning']}")
    potential = (costs[:, less] - log["v"]).min(axis=1)
    dual = DualSolution.from_potential(potential, costs)
    return Solved(float(log["cost"]) * float(mass), dual, (time.thread_time_ns() - start_ns) / 1e6)
