"""The error model of aggregates, for promises (error, risk): λ_thr and the required slack K (allowed lateness)."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.aggregate.folds import Floats, Ints
from tailrace.aggregate.functions import function_of
from tailrace.aggregate.population import Population
from tailrace.aggregate.promise import threshold
from tailrace.aggregate.required_slack import required_slack


@dataclass(frozen=True)
class AggregateErrorModel:
    """The error model of a declared function (`disorder.tick_statistics.ErrorModel`)."""

    function: str
    q: float | None

    def threshold(
        self, error: float, risk: float, tuples: Floats, total: Floats, squares: Floats, values: Floats
    ) -> float:
        """λ_thr of the promise, see `disorder.tick_statistics.ErrorModel`."""
        fold = function_of(self.function, self.q).fold
        sums = (total, squares) if fold == "sum" else (tuples, tuples)  # for other folds only the size is known
        # A partial of one tuple is a value too, but whether a partial is of one tuple depends on how the log is cut.
        sample = tuple(values.tolist()) if fold == "keep" else ()
        population = Population.of(tuples, *sums, sample)
        return threshold(self.function, error, risk, population, 0.5 if self.q is None else self.q)

    def required_slack(self, error: float, window: Ints, need: Ints, tuples: Ints, total: Floats) -> Ints:
        """The least K with which each window keeps the error, see `disorder.tick_statistics.ErrorModel`."""
        return required_slack(function_of(self.function, self.q), error, window, need, tuples, total)
