"""The population of each aggregate, from sums over the sample, and λ_thr of several: against the tuples themselves."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.functions import promise
from tailrace.functions.function import Values
from tailrace.functions.population import Population
from tailrace.functions.registry import FUNCTIONS

ERROR, RISK = 0.05, 0.05
TYPES = [pa.float64(), pa.int64(), pa.decimal128(18, 2), pa.decimal128(38, 4)]
PROMISING = [name for name, function in FUNCTIONS.items() if function.threshold is not None]
Windows = list[list[tuple[int | None, bool]]]


def windows_of(windows: int, tuples: int, null_share: float, seed: int = 1) -> Windows:
    """Values, some of which are null, and whether the condition holds."""
    rng = np.random.default_rng(seed)
    drawn = (
        rng.normal(100, 10, (windows, tuples)).astype(int),
        rng.random((windows, tuples)) >= null_share,
        rng.random(tuples) < 0.6,
    )
    return [
        [(int(v) if there else None, bool(c)) for v, there, c in zip(*rows, drawn[2], strict=True)]
        for rows in zip(*drawn[:2], strict=True)
    ]


def aggregate(function: str, dtype: pa.DataType, where: bool = False, column: bool = True) -> NamedAggregate:
    values = Values(
        "value" if column else None, dtype if column else pa.bool_(), pa.string(), "holds" if where else None
    )
    return NamedAggregate(function, function, values if column or where else None, {"q": 0.9})


def threshold(
    model: AggregateErrorModel, windows: Windows, dtype: pa.DataType, of: tuple[str, ...] | None = None
) -> float:
    """λ_thr, of the sums over the windows of the columns of single tuples."""
    promised, count = model.promised(of), sum(map(len, windows))
    value, holds = zip(*(row for window in windows for row in window), strict=True)
    times = pa.array(range(count), pa.int64())
    columns = {"event_time": times, "arrival_time": times, "id": pa.array([f"t{i}" for i in range(count)])}
    columns |= {
        "value": pa.array([None if v is None else Decimal(v) for v in value]).cast(dtype),
        "holds": pa.array(holds),
    }
    rows = model.sampled([None]).lift(pa.RecordBatch.from_pydict(columns)) | {"tuples": np.ones(count, np.int64)}
    bounds = np.cumsum([0, *map(len, windows[:-1])])
    sums = {name: np.add.reduceat(rows[name], bounds).astype(float) for name in promised.sums}
    values = {name: rows[name][rows[has] == 1] for name, has in promised.values.items()}
    return promised.threshold(ERROR, RISK, sums, values)


def expected(function: str, windows: Windows, where: bool = False, column: bool = True, risk: float = RISK) -> float:
    """λ_thr, by a plain definition of each population."""
    taken = [
        [(v if column else 1) if (c or not where) and (v is not None or not column) else None for v, c in window]
        for window in windows
    ]
    values = [[v for v in window if v is not None] for window in taken]
    if function in ("avg", "median", "quantile") and any(
        0 < len(v) < len(w) for v, w in zip(values, windows, strict=True)
    ):
        some = [(len(v), len(w)) for v, w in zip(values, windows, strict=True) if v]
        variance = statistics.fmean((n - v) / (n - 1) / (4 * v) for v, n in some)
        only_values: Windows = [[(v, True) for v in window] for window in values if window]
        return min(1.0, expected(function, only_values, risk=risk / 2) + math.sqrt(variance * (2 / risk - 1)))
    q = {"q": 0.9} if function == "quantile" else {}
    if function in ("min", "max"):
        return promise.threshold(function, ERROR, risk, Population(np.mean([len(window) for window in windows]), 0.0))
    if function in ("median", "quantile"):
        tuples = np.array([float(len(window)) for window in values if window])
        sample = tuple(float(v) for window in values for v in window)
        return promise.threshold(function, ERROR, risk, Population.estimate(tuples, tuples, tuples, sample), q)
    if function == "avg":
        used = [window for window in values if window]
    else:
        numbers = [[0 if v is None else v for v in window] for window in taken]
        used = [[int(v is not None) for v in window] for window in taken] if function == "count" else numbers
    columns = ([len(w) for w in used], [sum(w) for w in used], [sum(v * v for v in w) for w in used])
    population = Population.estimate(*(np.array(each, float) for each in columns))
    is_whole = function == "count" and all(v for window in used for v in window)
    return promise.threshold(function, ERROR, risk, population, of_part=function in ("sum", "count") and not is_whole)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("function", PROMISING)
@pytest.mark.parametrize("null_share", [0.0, 0.3])
def test_a_population_is_that_of_the_tuples(function, null_share, dtype):
    windows = windows_of(20, 300, null_share)
    model = AggregateErrorModel((aggregate(function, dtype),))
    found = threshold(model, windows, dtype)
    assert found == pytest.approx(expected(function, windows), rel=1e-9)
    assert 0 < found <= 1
    assert found < 1 or null_share


@pytest.mark.parametrize(("function", "column"), [("sum", True), ("count", True), ("count", False), ("max", True)])
def test_tuples_that_a_condition_leaves_out_count_as_zero(function, column):
    windows = windows_of(20, 300, 0.1)
    model = AggregateErrorModel((aggregate(function, pa.int64(), where=True, column=column),))
    assert threshold(model, windows, pa.int64()) == pytest.approx(expected(function, windows, True, column), rel=1e-9)


def test_the_largest_threshold_of_the_promised_answers_counts():
    windows, names = windows_of(20, 300, 0.1), ("sum", "count", "avg", "max", "median")
    model = AggregateErrorModel(tuple(aggregate(each, pa.int64()) for each in names))
    each = {name: threshold(model, windows, pa.int64(), (name,)) for name in names}
    assert len({round(share, 6) for share in each.values()}) == len(names)
    assert threshold(model, windows, pa.int64()) == max(each.values())
    assert threshold(model, windows, pa.int64(), ("avg", "max")) == each["max"]


@pytest.mark.parametrize("function", ["avg", "median", "sum"])
def test_windows_without_a_value_say_nothing_of_values(function):
    windows = windows_of(20, 300, 0.1)
    model = AggregateErrorModel((aggregate(function, pa.int64()),))
    empty: Windows = [[(None, True)] * 300] * 5
    if function != "sum":  # which takes them as windows of zeros
        assert threshold(model, windows + empty, pa.int64()) == threshold(model, windows, pa.int64())
        assert threshold(model, empty, pa.int64()) == 1, "whole windows are right whatever comes"
    assert threshold(model, windows + empty, pa.int64()) == pytest.approx(expected(function, windows + empty), rel=1e-9)


@pytest.mark.parametrize("function", ["sum", "count"])
def test_a_promise_over_some_tuples_is_kept_at_the_threshold_and_broken_well_below(function):
    rng, tuples = np.random.default_rng(11), 500
    values = rng.exponential(10, (3000, tuples)) * (rng.random((3000, tuples)) < 0.6)
    numbers = values if function == "sum" else (values > 0).astype(float)
    sums = np.full(3000, float(tuples)), numbers.sum(axis=1), (numbers**2).sum(axis=1)
    share = promise.threshold(function, ERROR, RISK, Population.estimate(*sums), of_part=True)
    missing = int((1 - share) * tuples)
    assert missing > 0

    def off(count: int) -> float:
        whole = numbers.sum(axis=1)
        return float((np.abs(numbers[:, :count].sum(axis=1)) >= ERROR * whole).mean())  # in random order: at random

    assert off(missing) <= RISK
    assert off(3 * missing) > RISK


@pytest.mark.needs("long")
@pytest.mark.parametrize("null_share", [0.01, 0.5, 0.95])
@pytest.mark.parametrize("function", ["avg", "median", "quantile"])
def test_a_promise_of_values_beside_nulls_is_kept_at_the_threshold(function, null_share):
    windows = windows_of(400, 500, null_share, seed=3)
    model = AggregateErrorModel((aggregate(function, pa.int64()),))
    share = threshold(model, windows, pa.int64())
    there = 500 - int((1 - share) * 500 + 1e-9)
    of = {"avg": np.mean, "median": np.median, "quantile": lambda v: np.quantile(v, 0.9)}[function]
    off = 0
    for window in windows:  # values stand in random order: the first ones are there at random
        values, present = ([v for v, _ in part if v is not None] for part in (window, window[:there]))
        true = of(values)
        off += not present or abs(of(present) - true) >= ERROR * abs(true)
    assert off / len(windows) <= RISK
    assert share < 1 or null_share > 0.9


def test_of_few_values_among_many_tuples_whole_windows_keep_the_promise():
    windows: Windows = [[(1, True)] * 5 + [(None, True)] * 995] * 20
    model = AggregateErrorModel((aggregate("avg", pa.int64()),))
    assert threshold(model, windows, pa.int64()) > 0.95
