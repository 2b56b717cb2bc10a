"""The error model of aggregates for promises (error, risk): the sample, λ_thr and the required slack K."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from tailrace.aggregate.aggregates import Aggregates, NamedAggregate
from tailrace.aggregate.populations import SampledPopulation
from tailrace.aggregate.promised import PromisedAggregates
from tailrace.disorder.error_model import SAMPLE, Promises
from tailrace.expressions.projection import Projection
from tailrace.functions.accumulators import Accumulator
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.number_types import is_number
from tailrace.ground.errors import Problem


@dataclass(frozen=True)
class SampledAggregates(Aggregates):
    """The aggregates of promised answers, with further accumulators for λ_thr, such as sums of squares."""

    @cached_property
    def accumulators(self) -> tuple[Accumulator, ...]:
        own = Aggregates(self.aggregates).accumulators
        populations = (SampledPopulation.for_aggregate(each) for each in self.aggregates if has_threshold(each))
        return tuple(dict.fromkeys([*own, *(each for one in populations for each in one.accumulators)]))


@dataclass(frozen=True)
class AggregateErrorModel:
    """The error model of declared aggregates (`disorder.error_model.ErrorModel`).

    Attributes
    ----------
    aggregates : tuple of NamedAggregate
    derived : Projection or None
        The expressions over them, with the types of the columns that they read.
    """

    aggregates: tuple[NamedAggregate, ...]
    derived: Projection | None = None

    def sampled(self, promises: Promises) -> SampledAggregates:
        """Return the aggregates that promised answers need."""
        names = tuple(dict.fromkeys(name for of in promises for name in of or self._numbers))
        return SampledAggregates(self._needed(names))

    @cached_property
    def sample(self) -> pa.Schema:
        types = self.sampled([None]).types
        return pa.schema([*SAMPLE, *((name, dtype) for name, dtype in types.items() if name not in SAMPLE.names)])

    def promised(self, of: tuple[str, ...] | None) -> PromisedAggregates:
        """Return the answers that a promise names; None means all numeric ones."""
        if of not in self._promised:
            names = of or self._numbers
            derived = None if self.derived is None else self.derived.pruned(names)
            populations = tuple(SampledPopulation.for_aggregate(each) for each in self.aggregates if each.name in names)
            self._promised[of] = PromisedAggregates(names, self._needed(names), derived, populations)
        return self._promised[of]

    def type_problems(self, of: tuple[str, ...] | None) -> list[Problem]:
        """Return the problems of promised answers that are not numbers."""
        if of is None and not self._numbers:
            return [Problem("disorder.policy", "it promises (error, risk) of numbers, and no answer is one", "k_slack")]
        remedy = ", ".join(self._numbers) or "an answer that is a number"
        return [
            Problem("disorder.of", f"{name} is of type {self._types[name]}, and errors are of numbers", remedy)
            for name in of or ()
            if name not in self._numbers
        ]

    @cached_property
    def _promised(self) -> dict[tuple[str, ...] | None, PromisedAggregates]:
        """A cache of promised answers, since binding expressions takes some milliseconds."""
        return {}

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        types = {each.name: each.result for each in self.aggregates}
        return types if self.derived is None else types | self.derived.derived_types

    @cached_property
    def _numbers(self) -> tuple[str, ...]:
        hidden = {each.name for each in self.aggregates if each.within is not None}
        return tuple(name for name, dtype in self._types.items() if is_number(dtype) and name not in hidden)

    def _needed(self, names: tuple[str, ...]) -> tuple[NamedAggregate, ...]:
        """Return the aggregates among some answers, and those that expressions among them read."""
        derived = None if self.derived is None else self.derived.pruned(names)
        needed = {*names, *(() if derived is None else derived.inputs)}
        return tuple(each for each in self.aggregates if each.name in needed)


def has_threshold(aggregate: NamedAggregate) -> bool:
    """Test whether a coverage threshold λ_thr of an aggregate is known."""
    return FUNCTIONS[aggregate.function].threshold is not None
