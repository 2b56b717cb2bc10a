"""The required slack K (allowed lateness) of a window, against trying every K."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate.functions import FUNCTIONS, function_of
from tailrace.aggregate.required_slack import required_slack

# (window, need, value)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 7, 20, 500]), st.integers(-6, 12).map(float)),
    min_size=1,
    max_size=40,
)
ANSWERS = {
    "sum": sum,
    "count": len,
    "avg": statistics.fmean,
    "min": min,
    "max": max,
    "median": statistics.median,
    "quantile": lambda values: float(np.quantile(values, 0.9)),
}


def required_by_search(function: str, error: float, rows: list[tuple[int, float]]) -> int:
    """The least need with which, as with every larger one, the answer is off by less than `error`."""
    true = ANSWERS[function]([value for _, value in rows])
    least = None
    for k in sorted({need for need, _ in rows}, reverse=True):
        answer = ANSWERS[function]([value for need, value in rows if need <= k])
        if abs(answer - true) / (abs(true) or 1) >= error and answer != true:
            break
        least = k
    return least


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@settings(max_examples=60, deadline=None)
@given(rows=ROWS, error=st.sampled_from([0.0307, 0.1103, 0.3109, 0.9311]))  # no answer is off by exactly that
def test_the_required_slack_is_the_least_k_from_which_on_the_answer_is_near(function, rows, error):
    windows = sorted({window for window, _, _ in rows})
    code = np.array([windows.index(window) for window, _, _ in rows])
    need, value = (np.array([row[i] for row in rows]) for i in (1, 2))
    required = required_slack(
        function_of(function, {"q": 0.9} if function == "quantile" else {}),
        error,
        code,
        need.astype(np.int64),
        np.ones(len(rows), np.int64),
        value if function != "count" else np.zeros(len(rows)),
    )
    expected = [required_by_search(function, error, [(n, v) for w, n, v in rows if w == window]) for window in windows]
    assert required.tolist() == expected


def test_an_empty_window_waits_for_its_first_tuple():
    one = np.ones(1, np.int64)
    assert required_slack(function_of("sum", {}), 0.5, 0 * one, 40 * one, one, np.zeros(1)).tolist() == [40]


@pytest.mark.parametrize("many", [20, 40, 60, 100, 140])
@pytest.mark.parametrize("value", [0.1, 0.7, 1.1])
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_the_required_slack_does_not_depend_on_how_a_sum_is_split(many, value, parts):
    # A twentieth is late: the answer without it is off by exactly the error, up to the rounding of doubles.
    early = [sum([value] * len(part)) for part in np.array_split(range(many * 19 // 20), parts)]
    total = np.array([*early, sum([value] * (many // 20))])
    need = np.array([0] * parts + [9], np.int64)
    zero = np.zeros(parts + 1, np.int64)
    assert required_slack(function_of("sum", {}), 0.05, zero, need, zero + 1, total).tolist() == [9]
