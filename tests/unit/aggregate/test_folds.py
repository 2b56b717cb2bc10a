"""Rows that belong together become one, or stay: against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate.folds import Fold, gather, merge

FOLDS: list[Fold] = ["sum", "min", "max", "keep"]
AS = {"sum": sum, "min": min, "max": max}
FAR = 10**15
SOME = settings(max_examples=80, deadline=None)
rows = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 5), st.integers(-1000, 1000)), min_size=1, max_size=30)


def columns(given: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    code, tuples, total = zip(*given, strict=True) if given else ((), (), ())
    return np.array(code, np.int64), np.array(tuples, np.int64), np.array(total, float)


@pytest.mark.parametrize("fold", ["sum", "min", "max"])
@SOME
@given(given_rows=rows, far=st.booleans())
def test_rows_of_equal_code_become_one(fold: Fold, given_rows: list[tuple[int, int, int]], far: bool) -> None:
    given_rows = [*given_rows, (FAR, 1, 7)] if far else given_rows
    expected: dict[int, list[tuple[int, int]]] = {}
    for code, tuples, total in given_rows:
        expected.setdefault(code, []).append((tuples, total))
    found = merge(fold, *columns(given_rows))
    assert {code: (n, total) for code, n, total in zip(*map(np.ndarray.tolist, found), strict=True)} == {
        code: (sum(n for n, _ in held), AS[fold](total for _, total in held)) for code, held in expected.items()
    }


def test_with_keep_all_stay() -> None:
    given_rows = columns([(1, 1, 5), (1, 1, 5), (0, 1, 2)])
    assert [column.tolist() for column in merge("keep", *given_rows)] == [column.tolist() for column in given_rows]


@pytest.mark.parametrize("fold", FOLDS)
@SOME
@given(data=st.data(), held=rows)
def test_what_windows_hold(fold: Fold, data, held: list[tuple[int, int, int]]) -> None:
    held = [(code, 1 if fold == "keep" else tuples, total) for code, tuples, total in held]
    pairs = st.tuples(st.sampled_from([-3, 0, 1, 2, FAR]), st.integers(0, len(held) - 1))
    drawn = data.draw(st.lists(pairs, max_size=40), label="window and row")
    expected: dict[int, list[tuple[int, int]]] = {}
    for window, row in drawn:
        expected.setdefault(window, []).append(held[row][1:])
    window, row = (np.array([one[i] for one in drawn], np.int64) for i in (0, 1))
    _, tuples, total = columns(held)
    found, many, flat = gather(fold, window, row, tuples, total)
    assert dict(zip(found.tolist(), many.tolist(), strict=True)) == {
        code: sum(n for n, _ in rows) for code, rows in expected.items()
    }
    if fold == "keep":
        parts = np.split(flat, np.cumsum(many))[:-1] if len(many) else []
        values = {code: part.tolist() for code, part in zip(found.tolist(), parts, strict=True)}
        assert values == {code: sorted(value for _, value in rows) for code, rows in expected.items()}
    else:
        assert dict(zip(found.tolist(), flat.tolist(), strict=True)) == {
            code: AS[fold](value for _, value in rows) for code, rows in expected.items()
        }


def test_values_are_told_apart_however_near_or_far() -> None:
    values = np.array([1e308, -1e308, 5e-324, 0.0, 1.0, np.nextafter(1.0, 2)])
    _, many, flat = gather("keep", np.zeros(6, np.int64), np.arange(6), np.ones(6, np.int64), values)
    assert (many.tolist(), flat.tolist()) == ([6], sorted(values.tolist()))
