"""A function of the registry runs through windows, late corrections and calibrations, as its oracle says.

It is the variance by an accumulator of three columns: the count of values, their sum and that of their squares. Values
are small integers, so that these sums are exact.
"""

from __future__ import annotations

import pickle
import statistics
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

import oracle
from harness import run
from memory_tables import MemoryTables
from oracle import Truth, batch, latest, stream
from oracle_assertions import assert_close, assert_streamed
from streams import cuts, disordered
from tailrace.aggregate import section
from tailrace.aggregate.function import Accumulated, Function
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.calibration.measure import measure
from unit.calibration.test_measure import NO_DELAYS, accuracy, columns, kind_of

SOME = settings(max_examples=60, deadline=None)
VARIANCE = Function(
    "var_pop",
    lambda tuples, ones, total, squares: (ones * squares - total**2) / ones**2,
    {
        "ones": Accumulated("sum", np.ones_like),
        "total": Accumulated("sum"),
        "squares": Accumulated("sum", np.square),
    },
)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    """The function in the registry, and its value in the oracle."""
    of_others = oracle.aggregate

    def aggregate(function: str, values, q: float | None = None) -> Truth:
        if function != "var_pop":
            return of_others(function, values, q)
        value = float(statistics.pvariance([Fraction(value) for value in values]))
        return Truth(value, len(values), sum(abs(value) for value in values))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FUNCTIONS, "var_pop", VARIANCE)
        patch.setattr(oracle, "aggregate", aggregate)
        yield


@st.composite
def case(draw: st.DrawFn, **how: object):
    tuples, query = draw(disordered(min_tuples=2, functions=["var_pop"], **how))
    return [item._replace(value=float(round(item.value) % 100 - 50)) for item in tuples], query


@SOME
@given(st.data(), case(), st.integers(1, 3))
def test_windows_are_the_oracles_however_the_log_is_cut(data, case, tasks):
    tuples, query = case
    at = data.draw(cuts(len(tuples)), label="cuts")
    assert_streamed(run(tuples, query, cuts=at, tasks=tasks), stream(tuples, query))


@SOME
@given(st.data(), case(duplicates=True))
def test_corrections_of_any_intervals_are_the_oracles(data, case):
    tuples, query = case
    outcome = stream(tuples, query)
    ends = [tick.end for tick in outcome.trace]
    points = st.sampled_from([min(ends) - max(query.tick, 1), *ends])
    pair = st.tuples(points, points).map(sorted).map(tuple).filter(lambda two: two[0] < two[1])
    chosen = data.draw(st.lists(pair, min_size=1, max_size=4), label="intervals")
    tables = MemoryTables(tuples, query, data.draw(cuts(len(tuples)), label="cuts"))
    for a, b in chosen:
        tables.correct(a, b)
    expected, found = latest(outcome, tuples, query, chosen), tables.latest()
    assert found.keys() == expected.keys()
    for window, version in expected.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (version.tuples, version.as_of), window
        assert_close(found[window]["value"], version.value, version.sum_abs)


@SOME
@given(case(), st.data())
def test_calibrations_measure_what_the_stream_gives_with_each_wait(case, data):
    tuples, query = case
    span = max(item.event_time for item in tuples) - min(item.event_time for item in tuples)
    assume(span < 10**8)
    kind, (content, course) = kind_of(query), columns(tuples, query)
    choices = st.integers(0, min(3 * query.size, span + 1))
    durations = sorted(data.draw(st.lists(choices, min_size=1, max_size=3, unique=True), label="durations"))
    exact = pa.Table.from_batches([kind.evaluate(content)])
    whole = exact.filter(pa.array(exact.column("window_end").to_numpy() + durations[-1] <= int(course.t_max[-1])))
    assume(whole.num_rows)
    result = measure(kind, [content], course, np.array(durations), whole, 4, NO_DELAYS)
    ends = sorted(set(whole.column("window_end").to_pylist()))[-4:]
    expected = [accuracy(tuples, query, duration, ends) for duration in durations]
    assert result.quality == pytest.approx(np.array(expected), abs=1e-9)
    assert batch(tuples, query), "the oracle knows the function"


def test_query_files_take_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SumSection", "CountSection", "QuantileSection"):  # of the package's own functions, for later tests
        monkeypatch.setattr(section, name, getattr(section, name))
    models = TypeAdapter(section._sections()[0])
    declared = models.validate_python({"function": "var_pop", "column": "speed"})
    assert (declared.function, declared.column, declared.parameters) == ("var_pop", "speed", {})
    with pytest.raises(ValidationError, match="none_required"):
        models.validate_python({"function": "var_pop", "column": "speed", "q": 0.5})


@pytest.mark.parametrize("declared", [{"function": "count"}, {"function": "quantile", "column": "v", "q": 0.9}])
def test_a_section_goes_through_pickle(declared: dict[str, object]) -> None:
    models = TypeAdapter(section.AggregateSection)
    found = models.validate_python(declared)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.parameters == ({"q": 0.9} if "q" in declared else {})


@pytest.mark.parametrize(
    ("accumulator", "more", "wrong"),
    [
        ({"total": Accumulated("keep"), "more": Accumulated("sum")}, {}, "has one column"),
        (VARIANCE.accumulator, {"threshold": max}, "one column, total"),
        ({"total": Accumulated("min")}, {"sum_of": max}, "one sum, total"),
    ],
)
def test_what_the_operators_cannot_keep_is_refused(accumulator, more, wrong) -> None:
    with pytest.raises(ValueError, match=wrong):
        Function("toy", max, accumulator, **more)


def test_columns_of_unlike_folds_stand_in_one_partial() -> None:
    mixed = Function("mixed", max, {"low": Accumulated("min"), "high": Accumulated("max"), "total": Accumulated("sum")})
    tuples, values = np.ones(3, np.int64), np.array([3.0, -1.0, 5.0])
    rows = dict(zip(mixed.types, [tuples, *mixed.accumulate(values)], strict=True))
    code, merged = mixed.merge(np.array([7, 7, 9]), rows)
    assert code.tolist() == [7, 9]
    assert {name: column.tolist() for name, column in merged.items()} == {
        "tuples": [2, 1],
        "low": [-1, 5],
        "high": [3, 5],
        "total": [2, 5],
    }
