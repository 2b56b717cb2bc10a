"""The columns of the sample from which an aggregate's population, and then its λ_thr, are computed."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.functions.accumulators import Accumulator, Count, ExactTotal, Squares, Total
from tailrace.functions.kept import Kept
from tailrace.functions.population import Population
from tailrace.functions.promise import threshold
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.value_column import Floats

_TUPLES = "tuples"


class SampledPopulation(NamedTuple):
    """The columns of the sample from which the population of one aggregate is computed.

    A tuple without a value for the function (null) counts as 0 if the function's λ_thr allows it.

    Attributes
    ----------
    number, total, squares : str
        The columns whose sums over a window are n, Σv and Σv²; `tuples` if λ_thr does not depend on values.
    value : (str, str) or None
        The column of single values, and the column that is 1 if a row has a value.
    accumulators : tuple of Accumulator
        The accumulators of these columns, beside the aggregate's own.
    """

    aggregate: NamedAggregate
    number: str = _TUPLES
    total: str = _TUPLES
    squares: str = _TUPLES
    value: tuple[str, str] | None = None
    accumulators: tuple[Accumulator, ...] = ()

    @staticmethod
    def for_aggregate(aggregate: NamedAggregate) -> SampledPopulation:
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
        """The columns whose sums over windows it needs."""
        return self.number, self.total, self.squares, _TUPLES

    def threshold(self, error: float, risk: float, sums: Mapping[str, Any], values: Mapping[str, Any]) -> float:
        """Return λ_thr, given the arguments of `PromisedAnswers.threshold`; 1 while no window has a value."""
        number, total, squares, tuples = (sums[name] for name in self.sums)
        has_values = number > 0
        if not has_values.any():
            return 1.0
        sample = () if self.value is None else tuple(np.asarray(values[self.value[0]]).tolist())
        population = Population.estimate(number[has_values], total[has_values], squares[has_values], sample)
        function = self.aggregate.function
        parameters = {name: self.aggregate.parameters[name] for name in FUNCTIONS[function].parameters}
        is_part = _takes_part(self.aggregate) and bool((total != number).any())  # a count of all tuples is exact
        variance = _share_variance(number[has_values], tuples[has_values])
        if not variance:
            return threshold(function, error, risk, population, parameters, is_part)
        # Half of the risk covers a lack of values (Cantelli's inequality), the other half their error.
        margin = sqrt(variance * (2 / risk - 1))
        return min(1.0, threshold(function, error, risk / 2, population, parameters, is_part) + margin)


def _share_variance(number: Floats, tuples: Floats) -> float:
    """Return the greatest variance of the received share of a window's values, as a mean over windows.

    Among λn tuples received at random, the number of values is hypergeometric. The variance is 0 if all tuples have
        a value.
    """
    spread = np.maximum(tuples - number, 0) / np.maximum(tuples - 1, 1)
    return float(np.mean(spread / (4 * number)))


def _takes_part(aggregate: NamedAggregate) -> bool:
    """Test whether tuples without a value (null, or the condition is not true) count as 0."""
    return aggregate.values is not None and FUNCTIONS[aggregate.function].threshold_of_part is not None
