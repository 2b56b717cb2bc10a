"""The exact Earth Mover's Distance on any ground distance, by POT's network simplex, with a solution of its dual."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.dual_solution import DualSolution
from tailrace.emd_join.ground_distance import Costs

Histogram = NDArray[np.float64]
"""The shares of n bins, shape (n,), not negative, of sum 1."""

_MOST_STEPS = 10_000_000


class Solved(NamedTuple):
    """An Earth Mover's Distance, and a feasible solution of the dual problem that attains it."""

    distance: float
    dual: DualSolution


def solve(p: Histogram, q: Histogram, costs: Costs) -> Solved:
    """The least cost of moving the mass of `p` to where `q` has it (paper 000, eq. 1), and the dual solution (eq. 3).

    On a metric the mass that both have in a bin need not move; so only what differs is given to the solver.

    Raises
    ------
    ArithmeticError
        When the solver does not come to an end.
    """
    import ot  # noqa: PLC0415 (takes seconds, and only tasks that solve need it)

    more, less = np.flatnonzero(p > q), np.flatnonzero(q > p)
    if not len(more) or not len(less):
        return Solved(0.0, DualSolution.of(np.zeros(len(p)), costs))
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
    return Solved(float(log["cost"]) * float(mass), DualSolution.of(potential, costs))
