"""Estimates of sums and counts: the interval's coverage, where they are off, and their types."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.aggregate.estimates import COVERAGE, SPREAD, estimate, scale, whole
from tailrace.functions.function import Values
from tailrace.kinds import build
from tailrace.query.declared import declared_query

SEED, WINDOWS = 37, 4_000


def held_values(tuples: int, coverage: np.ndarray, cv: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Σv and Σv² of the tuples that have arrived, and Σv of all, of windows with lognormal values."""
    sigma = np.sqrt(np.log1p(cv**2))
    values = rng.lognormal(0, sigma, (WINDOWS, tuples)) if cv else np.ones((WINDOWS, tuples))
    held = values * (rng.random(values.shape) < coverage[:, None])
    return held.sum(axis=1), (held**2).sum(axis=1), values.sum(axis=1)


@pytest.mark.parametrize("cv", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("tuples", [200, 1_000])
def test_the_interval_holds_the_whole_windows_value_in_nine_of_ten(tuples: int, coverage: float, cv: float) -> None:
    rng, expected = np.random.default_rng(SEED), np.full(WINDOWS, coverage)
    total, squares, true = held_values(tuples, expected, cv, rng)
    found = scale(total, squares, expected, np.zeros(WINDOWS))
    mine = found.is_scaled
    assert mine.any(), "with so many tuples an estimate helps"
    assert np.mean((found.low <= true) & (true <= found.high)) >= 0.9
    assert np.all((found.low <= found.value) & (found.value <= found.high) | ~mine)
    assert np.abs(found.value[mine] / true[mine] - 1).mean() < np.abs(total[mine] / true[mine] - 1).mean()


def test_the_interval_holds_where_coverage_varies_between_windows() -> None:
    rng = np.random.default_rng(SEED)
    coverage = np.clip(rng.normal(0.8, 0.05, WINDOWS), 0, 1)
    total, squares, true = held_values(1_000, coverage, 0.0, rng)
    found = scale(total, squares, np.full(WINDOWS, 0.8), np.full(WINDOWS, 0.05))
    assert np.mean((found.low <= true) & (true <= found.high)) >= 0.9
    narrow = scale(total, squares, np.full(WINDOWS, 0.8), np.zeros(WINDOWS))
    assert np.mean((narrow.low <= true) & (true <= narrow.high)) < 0.6, "without the spread it would be too narrow"


@pytest.mark.parametrize(
    ("total", "squares", "coverage", "spread", "is_scaled"),
    [
        (500.0, 500.0, 0.95, 0.0, True),
        (-500.0, 500.0, 0.95, 0.0, True),
        (30.0, 30.0, 0.95, 0.0, False),  # two tuples are missing, give or take three
        (500.0, 100_000.0, 0.95, 0.0, False),  # a few values are the sum
        (500.0, 500.0, 0.95, 0.03, False),  # coverage is erratic
        (500.0, 500.0, 1.0, 0.0, False),  # nothing is expected to be missing
        (np.nan, 500.0, 0.5, 0.0, False),
        (1e308, 1e308, 0.1, 0.0, False),  # the estimate is beyond a double
    ],
)
def test_an_answer_is_scaled_where_the_interval_leaves_it_out(
    total: float, squares: float, coverage: float, spread: float, is_scaled: bool
) -> None:
    found = scale(*(np.array([number]) for number in (total, squares, coverage, spread)))
    assert found.is_scaled.tolist() == [is_scaled]
    if not is_scaled:
        assert found.value[0] == total or np.isnan(total)


def sums(dtype: pa.DataType) -> NamedAggregate:
    return NamedAggregate("total", "sum", Values("v", dtype, pa.string(), None), {}, is_estimated=True)


@pytest.mark.parametrize(
    ("dtype", "raw", "value"),
    [
        (pa.int64(), 501, 626),
        (pa.decimal128(10, 2), Decimal("500.25"), Decimal("625.31")),
        (pa.float64(), 500.25, 625.3125),
        (pa.int64(), 2**62, 2**62),  # the estimate might not fit
        (pa.decimal128(10, 2), Decimal(10) ** 17, Decimal(10) ** 17),
        (pa.int64(), None, None),
    ],
)
def test_an_estimate_has_the_type_of_the_answer(dtype: pa.DataType, raw: object, value: object) -> None:
    aggregate = sums(dtype)
    assert aggregate.squares is not None
    squares = [float(raw or 0)]
    columns = {COVERAGE: [0.8], SPREAD: [0.0], aggregate.squares.name: squares}
    answers = pa.array([raw], aggregate.result)
    found = estimate(aggregate, answers, pa.RecordBatch.from_pydict(columns))
    assert list(found) == ["total", "total_low", "total_high", "total_raw"]
    assert found["total"].type == aggregate.result
    (row,) = pa.RecordBatch.from_pydict(found).to_pylist()
    assert row["total"] == value
    assert (row["total_raw"], row["total_low"] is None) == (raw, value == raw)


def test_an_answer_of_complete_tuples_has_no_interval() -> None:
    found = whole(sums(pa.int64()), pa.array([3]))
    (row,) = pa.RecordBatch.from_pydict(found).to_pylist()
    assert row == {"total": 3, "total_low": None, "total_high": None, "total_raw": 3}


@drawn(60)
@given(st.data())
def test_a_promise_judges_the_answer_that_each_age_gives(data: st.DataObject) -> None:
    """Against plain Python: the answer of a window that closes at an age, and the answer over all its tuples."""
    counts = [NamedAggregate("n", "count", None, {}, is_estimated=True)]
    partials = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(1, 400)), min_size=1))
    _, window = np.unique([number for number, _, _ in partials], return_inverse=True)
    need, tuples = (np.array(column, np.int64) for column in list(zip(*partials, strict=True))[1:])
    age = np.array(data.draw(st.lists(st.integers(0, 10), min_size=1, max_size=5)), np.int64)
    coverage = np.array(data.draw(st.lists(st.sampled_from([0.5, 0.9, 1.0]), min_size=len(age), max_size=len(age))))
    promised = AggregateErrorModel(tuple(counts)).promised(None)
    found = promised.off(0.1, window, need, {"tuples": tuples}, age, (coverage, np.zeros(len(age))))
    assert found.shape == (1, window.max() + 1, len(age))
    for number in range(window.max() + 1):
        mine = [(late, many) for at, late, many in zip(window, need, tuples, strict=True) if at == number]
        true = sum(many for _, many in mine)
        for place, (closed, c) in enumerate(zip(age, coverage, strict=True)):
            raw = sum(many for late, many in mine if late <= closed)
            reach = 1.96 * np.sqrt((1 - c) * raw) / c
            value = round(raw / c) if raw / c - raw > reach else raw
            off = raw == 0 or abs(value - true) >= 0.1 * true * (1 - 1e-9)
            assert found[0, number, place] == off


def test_an_interval_is_no_part_of_an_answers_error() -> None:
    stream = {"source": {"format": "parquet", "path": "in"}, "event_time": "at", "id": "id"}
    fields = {"name": "counted", "kind": "aggregate", "streams": {"rows": stream}, "window": {"size": "1 s"}}
    each = {"n": {"function": "count", "estimate": True}}
    kind = build(declared_query(fields | {"aggregate": each, "disorder": {"policy": "none"}}))
    row = {"key": None, "window_start": 0, "window_end": 1000, "n": 95, "n_low": 90.0, "n_high": 101.0, "n_raw": 80}
    final = row | {"n": 100, "n_low": None, "n_high": None, "n_raw": 100}
    early, exact = (pa.Table.from_pylist([each | {"tuples": 80}], kind.answer) for each in (row, final))
    assert kind.errors(early, exact)["error"].to_pylist() == [pytest.approx(0.05)]
