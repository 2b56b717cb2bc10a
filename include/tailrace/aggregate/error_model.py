"""The error model of aggregates, for promises (error, risk): λ_thr and the required slack K (allowed lateness)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailrace.aggregate.folds import Floats, Ints
from tailrace.aggregate.functions import function_of
from tailrace.aggregate.population import Population
from tailrace.aggregate.promise import threshold
from tailrace.aggregate.required_slack import required_slack


@dataclass(frozen=True)
class AggregateErrorModel:
    """The error model of a declared function (`disorder.tick_statistics.ErrorModel`)."""

    function: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def threshold(
        self, error: float, risk: float, tuples: Floats, total: Floats, squares: Floats, values: Floats
    ) -> float:
        """λ_thr of the promise, see `disorder.tick_statistics.ErrorModel`."""
        function = function_of(self.function, self.parameters)
        # For other folds only the size is known.
        sums = (total, squares) if function.folds == ("sum",) else (tuples, tuples)
        # A partial of one tuple is a value too, but whether a partial is of one tuple depends on how the log is cut.
        sample = tuple(values.tolist()) if function.folds == ("keep",) else ()
        population = Population.of(tuples, *sums, sample)
        return threshold(function, error, risk, population)

    def required_slack(self, error: float, window: Ints, need: Ints, tuples: Ints, total: Floats) -> Ints:
        """The least K with which each window keeps the error, see `disorder.tick_statistics.ErrorModel`."""
        return required_slack(function_of(self.function, self.parameters), error, window, need, tuples, total)
