"""The kind aggregate over whole contents, and the quality of its answers. Contract of all kinds: tests/contract."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kit.draws.aggregates import kind_of
from tailrace.aggregate.function_section import FunctionSection
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.planning import aggregate_of
from tailrace.kind.inputs import ColumnTypes
from tailrace.windows.sliding import Sliding


def kind(function: str = "sum", size: int = 20, slide: int = 10, key_type: pa.DataType | None = None) -> Aggregate:
    return kind_of(Sliding(size, slide), function, 0.9 if function == "quantile" else None, key_type)


def content(*rows: tuple, key_type: pa.DataType | None = None) -> pa.RecordBatch:
    """A batch of (key, event time, value) each."""
    key, event, value = (list(column) for column in zip(*rows, strict=True))
    return pa.RecordBatch.from_pydict(
        {
            "event_time": pa.array(event, pa.int64()),
            "key": pa.array(key, key_type or pa.string()),
            "value": pa.array(value, pa.float64()),
        }
    )


def evaluate_rows(aggregate: Aggregate, *rows: tuple) -> dict[tuple, tuple]:
    answers = aggregate.evaluate(content(*rows, key_type=aggregate.key_type)).to_pylist()
    return {(r["key"], r["window_start"], r["window_end"]): (r["value"], r["tuples"]) for r in answers}


# event   5      12  15
#   [-10 .. 10)                 5
#        [0 ..... 20)           5  12  15
#             [10 ..... 30)        12  15
@pytest.mark.parametrize(
    ("function", "first", "second", "third"),
    [
        ("sum", 1, 10, 9),
        ("count", 1, 3, 2),
        ("avg", 1, 10 / 3, 4.5),
        ("min", 1, 1, 4),
        ("max", 1, 5, 5),
        ("median", 1, 4, 4.5),
        ("quantile", 1, 4.8, 4.9),
    ],
)
def test_answers_by_hand(function: str, first: float, second: float, third: float) -> None:
    answers = evaluate_rows(kind(function), ("a", 5, 1.0), ("a", 12, 4.0), ("a", 15, 5.0))
    expected = {("a", -10, 10): (first, 1), ("a", 0, 20): (second, 3), ("a", 10, 30): (third, 2)}
    assert answers == {window: (pytest.approx(value), tuples) for window, (value, tuples) in expected.items()}


def test_a_window_without_tuples_of_a_key_gives_no_answer() -> None:
    assert set(evaluate_rows(kind(size=10), ("a", 5, 1.0), ("b", 25, 1.0))) == {("a", 0, 10), ("b", 20, 30)}


def test_answers_have_the_declared_schema() -> None:
    aggregate = kind(key_type=pa.int64())
    assert aggregate.evaluate(content((1, 5, 1.0), key_type=pa.int64())).schema == aggregate.answer


def test_a_sum_does_not_depend_on_the_values_of_other_windows() -> None:
    answers = evaluate_rows(kind(size=10), ("a", 5, 1e300), ("a", 15, 1e-9), ("a", 16, 1e-9), ("a", 25, -1e300))
    assert answers["a", 10, 20] == (2e-9, 2)


def quality(streamed: list[tuple], exact: list[tuple]) -> float:
    """The quality of answers (key, value) of the window [0, 10)."""
    names = ["key", "window_start", "window_end", "value", "tuples"]
    tables = [
        pa.Table.from_pylist(
            [dict(zip(names, (key, 0, 10, value, 1), strict=True)) for key, value in rows], kind().answer
        )
        for rows in (streamed, exact)
    ]
    return kind().quality(*tables)


def test_quality_is_1_less_the_mean_relative_error() -> None:
    assert quality([("a", 9.0), ("b", -10.0)], [("a", 10.0), ("b", -10.0)]) == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("streamed", "exact", "expected"),
    [
        pytest.param([("a", 10.0)], [("a", 10.0), ("b", 1.0), ("c", 0.0), ("d", 0.0)], 0.25, id="a missing one: 1"),
        pytest.param([("a", 0.25)], [("a", 0.0)], 0.75, id="of a true value of 0: absolute"),
        pytest.param([("a", 1e9), ("b", 1.0)], [("a", 1.0), ("b", 1.0)], 0.5, id="at most 1"),
        pytest.param([("a", 1e100)], [("a", 1e-300)], 0, id="one that overflows: 1"),
        pytest.param([("a", float("inf"))], [("a", float("inf"))], 1, id="of equal infinite sums: 0"),
        pytest.param([("a", 1.0), ("b", 5.0)], [("a", 1.0)], 1, id="without an exact counterpart: none"),
    ],
)
def test_the_error_of_an_answer_lowers_the_quality(streamed: list[tuple], exact: list[tuple], expected: float) -> None:
    assert quality(streamed, exact) == expected


def test_quality_compares_answers_of_the_same_window() -> None:
    streamed = kind(size=10).evaluate(content(("a", 5, 1.0)))
    exact = kind(size=10).evaluate(content(("a", 15, 1.0)))
    assert kind().quality(pa.Table.from_batches([streamed]), pa.Table.from_batches([exact])) == 0


def test_values_that_doubles_would_make_alike_are_distinct() -> None:
    section = FunctionSection(function="count_distinct", column="user")
    exact = aggregate_of(Sliding(20, 20), section, ColumnTypes(carried={"value": pa.int64()}))
    rows = content(("a", 5, 0.0), ("a", 6, 0.0), ("a", 7, 0.0))
    users = pa.array([2**53, 2**53 + 1, 2**53 + 1])
    (answer,) = exact.evaluate(rows.set_column(2, "value", users)).to_pylist()
    assert (answer["value"], answer["tuples"]) == (2.0, 3)
    assert exact.answer.field("value").type == pa.float64()


def test_nulls_are_skipped_and_their_tuples_count() -> None:
    rows = content(("a", 5, None), ("a", 6, 3.0), ("b", 5, None))
    found = {name: kind(name, 20, 20).evaluate(rows).to_pylist() for name in ("sum", "avg", "min", "median")}
    for name, answers in found.items():
        assert [(row["key"], row["value"], row["tuples"]) for row in answers] == [("a", 3.0, 2), ("b", None, 1)], name
