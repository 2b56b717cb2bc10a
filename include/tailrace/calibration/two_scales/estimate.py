"""The result of a calibration by two time scales."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.ground.arrow.columns import Floats, Ints


@dataclass(frozen=True, eq=False)
class Estimate:
    """The slack K (allowed lateness) that keeps an accuracy, and how well the history determines it.

    Attributes
    ----------
    k_ms, lower_ms, upper_ms : int
        K, and its 90 % interval.
    is_narrow : bool
        Whether the interval is narrow enough; if not, there is not enough history.
    levels, windows : int
        The number of windows used for the level (`by_winners`: for K), and for the winners.
    hazard_ratio : float
        The winners' hazard ratio: as measured if `by_winners`, else 1 unless it differs significantly.
    by_winners : bool
        Whether K follows from the winners' own delays, since the model of the hazard ratio does not fit.
    since : int or None
        The event time (ms) of the level's newest change, if there was one.
    durations, accuracy, error : ndarray, shape (m,)
        Waits (ms), the expected accuracy with each, and its standard error.
    promise_ms : int or None
        If costs also determine K: the shortest K that keeps the accuracy, to which the interval belongs.
    cost : ndarray or None
        The cost of a window with each of the waits, if prices are declared.
    column : str or None
        The column of answers that determines K, if several must be accurate.
    """

    k_ms: int
    lower_ms: int
    upper_ms: int
    is_narrow: bool
    levels: int
    windows: int
    hazard_ratio: float
    by_winners: bool
    since: int | None
    durations: Ints
    accuracy: Floats
    error: Floats
    promise_ms: int | None = None
    cost: Floats | None = None
    column: str | None = None
