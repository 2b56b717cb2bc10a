"""The report of a calibration: the measurements, the resulting K, and the reason."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ConfigDict

from tailrace.calibration.search import Bracket
from tailrace.ground import html
from tailrace.ground.duration import format_duration, format_time

_JSON = ConfigDict(ser_json_inf_nan="strings")  # an error may be infinite, for which JSON has no number


@dataclass(frozen=True)
class MeasuredDuration:
    """A duration, its mean accuracy with the standard error, and the least accurate column of answers.

    `cost` is the cost of a window, if prices are declared.
    """

    __pydantic_config__ = _JSON

    duration_ms: int
    accuracy: float
    error: float
    column: str | None = None
    cost: float | None = None

    @property
    def of_column(self) -> str:
        return "" if self.column is None else f" for {self.column}"


@dataclass(frozen=True)
class Basis:
    """The basis of a calibration: its proposal is valid as long as this is unchanged.

    Attributes
    ----------
    query, checkpoint : str
        The query's name, and the id of its stream's checkpoint.
    declared : str
        The policy's settings in the query file, JSON.
    previous : int or None
        Wall-clock time (ms) of the proposal from which the search continued; None if it began.
    until : int
        The arrival time up to which history was read; ms.
    """

    query: str
    checkpoint: str
    declared: str
    previous: int | None
    until: int


@dataclass(frozen=True)
class Determination:
    """How well history determines a directly estimated K.

    Attributes
    ----------
    lower_ms, upper_ms : int
        The 90 % interval of K.
    is_narrow : bool
        Whether the interval is narrow enough; if not, there is not enough history.
    winners_windows : int
        The number of windows whose winners were compared with their contemporaries.
    hazard_ratio : float
        The winners' hazard ratio; 1 if they come neither later nor earlier than others.
    by_winners : bool
        Whether K follows from the winners' delays alone.
    since : int or None
        The event time (ms) at which the delays changed; older delays do not count.
    promise_ms : int or None
        If costs also determine K: the K that the accuracy needs, to which the interval belongs.
    """

    lower_ms: int
    upper_ms: int
    is_narrow: bool
    winners_windows: int
    hazard_ratio: float
    by_winners: bool
    since: int | None
    promise_ms: int | None = None

    @property
    def reason(self) -> str:
        """All of this in words."""
        needed = "K" if self.promise_ms is None else f"the accuracy needs {format_duration(self.promise_ms)}, which"
        parts = [f"{needed} is between {format_duration(self.lower_ms)} and {format_duration(self.upper_ms)} with 90 %"]
        if not self.is_narrow:
            parts.append("there is not enough history to say more")
        if self.since is not None:
            parts.append(f"delays changed at {format_time(self.since)}")
        if self.by_winners:
            parts.append("by the delays of the winners alone")
        elif self.hazard_ratio != 1:
            parts.append(
                f"the winners of {self.winners_windows} windows have {self.hazard_ratio:.2f} times the hazard of others"
            )
        return "; ".join(parts)


@dataclass(frozen=True, repr=False)
class CalibrationReport:
    """The result of a calibration.

    Attributes
    ----------
    measurements : tuple of MeasuredDuration
        In order of their durations.
    promise : float
        The accuracy to keep.
    windows, up_to : int
        The number of windows measured, and the end of the last of them, in ms of event time.
    k_ms : int or None
        K in force.
    interval, next_interval : Bracket
        The interval searched, and the next one, with the proposed K.
    longest_ms : int
        The longest delay of the tuples read.
    proposed : bool or None
        True if the proposal was written, False in a dry run; None if the policy accepts none.
    basis : Basis
    determination : Determination or None
        How well K is determined, if it is estimated directly; None if it is searched for.
    """

    __pydantic_config__ = _JSON

    measurements: tuple[MeasuredDuration, ...]
    promise: float
    windows: int
    up_to: int
    k_ms: int | None
    interval: Bracket
    next_interval: Bracket
    longest_ms: int
    proposed: bool | None
    basis: Basis
    determination: Determination | None = None

    @property
    def proposed_row(self) -> MeasuredDuration | None:
        """The measurement with the proposed K; None if it was not measured."""
        return next((row for row in self.measurements if row.duration_ms == self.next_interval.k_ms), None)

    @property
    def accuracy(self) -> float | None:
        """The accuracy with the proposed K; None if it was not measured."""
        return None if self.proposed_row is None else self.proposed_row.accuracy

    @property
    def evidence(self) -> str:
        """The reason for this K, as a sentence."""
        basis = f"calibrated over {self.windows} windows up to {format_time(self.up_to)}"
        k, longest, row = format_duration(self.next_interval.k_ms), self.measurements[-1], self.proposed_row
        if self.determination is not None and row is not None:
            cost = "" if row.cost is None else f" and costs {row.cost:.4g} a window, the least"
            return f"{basis}: {k} gives {row.accuracy:.4f} of {self.promise:g}{cost}; {self.determination.reason}"
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

    def lines(self) -> list[str]:
        """Describe the calibration in lines: the reason, and the use of its K."""
        k = format_duration(self.next_interval.k_ms)
        if self.proposed is None:
            return [self.evidence, "nothing is proposed: only policy cache_duration takes up what calibrations find"]
        outcome = "proposed" if self.proposed else "would be proposed, and nothing was written"
        searched = f"searched {self.interval}, next {self.next_interval}; " if self.determination is None else ""
        return [self.evidence, f"{searched}K = {k} {outcome}"]

    def _repr_html_(self) -> str:
        return html.named_texts({"calibration": "\n".join(self.lines())})

    def __repr__(self) -> str:
        return f"CalibrationReport({'; '.join(self.lines())})"
