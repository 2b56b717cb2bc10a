"""The columns of the sample that the population of an aggregate follows from, for its coverage threshold λ_thr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tailrace.aggregate.accumulators import Accumulator, Count, ExactTotal, Squares, Total
from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.aggregate.kept import Kept
from tailrace.aggregate.population import Population
from tailrace.aggregate.promise import threshold

_TUPLES = "tuples"


class SampledPopulation(NamedTuple):
    """The columns of the sample that the population of one aggregate follows from.

    A tuple that the function does not take, as its value is null, counts as 0 where the function's λ_thr allows it.

    Attributes
    ----------
    number, total, squares : str
        The columns of n, Σv and Σv²: of tuples where nothing is known of the values.
    value : (str, str) or None
        The column of single values, and the one that is 1 where a row has a value.
    accumulators : tuple of Accumulator
        What gives these columns, beside the aggregate's own.
    """

    aggregate: NamedAggregate
    number: str = _TUPLES
    total: str = _TUPLES
    squares: str = _TUPLES
    value: tuple[str, str] | None = None
    accumulators: tuple[Accumulator, ...] = ()

    @staticmethod
    def of(aggregate: NamedAggregate) -> SampledPopulation:
        """Return the columns that an aggregate with a coverage threshold needs."""
        own = () if aggregate.bound is None else aggregate.bound.accumulators
        for each in own:
            if isinstance(each, Kept):
                return SampledPopulation(aggregate, each.has, each.has, each.has, (each.name, each.has))
        counts = [each.name for each in own if isinstance(each, Count)]
        if any(isinstance(each, Total | ExactTotal) for each in own):
            (number,) = counts
            doubles = Total(own[0].column), Squares(own[0].column)
            number = _TUPLES if _takes_part(aggregate) else number
            return SampledPopulation(aggregate, number, doubles[0].name, doubles[1].name, None, doubles)
        if len(own) == 1 and counts:
            return SampledPopulation(aggregate, _TUPLES, counts[0], counts[0])
        return SampledPopulation(aggregate)

    @property
    def sums(self) -> tuple[str, ...]:
        """The columns of which it needs the sums of windows."""
        return self.number, self.total, self.squares

    def threshold(self, error: float, risk: float, sums: Mapping[str, Any], values: Mapping[str, Any]) -> float:
        """Return λ_thr, given what `PromisedAnswers.threshold` is given; 1 while no window has a value."""
        tuples, total, squares = (sums[name] for name in self.sums)
        has_values = tuples > 0
        if not has_values.any():
            return 1.0
        sample = () if self.value is None else tuple(np.asarray(values[self.value[0]]).tolist())
        population = Population.of(tuples[has_values], total[has_values], squares[has_values], sample)
        function = self.aggregate.function
        parameters = {name: self.aggregate.parameters[name] for name in FUNCTIONS[function].parameters}
        is_part = _takes_part(self.aggregate) and bool((total != tuples).any())  # a count of all is exactly that
        return threshold(function, error, risk, population, parameters, is_part)


def _takes_part(aggregate: NamedAggregate) -> bool:
    """Test whether tuples without a value, as it is null or the condition does not hold, count as 0."""
    return aggregate.values is not None and FUNCTIONS[aggregate.function].threshold_of_part is not None
