"""Promised answers: columns of aggregates, or of expressions over them, each of which must keep a promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tailrace.aggregate.accuracy import relative
from tailrace.aggregate.aggregates import Aggregates, NamedAggregate
from tailrace.aggregate.estimates import estimated
from tailrace.aggregate.populations import SampledPopulation
from tailrace.aggregate.running_answers import Steps
from tailrace.disorder.error_model import Arrays
from tailrace.expressions.projection import Projection
from tailrace.ground.arrow.number_types import as_doubles
from tailrace.ground.arrow.value_column import Floats, Ints

_NEAR = 1 - 1e-9  # tolerance of errors, as sums of doubles depend on the order of the partials


@dataclass(frozen=True)
class PromisedAggregates:
    """Answers that a promise covers (`disorder.error_model.PromisedAnswers`).

    Attributes
    ----------
    names : tuple of str
    aggregates : tuple of NamedAggregate
        The aggregates among the answers, and the aggregates that expressions read.
    derived : Projection or None
        The expressions, with the expressions that they read.
    populations : tuple of SampledPopulation
        The populations of the promised aggregates.
    """

    names: tuple[str, ...]
    aggregates: tuple[NamedAggregate, ...]
    derived: Projection | None
    populations: tuple[SampledPopulation, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        reads = set() if self.derived is None else set(self.derived.inputs)
        counts_tuples = "tuples" in reads or any(each.bound is None for each in self.aggregates)
        return tuple(name for name in Aggregates(self.aggregates).types if name != "tuples" or counts_tuples)

    @cached_property
    def sums(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.populations for name in each.sums))

    @cached_property
    def values(self) -> Mapping[str, str]:
        return dict(each.value for each in self.populations if each.value is not None)

    def threshold(self, error: float, risk: float, sums: Arrays, values: Arrays) -> float:
        """Return the largest λ_thr of the answers, see `PromisedAnswers`.

        An earlier check refuses a promise without any λ_thr.
        """
        assert self.populations
        return max(each.threshold(error, risk, sums, values) for each in self.populations)

    def required_slack(self, error: float, window: Ints, need: Ints, columns: Arrays) -> Ints:
        """Return the least K with which each answer of each window is off by less than `error`; shape (a, m).

        Each distinct need of a window is a step, at which it gets more partials. At every step the answers over its
        partials so far are compared with the answers over all partials. A null is only right if the answer over all is
        null, too. A window without partials is off.
        """
        if (need == need[0]).all():  # windows without a late tuple
            return np.full((len(self.names), int(window.max()) + 1), need[0])
        steps = Steps.from_partials(window, need)
        answers = steps.answers(*self._by_accumulators, {name: columns[name] for name in self.columns})
        if self.derived is not None:
            answers = answers | _computed(self.derived, answers)
        return np.stack([steps.required_need(_is_off(answers[name], steps.last, error)) for name in self.names])

    @cached_property
    def is_estimated(self) -> bool:
        return any(each.is_estimated for each in self.aggregates)

    def off(
        self, error: float, window: Ints, need: Ints, columns: Arrays, age: Ints, expected: tuple[Floats, Floats]
    ) -> np.ndarray:
        """Test which answers of m windows are off when the windows close at given ages; shape (a, m, l)."""
        steps = Steps.from_partials(window, need)
        running = steps.answers(*self._by_accumulators, {name: columns[name] for name in self.columns})
        place, true = steps.at(age)
        closed = {name: answers.take(pa.array(np.maximum(place, 0))) for name, answers in running.items()}
        coverage, spread = (np.tile(column, len(place) // len(age)) for column in expected)
        for each in self.aggregates:
            if each.is_estimated:
                squares = None if each.squares is None else np.asarray(closed[each.squares.name])
                closed[each.name] = estimated(each, closed[each.name], squares, coverage, spread)[each.name]
        whole = {name: answers.take(pa.array(true)) for name, answers in running.items()}
        if self.derived is not None:
            closed, whole = (part | _computed(self.derived, part) for part in (closed, whole))
        is_empty, index = place < 0, len(place) + np.arange(len(place))
        is_off = [
            _is_off(pa.concat_arrays([closed[name], whole[name]]), np.concatenate([index, index]), error)[: len(place)]
            for name in self.names
        ]
        return np.stack([(each | is_empty).reshape(-1, len(age)) for each in is_off])

    @cached_property
    def _by_accumulators(self) -> tuple[Aggregates, Aggregates]:
        """The aggregates whose accumulators are merged, and the aggregates that keep values."""
        keeps = [each.bound is not None and each.bound.measure is not None for each in self.aggregates]
        merging, keeping = (
            tuple(each for each, keeps_values in zip(self.aggregates, keeps, strict=True) if keeps_values == is_wanted)
            for is_wanted in (False, True)
        )
        return Aggregates(merging), Aggregates(keeping)


def _computed(derived: Projection, answers: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Compute expressions over answers."""
    table = derived.run(pa.table(dict(answers))).table
    return {name: table.column(name).combine_chunks() for name, _ in derived.columns}


def _is_off(answers: pa.Array, true: Ints, error: float) -> np.ndarray:
    """Test which answers are off by `error` or more, given the index of the true answer for each."""
    is_null = np.asarray(answers.is_null())
    values: Floats = as_doubles(answers).to_numpy(zero_copy_only=False)
    is_near = relative(values, values[true]) < error * _NEAR
    return np.where(is_null | is_null[true], is_null != is_null[true], ~is_near)
