"""The report of a K that follows directly from history, by two time scales."""

from __future__ import annotations

from itertools import repeat

from tailrace.calibration.direct import Estimated
from tailrace.calibration.report import Basis, CalibrationReport, Determination, MeasuredDuration
from tailrace.calibration.search import Bracket


def report_of_estimate(
    estimated: Estimated, promise: float, k_ms: int | None, proposed: bool | None, basis: Basis
) -> CalibrationReport:
    """Return the report of an estimate.

    Parameters
    ----------
    promise : float
        The accuracy to keep.
    k_ms : int or None
        K in force.
    proposed : bool or None
        True if the proposal is written, False in a dry run; None where the policy accepts none.
    """
    estimate = estimated.estimate
    columns = (each.tolist() for each in (estimate.durations, estimate.accuracy, estimate.error))
    costs = repeat(None) if estimate.cost is None else estimate.cost.tolist()
    interval = Bracket(estimate.lower_ms, estimate.upper_ms, estimate.k_ms)
    determination = Determination(
        estimate.lower_ms,
        estimate.upper_ms,
        estimate.is_narrow,
        estimate.windows,
        estimate.hazard_ratio,
        estimate.by_winners,
        estimate.since,
        estimate.promise_ms,
    )
    return CalibrationReport(
        tuple(map(MeasuredDuration, *columns, repeat(estimate.column), costs)),
        promise,
        estimate.levels,
        estimated.up_to,
        k_ms,
        interval,
        interval,
        estimated.longest_ms,
        proposed,
        basis,
        determination,
    )
