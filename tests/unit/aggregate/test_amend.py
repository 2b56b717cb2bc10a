"""Late tuples are added to streamed answers, for the functions that allow it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kit.draws.aggregates import kind_of, with_q
from tailrace.aggregate.kind import Aggregate
from tailrace.functions.registry import FUNCTIONS
from tailrace.windows.sliding import Sliding

LATE = ("key", "window_start", "window_end", "tuples", "total")


def kind(function: str) -> Aggregate:
    return kind_of(Sliding(10, 5), function, **with_q(function))


def amend_answers(function: str, answers: list[tuple], late: list[tuple]) -> dict:
    """Add late rows (key, window_end, tuples, total) to answers (key, window_end, value, tuples)."""
    aggregate = kind(function)
    streamed = [(key, end - 10, end, value, tuples) for key, end, value, tuples in answers]
    late_rows = [(key, end - 10, end, tuples, total) for key, end, tuples, total in late]
    types = [(name, aggregate.answer.field(name).type) if name != "total" else (name, pa.float64()) for name in LATE]
    tables = (
        pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        for rows, schema in ((streamed, aggregate.answer), (late_rows, pa.schema(types)))
    )
    result = aggregate.amend(*tables)
    assert result.schema == aggregate.answer
    rows = result.to_pylist()
    assert all(row["window_start"] == row["window_end"] - 10 for row in rows)
    return {(row["key"], row["window_end"]): (row["value"], row["tuples"]) for row in rows}


@pytest.mark.parametrize(("function", "streamed", "value"), [("sum", 6.0, 16.0), ("count", 3.0, 6.0)])
def test_late_tuples_are_added_to_their_windows(function, streamed, value):
    late = [("a", 20, 2, 7.0), ("a", 20, 1, 3.0), ("a", 25, 1, 100.0), ("b", 20, 1, 100.0)]
    assert amend_answers(function, [("a", 20, streamed, 3)], late)["a", 20] == (pytest.approx(value), 6)


@pytest.mark.parametrize("function", ["sum", "count"])
def test_windows_without_an_answer_start_from_zero_and_answers_without_late_tuples_stay(function):
    answers = amend_answers(function, [("a", 20, 4.0, 4), (None, 20, 2.0, 2)], [(None, 25, 2, 2.0)])
    value = {"sum": 2.0, "count": 2.0}[function]
    assert answers == {("a", 20): (4.0, 4), (None, 20): (2.0, 2), (None, 25): (value, 2)}
    assert amend_answers(function, [], []) == {}


@pytest.mark.parametrize(
    ("answer", "late"),
    [(float("inf"), 0.0), (float("-inf"), float("inf")), (float("nan"), 1.0), (1.7e308, 1.7e308), (1.0, float("inf"))],
)
def test_an_answer_that_is_not_finite_is_left_out(answer, late):
    answers = amend_answers("sum", [("a", 20, answer, 1), ("b", 20, 1.0, 1)], [("a", 20, 1, late)])
    assert answers == {("b", 20): (1.0, 1)}


def test_a_part_without_values_adds_tuples_alone():
    assert amend_answers("sum", [("a", 20, 5.0, 2)], [("a", 20, 3, None), ("a", 20, 1, 2.0)]) == {("a", 20): (7.0, 6)}


@pytest.mark.parametrize("more", [{"column": "value"}, {"where": "value > 0"}])
def test_the_number_of_values_is_not_amended(more):
    """Late rows have the sum of the values there."""
    aggregate = kind_of(Sliding(10, 5), "count", **more)
    row = {"key": "a", "window_start": 10, "window_end": 20, "tuples": 2}
    streamed = pa.Table.from_pylist([row | {"value": 2.0}], aggregate.answer)
    late = streamed.select(LATE[:-1]).append_column("total", pa.array([7.0]))
    assert aggregate.amend(streamed, late).num_rows == 0
    assert aggregate.late.field("total").type == pa.float64()


@pytest.mark.parametrize(
    "function", sorted(name for name in FUNCTIONS.keys() - {"sum", "count"} if not FUNCTIONS[name].needs_name)
)
def test_functions_that_need_more_than_a_sum_amend_nothing(function):
    assert amend_answers(function, [("a", 20, 1.0, 1)], [("a", 20, 1, None)]) == {}
