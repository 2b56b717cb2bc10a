"""What policies that promise (error, risk) ask of an aggregate: λ_thr, and which K an answer would have needed."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.aggregate.folds import Floats, Ints
from tailrace.aggregate.functions import function_of
from tailrace.aggregate.needed import required_slack
from tailrace.aggregate.population import Population
from tailrace.aggregate.promise import threshold


@dataclass(frozen=True)
class AggregateErrorModel:
    """Of a declared function."""

    function: str
    q: float | None

    def threshold(
        self, error: float, risk: float, tuples: Floats, total: Floats, squares: Floats, values: Floats
    ) -> float:
        """See `disorder.seen.Promise`."""
        fold = function_of(self.function, self.q).fold
        sums = (total, squares) if fold == "sum" else (tuples, tuples)  # of others only the number of tuples is known
        # A partial of one tuple is a value too, but whether it is of one depends on how the log is cut.
        known = tuple(values.tolist()) if fold == "keep" else ()
        population = Population.of(tuples, *sums, known)
        return threshold(self.function, error, risk, population, 0.5 if self.q is None else self.q)

    def required_slack(self, error: float, window: Ints, need: Ints, tuples: Ints, total: Floats) -> Ints:
        """See `disorder.seen.Promise`."""
        return required_slack(function_of(self.function, self.q), error, window, need, tuples, total)
