"""The report of a calibration: what was measured, the K that follows, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.calibration.search import Bracket
from tailrace.ground.duration import format_duration, format_time


@dataclass(frozen=True)
class MeasuredDuration:
    """A duration, the mean accuracy with it, the standard error of that, and the least accurate column of answers."""

    duration_ms: int
    accuracy: float
    error: float
    column: str | None = None

    @property
    def of_column(self) -> str:
        return "" if self.column is None else f" for {self.column}"


@dataclass(frozen=True)
class CalibrationReport:
    """The result of a calibration.

    Attributes
    ----------
    measurements : tuple of MeasuredDuration
        In order of their durations.
    promise : float
        The accuracy that is to be kept.
    windows, up_to : int
        The number of windows measured, and the end of the last of them, in ms of event time.
    k_ms : int or None
        K in force.
    interval, next_interval : Bracket
        The interval that was searched; and the one that is searched next, with the K that is proposed.
    longest_ms : int
        The longest delay of the tuples that were read.
    proposed : bool or None
        True if the proposal was written, False in a dry run; None: the policy takes none.
    """

    measurements: tuple[MeasuredDuration, ...]
    promise: float
    windows: int
    up_to: int
    k_ms: int | None
    interval: Bracket
    next_interval: Bracket
    longest_ms: int
    proposed: bool | None

    @property
    def proposed_row(self) -> MeasuredDuration | None:
        """The measurement with the proposed K; None where it was not measured."""
        return next((row for row in self.measurements if row.duration_ms == self.next_interval.k_ms), None)

    @property
    def accuracy(self) -> float | None:
        """The accuracy with the proposed K; None where it was not measured."""
        return None if self.proposed_row is None else self.proposed_row.accuracy

    @property
    def evidence(self) -> str:
        """The reason for this K, as a sentence."""
        basis = f"calibrated over {self.windows} windows up to {format_time(self.up_to)}"
        k, longest, row = format_duration(self.next_interval.k_ms), self.measurements[-1], self.proposed_row
        if row is None:
            shortfall = f"{format_duration(longest.duration_ms)} gives {longest.accuracy:.4f} < {self.promise:g}"
            consequence = f"so {k} is tried" if self.proposed is not None else "and the past is too short for more"
            return f"{basis}: {shortfall}{longest.of_column}, {consequence}"
        if row.accuracy >= self.promise:
            return f"{basis}: {k} gives {row.accuracy:.4f} ≥ {self.promise:g}{row.of_column}"
        if self.longest_ms <= self.next_interval.k_ms:
            shortfall = f"{k} gives {row.accuracy:.4f} < {self.promise:g}{row.of_column}"
            return f"{basis}: {shortfall}, and no tuple was delayed for longer"
        return f"{basis}: {k} gives {row.accuracy:.4f}{row.of_column}, which is {self.promise:g} within its error"
