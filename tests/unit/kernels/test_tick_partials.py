"""Partials by compiled code: the same as numpy's to the last bit, and as those of a loop in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.aggregates import partials_of
from kit.draws.kernel_forms import compiled_form, compiled_library, numpy_form
from tailrace.ground.arrow.grouping import How
from tailrace.windows.sliding import Sliding

YEARS_20 = 20 * 365 * 86_400_000

Row = tuple[int, int, str | None, float]
"""Ticks since the row before, event time, key, value."""

times = st.one_of(st.integers(-300, 300), st.integers(-(2**52), 2**52), st.just(-YEARS_20))
rows = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 1, 7]), times, st.sampled_from(["a", "b", "c", "", None]), st.floats(allow_nan=False)
    ),
    max_size=40,
)


def tuples(of: list[Row], coded: bool = False) -> pa.RecordBatch:
    steps, event, key, value = (list(column) for column in zip(*of, strict=True)) if of else ([], [], [], [])
    keys = pa.array(key, pa.string())
    return pa.RecordBatch.from_pydict(
        {
            "key": keys.dictionary_encode(null_encoding="encode") if coded else keys,
            "event_time": pa.array(event, pa.int64()),
            "tick": pa.array(np.cumsum(np.array(steps, np.int64))),
            "value": pa.array(value, pa.float64()),
        }
    )


def bits(batch: pa.RecordBatch) -> list[tuple]:
    """The rows of a batch in order, doubles by their bits; every NaN is the same."""
    total = np.where(np.isnan(batch.column("total")), np.nan, np.asarray(batch.column("total"))).view(np.int64)
    columns = [batch.column(name).to_pylist() for name in ("key", "pane", "tick", "tuples")]
    return [*zip(*columns, total.tolist(), strict=True)]


def folded(of: list[Row], pane_ms: int, fold: How) -> dict[tuple, tuple[int, float]]:
    """The partials by a loop: values are added one after the other."""
    partials: dict[tuple, tuple[int, float]] = {}
    tick = 0
    for step, event, key, value in of:
        tick += step
        place = (key, event // pane_ms * pane_ms, tick)
        count, total = partials.get(place, (0, {"sum": 0.0, "min": math.inf, "max": -math.inf}[fold]))
        total = total + value if fold == "sum" else {"min": min, "max": max}[fold](total, value)
        partials[place] = count + 1, total
    return partials


@pytest.mark.parametrize("fold", ["sum", "min", "max"])
@given(rows=rows, pane_ms=st.sampled_from([1, 10, 1000]), coded=st.booleans())
def test_compiled_partials_are_those_of_numpy_to_the_bit(fold: How, rows: list[Row], pane_ms: int, coded: bool) -> None:
    batch, windows = tuples(rows, coded), Sliding(2 * pane_ms, pane_ms)
    with compiled_form():
        compiled = partials_of(windows, fold, batch)
    with numpy_form():
        expected = partials_of(windows, fold, batch)
    assert bits(compiled) == bits(expected)
    assert compiled.schema == expected.schema
    by_place = {(row["key"], row["pane"], row["tick"]): (row["tuples"], row["total"]) for row in compiled.to_pylist()}
    right = folded(rows, pane_ms, fold)
    assert by_place.keys() == right.keys()
    for place, (count, total) in right.items():
        assert by_place[place] == (count, pytest.approx(total, rel=0, abs=0, nan_ok=True))


def groups_of(tick: list[int], event: list[int], key: list[int], keys: int) -> int:
    """The number of groups that the compiled loop gives for these tuples; −1 where it leaves them to numpy."""
    count, cells = len(tick), 4 * len(tick) + 1024
    columns = np.array(tick), np.array(event), np.array(key, np.int32)
    scratch = np.empty(cells, np.int32), np.empty(count, np.int32)
    into = *np.empty((2, count), np.int32), *np.empty((3, count), np.int64)
    number = compiled_library().functions(1)["number_cells"]
    return number(count, keys, 100, *columns, cells, *scratch, *into)


def test_a_tick_with_many_cells_is_worth_as_many_as_all_tuples_are() -> None:
    near = [1_000_000] * 2000
    assert groups_of([0] * 2000, near, [0] * 2000, 50) == 1
    assert groups_of([0] * 1999 + [1], [*near[:-1], 1_000_000], [0] * 2000, 50) == 2
    assert groups_of([0] * 1998 + [1, 1], [*near[:-2], 1_000_000, 1_009_900], [0] * 2000, 50) == 3, (
        "5,050 of 9,024 cells"
    )
    assert groups_of([0] * 1998 + [1, 1], [*near[:-2], 1_000_000, 1_019_900], [0] * 2000, 50) == -1


@pytest.mark.parametrize("far", [YEARS_20, 2**62, 2**63 - 1], ids=["20 years", "2^62", "the last of all"])
def test_an_event_time_far_from_the_others_is_left_to_numpy(far: int) -> None:
    assert groups_of([0, 0, 0], [5, far, 7], [0, 1, 0], 2) == -1
    assert groups_of([0, 0, 0], [-(2**63) + 100, far, 7], [0, 1, 0], 2) == -1


def test_ticks_that_fall_are_left_to_numpy() -> None:
    assert groups_of([5, 5, 4], [1, 2, 3], [0, 0, 0], 1) == -1
