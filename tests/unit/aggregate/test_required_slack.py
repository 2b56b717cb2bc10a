"""The required slack K (allowed lateness) of each promised answer, against trying every K in plain Python."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.named_oracle import of_numbers
from kit.suite.examples import drawn
from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.expressions.projection import Projection
from tailrace.functions.function import Values
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US

TYPES = {"double": pa.float64(), "whole": pa.int64(), "money": pa.decimal128(18, 2), "long": pa.decimal128(38, 4)}
NEEDS = st.sampled_from([0, 0, 0, 1, 7, 20, 500])
# (window, need, value or null, whether the condition holds)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 3), NEEDS, st.one_of(st.none(), st.integers(-6, 12)), st.sampled_from([True, False, None])
    ),
    min_size=1,
    max_size=40,
)
ERRORS = st.sampled_from([0.0307, 0.1103, 0.3109, 0.9311])  # no answer is off by exactly that
Row = tuple[int, int | None, bool | None]

MANY = {
    "sum": sum,
    "min": min,
    "max": max,
    "first": lambda values: values[0],
    "any_value": lambda values: values[0],
    "quantile_disc": lambda values: sorted(values)[math.ceil(Fraction(9, 10) * len(values)) - 1],
    "last": lambda values: values[-1],
}


def answer(function: str, rows: list[Row], has_condition: bool, column: bool) -> float | None:
    """The answer over rows (need, value, whether the condition holds), in the order of event time."""
    rows = [row for row in rows if row[2] is True or not has_condition]
    if function == "count" and not column:
        return len(rows)
    values = [value for _, value, _ in rows if value is not None]
    if function.endswith("_distinct"):
        function, values = function.removesuffix("_distinct"), [*{*values}]
    if function == "count":
        return len(values)
    if not values or function in MANY:
        return MANY[function](values) if values else None
    return of_numbers(function, None if function == "median" else 0.9, sorted(map(Fraction, values)))


def is_off(near: float | None, true: float | None, error: float) -> bool:
    if near is None or true is None:
        return near is not true
    if math.isclose(near, true, rel_tol=1e-12, abs_tol=1e-12):
        return False
    return abs(near - true) / (abs(true) or 1) >= error


def required_by_search(answer_of: Any, error: float, rows: list[Row]) -> int:
    """The least need with which, as with every larger one, the answer is off by less than `error`."""
    true, least = answer_of(rows), None
    for k in sorted({row[0] for row in rows}, reverse=True):
        if is_off(answer_of([row for row in rows if row[0] <= k]), true, error):
            break
        least = k
    return least


def aggregate(name: str, function: str, dtype: pa.DataType, **how: Any) -> NamedAggregate:
    column = how.get("column", True)
    condition = "holds" if how.get("where") else None
    values = Values("value" if column else None, dtype if column else pa.bool_(), pa.string(), condition)
    parameters = {"q": 0.9} | ({"approximate": True} if how.get("approximate") else {})
    return NamedAggregate(name, function, values if column or condition else None, parameters)


def required(
    model: AggregateErrorModel, error: float, rows: list[tuple], of: Any = None, dtype=TYPES["double"]
) -> list:
    """The required slack by promised answer, of each window that occurs."""
    windows = sorted({row[0] for row in rows})
    count, (window, need, value, holds) = len(rows), zip(*rows, strict=True)
    times = pa.array(range(count), pa.int64())
    columns = {"event_time": times, "arrival_time": times, "id": pa.array([str(i) for i in range(count)])}
    columns |= {"holds": pa.array(holds, pa.bool_()), **dict.fromkeys((EVENT_US, ARRIVAL_US), pa.array([0] * count))}
    columns["value"] = pa.array([None if each is None else Decimal(each) for each in value]).cast(dtype)
    single = model.sampled([None]).lift(pa.RecordBatch.from_pydict(columns)) | {"tuples": np.ones(count, np.int64)}
    promised, code = model.promised(of), np.array([windows.index(each) for each in window])
    assert {*promised.columns} <= {*single}
    return promised.required_slack(error, code, np.array(need, np.int64), single).tolist()


def by_window(rows: list[tuple]) -> list[list[Row]]:
    return [[row[1:] for row in rows if row[0] == window] for window in sorted({row[0] for row in rows})]


@pytest.mark.parametrize("where", [False, True], ids=["", "where"])
@pytest.mark.parametrize("function", [name for name, known in FUNCTIONS.items() if not known.needs_name])
@drawn(30)
@given(rows=ROWS, error=ERRORS, dtype=st.sampled_from([*TYPES]))
def test_the_required_slack_is_the_least_k_from_which_on_the_answer_is_near(function, where, rows, error, dtype):
    model = AggregateErrorModel((aggregate("it", function, TYPES[dtype], where=where),))
    expected = [
        required_by_search(lambda some: answer(function, some, where, column=True), error, window)
        for window in by_window(rows)
    ]
    assert required(model, error, rows, dtype=TYPES[dtype]) == [expected]


@drawn(30)
@given(rows=ROWS, error=ERRORS, where=st.booleans())
def test_tuples_are_counted_without_a_column(rows, error, where):
    model = AggregateErrorModel((aggregate("it", "count", TYPES["double"], column=False, where=where),))
    expected = [
        required_by_search(lambda some: answer("count", some, where, column=False), error, window)
        for window in by_window(rows)
    ]
    assert required(model, error, rows) == [expected]


@drawn(30)
@given(rows=ROWS, error=ERRORS)
def test_each_of_several_answers_and_expressions_has_its_own(rows, error):
    whole = TYPES["whole"]
    named = (
        aggregate("total", "sum", whole),
        aggregate("failures", "count", whole, column=False, where=True),
        aggregate("users", "count_distinct", whole, approximate=True),
        aggregate("p90", "quantile", whole),
        aggregate("newest", "last", whole, where=True),
    )
    types = tuple((each.name, each.result) for each in named if each.name in ("total", "failures"))
    derived = Projection(
        (("rate", "failures / tuples"), ("both", "rate + total")), None, (*types, ("tuples", pa.int64()))
    )

    def rate(some: list[Row]) -> float:
        return answer("count", some, has_condition=True, column=False) / len(some)

    def both(some: list[Row]) -> float | None:
        total = answer("sum", some, has_condition=False, column=True)
        return None if total is None else rate(some) + total

    answers = {
        "total": lambda some: answer("sum", some, has_condition=False, column=True),
        "failures": lambda some: answer("count", some, has_condition=True, column=False),
        "users": lambda some: answer("count_distinct", some, has_condition=False, column=True),
        "p90": lambda some: answer("quantile", some, has_condition=False, column=True),
        "newest": lambda some: answer("last", some, has_condition=True, column=True),
        "rate": rate,
        "both": both,
    }
    model = AggregateErrorModel(named, derived)
    expected = {
        name: [required_by_search(of, error, window) for window in by_window(rows)] for name, of in answers.items()
    }
    found = required(model, error, rows, dtype=whole)
    assert dict(zip(model.promised(None).names, found, strict=True)) == expected
    some = ("both", "p90")  # those alone, in the order of their names
    assert required(model, error, rows, some, dtype=whole) == [expected[name] for name in some]
    assert "value:sketch" not in model.promised(some).columns


def sums(window, need, tuples, total, error: float) -> list[int]:
    model = AggregateErrorModel((aggregate("it", "sum", TYPES["double"]),))
    columns = {"tuples": tuples, "value:count": tuples, "value:total": total}
    return model.promised(None).required_slack(error, window, need, columns)[0].tolist()


def test_an_empty_window_waits_for_its_first_tuple():
    one = np.ones(1, np.int64)
    assert sums(0 * one, 40 * one, one, np.zeros(1), 0.5) == [40]


@pytest.mark.parametrize("many", [20, 40, 60, 100, 140])
@pytest.mark.parametrize("value", [0.1, 0.7, 1.1])
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_the_required_slack_does_not_depend_on_how_a_sum_is_split(many, value, parts):
    # A twentieth is late: the answer without it is off by exactly the error, up to the rounding of doubles.
    early = [sum([value] * len(part)) for part in np.array_split(range(many * 19 // 20), parts)]
    total = np.array([*early, sum([value] * (many // 20))])
    need = np.array([0] * parts + [9], np.int64)
    zero = np.zeros(parts + 1, np.int64)
    assert sums(zero, need, zero + 1, total, 0.05) == [9]
