"""A function of the registry runs through windows, late corrections and calibrations, as its oracle says.

It is the range of the values, whose accumulators are their least and their greatest.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from kit.draws.streams import cuts, disordered
from kit.oracles import oracle
from kit.oracles.oracle import Truth, batch, latest, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.runs.harness import run
from kit.runs.memory_tables import MemoryTables
from kit.suite.examples import drawn
from tailrace.aggregate.section import AggregateSection
from tailrace.calibration.measure import measure
from tailrace.functions.accumulators import Count, Extreme
from tailrace.functions.function import BoundFunction, Values
from tailrace.functions.registry import FUNCTIONS, Function
from tailrace.sql.call_forms import FORMS, forms_of
from tailrace.sql.translate import translate
from tailrace.sql.write import write
from unit.calibration.test_measure import NO_DELAYS, accuracy, columns, kind_of

SOME = drawn(60)


def bind_range(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """The greatest value less the least."""
    count = Count(values.column)
    least, greatest = (Extreme(values.column, values.dtype, how) for how in ("min", "max"))

    def finish(columns: Mapping[str, np.ndarray]) -> pa.Array:
        return pa.array(columns[greatest.name] - columns[least.name], mask=columns[count.name] == 0)

    return BoundFunction(pa.float64(), (count, least, greatest), finish)


RANGE = Function("range", bind_range, "double: the greatest value less the least")


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    """The function in the registry, its calls in SQL, and its value in the oracle."""
    of_others = oracle.aggregate

    def aggregate(function: str, values, q: float | None = None) -> Truth:
        if function != "range":
            return of_others(function, values, q)
        return Truth(max(values) - min(values), len(values), sum(abs(value) for value in values))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FUNCTIONS, RANGE.name, RANGE)
        for key, form in forms_of(RANGE).items():
            patch.setitem(FORMS, key, form)
        patch.setattr(oracle, "aggregate", aggregate)
        yield


@st.composite
def case(draw: st.DrawFn, **how: object):
    tuples, query = draw(disordered(min_tuples=2, functions=["range"], **how))
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


def test_sql_text_says_it():
    text = "SELECT range(v) AS spread FROM TUMBLE(TABLE readings, DESCRIPTOR(at), INTERVAL '5' SECONDS)"
    beside = {"streams": {"readings": {"event_time": "at", "id": "id"}}}
    declared = translate(f"{text} GROUP BY window_start, window_end", beside).fields
    assert declared["aggregate"] == {"spread": {"function": "range", "column": "v"}}
    assert translate(*write(declared)).fields == declared


@pytest.mark.parametrize("declared", [{"function": "count"}, {"function": "quantile", "column": "v", "q": 0.9}])
def test_a_section_goes_through_pickle(declared: dict[str, object]) -> None:
    models = TypeAdapter(AggregateSection)
    found = models.validate_python(declared)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.parameters_of(found.function) == ({"q": 0.9} if "q" in declared else {})
