"""Folds merge the rows of one group into one, or keep them all: against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate.folds import Fold, gather, merge

FOLDS: list[Fold] = ["sum", "min", "max", "keep"]
REDUCERS = {"sum": sum, "min": min, "max": max}
FAR = 10**15
SOME = settings(max_examples=80, deadline=None)
rows = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 5), st.integers(-1000, 1000)), min_size=1, max_size=30)


def columns(triples: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    code, tuples, total = zip(*triples, strict=True) if triples else ((), (), ())
    return np.array(code, np.int64), np.array(tuples, np.int64), np.array(total, float)


@pytest.mark.parametrize("fold", ["sum", "min", "max"])
@SOME
@given(triples=rows, far=st.booleans())
def test_rows_of_equal_code_merge(fold: Fold, triples: list[tuple[int, int, int]], far: bool) -> None:
    triples = [*triples, (FAR, 1, 7)] if far else triples
    expected: dict[int, list[tuple[int, int]]] = {}
    for code, tuples, total in triples:
        expected.setdefault(code, []).append((tuples, total))
    merged = merge((fold,), *columns(triples))
    assert {code: (n, total) for code, n, total in zip(*map(np.ndarray.tolist, merged), strict=True)} == {
        code: (sum(n for n, _ in members), REDUCERS[fold](total for _, total in members))
        for code, members in expected.items()
    }


def test_the_fold_keep_keeps_all_rows() -> None:
    triples = columns([(1, 1, 5), (1, 1, 5), (0, 1, 2)])
    assert [column.tolist() for column in merge(("keep",), *triples)] == [column.tolist() for column in triples]


@pytest.mark.parametrize("fold", FOLDS)
@SOME
@given(data=st.data(), triples=rows)
def test_gather_folds_the_rows_of_each_window(fold: Fold, data, triples: list[tuple[int, int, int]]) -> None:
    triples = [(code, 1 if fold == "keep" else tuples, total) for code, tuples, total in triples]
    pairs = st.tuples(st.sampled_from([-3, 0, 1, 2, FAR]), st.integers(0, len(triples) - 1))
    window_rows = data.draw(st.lists(pairs, max_size=40), label="window and row")
    expected: dict[int, list[tuple[int, int]]] = {}
    for window, row in window_rows:
        expected.setdefault(window, []).append(triples[row][1:])
    window, row = (np.array([pair[i] for pair in window_rows], np.int64) for i in (0, 1))
    _, tuples, total = columns(triples)
    codes, counts, flat = gather((fold,), window, row, tuples, total)
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == {
        code: sum(n for n, _ in rows) for code, rows in expected.items()
    }
    if fold == "keep":
        parts = np.split(flat, np.cumsum(counts))[:-1] if len(counts) else []
        values = {code: part.tolist() for code, part in zip(codes.tolist(), parts, strict=True)}
        assert values == {code: sorted(value for _, value in rows) for code, rows in expected.items()}
    else:
        assert dict(zip(codes.tolist(), flat.tolist(), strict=True)) == {
            code: REDUCERS[fold](value for _, value in rows) for code, rows in expected.items()
        }


def test_gather_sorts_values_however_close_or_far_apart() -> None:
    values = np.array([1e308, -1e308, 5e-324, 0.0, 1.0, np.nextafter(1.0, 2)])
    _, counts, flat = gather(("keep",), np.zeros(6, np.int64), np.arange(6), np.ones(6, np.int64), values)
    assert (counts.tolist(), flat.tolist()) == ([6], sorted(values.tolist()))
