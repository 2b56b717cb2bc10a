import math
import random

import pyarrow as pa
import pytest

from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL, EARLIEST_MS
from tailrace.panels.series import downsample, within_limits


def _table(at, **columns):
    return pa.table({"at": pa.array(at, pa.int64())} | columns)


def test_few_rows_are_points_in_the_order_of_time():
    rows = _table([30, 10, 20], late=[3, 1, 2])
    assert downsample(rows, "at", {"late": "sum"}) == {"at": [10, 20, 30], "late": [1, 2, 3]}


def test_rows_of_equal_time_are_one_point():
    rows = _table([10, 20, 10, 20], late=[1, 2, 3, 4], frontier=[5, 6, 7, 8])
    columns = {"late": "sum", "frontier": "last"}
    assert downsample(rows, "at", columns) == {"at": [10, 20], "late": [4, 6], "frontier": [7, 8]}


def test_no_rows_are_an_empty_series():
    rows = _table([], late=pa.array([], pa.int64()))
    assert downsample(rows, "at", {"late": "sum"}) == {"at": [], "late": []}


def test_rows_without_a_time_are_no_point():
    assert downsample(_table([None, 1], late=[7, 8]), "at", {"late": "sum"}) == {"at": [1], "late": [8]}


@pytest.mark.parametrize("start", [0, -1_000_000, 1_700_000_000_000])
def test_many_rows_become_at_most_the_points_asked_for_and_keep_sums_and_extremes(start):
    draw = random.Random(start)
    at = [start + draw.randrange(1_000_000) for _ in range(5_000)]
    values = [draw.random() for _ in at]
    rows = _table(at, value=values, many=values, least=values)
    series = downsample(rows, "at", {"value": "max", "many": "sum", "least": "min"}, points=100)
    assert 40 <= len(series["at"]) <= 100
    assert series["at"] == sorted(set(series["at"]))
    assert set(series["at"]) <= set(at)
    before = -math.inf
    for until, greatest, total, least in zip(*series.values(), strict=True):
        mine = [value for time, value in zip(at, values, strict=True) if before < time <= until]
        assert greatest == max(mine)
        assert least == min(mine)
        assert math.isclose(total, sum(mine))
        before = until
    assert before == max(at)


def test_a_single_bad_moment_in_a_month_stays():
    at = list(range(0, 30 * 86_400_000, 30_000))
    coverage = [1.0] * len(at)
    coverage[54_321] = 0.25
    series = downsample(_table(at, coverage=coverage), "at", {"coverage": "min"})
    assert len(series["at"]) <= 600
    assert min(series["coverage"]) == 0.25


def test_buckets_stay_as_time_goes_on():
    at = list(range(1_000_000, 4_600_000, 500))
    points = [
        dict(zip(*downsample(_table(some, value=some), "at", {"value": "first"}).values(), strict=True))
        for some in (at, at[40:])
    ]
    shared = sorted(points[0].keys() & points[1].keys())[1:]
    assert len(shared) > 300
    assert all(points[0][time] == points[1][time] for time in shared)


@pytest.mark.parametrize("unknown", [None, math.nan, math.inf, -math.inf])
def test_an_unknown_value_is_left_out_and_is_null_where_there_is_no_other(unknown):
    rows = _table([1, 1, 2], value=pa.array([0.5, unknown, unknown], pa.float64()))
    is_infinite = unknown is not None and math.isinf(unknown)
    for how in ("sum", "mean", "first", "last", *(() if is_infinite else ("min", "max"))):
        assert downsample(rows, "at", {"value": how}) == {"at": [1, 2], "value": [0.5, None]}


@pytest.mark.parametrize("how", ["min", "max"])
@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_an_infinite_extreme_is_a_gap_and_not_the_next_smaller_one(how, infinite):
    values = [0.5] * 1_300
    values[7] = infinite
    series = downsample(_table(range(0, 1_300_000, 1_000), value=values), "at", {"value": how}, points=10)
    assert series["value"] == [None] + [0.5] * (len(series["at"]) - 1)
    assert len(series["at"]) > 5


def test_integers_stay_integers():
    (value,) = downsample(_table([1], value=[(1 << 53) + 1]), "at", {"value": "max"})["value"]
    assert value == (1 << 53) + 1


def test_sentinels_before_and_after_all_time_are_unknown():
    assert within_limits(pa.array([BEFORE_ALL, EARLIEST_MS, 0, AFTER_ALL, None])).to_pylist() == [
        None,
        None,
        0,
        None,
        None,
    ]
