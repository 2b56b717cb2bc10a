"""The k best rows of each group, against sorting each group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.topk import best
from tailrace.topk.best import Best, contenders, order_of

# (group, score, id)
ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-4, 4).map(float), st.integers(0, 9)), max_size=60)


def columns(rows) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    group, score, name = zip(*rows, strict=True) if rows else ((),) * 3
    own = {"score": np.array(score, float), "id": np.array([f"t{n}" for n in name], object)}
    return np.array(group, np.int64), own | {"tuples": np.ones(len(group), np.int64)}


def ranked(rows, k: int, descending: bool) -> list[tuple[int, float, str]]:
    """By group, and then the k best by score and id."""
    found = []
    for group in sorted({row[0] for row in rows}):
        mine = [(-score if descending else score, f"t{name}") for g, score, name in rows if g == group]
        found += [(group, -score if descending else score, name) for score, name in sorted(mine)[:k]]
    return found


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(1, 6), st.booleans())
def test_the_k_best_of_each_group_by_score_and_then_by_id(rows, k, descending):
    code, found = Best(k, descending, pa.string()).merge(*columns(rows))
    assert list(zip(code.tolist(), found["score"].tolist(), found["id"].tolist(), strict=True)) == ranked(
        rows, k, descending
    )
    for group in {row[0] for row in rows}:
        assert found["tuples"][code == group].sum() == sum(row[0] == group for row in rows)
        assert found["tuples"][code == group][0] == found["tuples"][code == group].sum(), "the best one counts all"


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 6), st.data())
def test_the_best_of_the_best_of_parts_are_the_best_of_all(rows, k, data):
    of = Best(k, True, pa.string())
    cut = data.draw(st.integers(0, len(rows)))
    parts = [of.merge(*columns(part)) for part in (rows[:cut], rows[cut:])]
    both = {name: np.concatenate([part[1][name] for part in parts]) for name in parts[0][1]}
    code, found = of.merge(np.concatenate([part[0] for part in parts]), both)
    whole, expected = of.merge(*columns(rows))
    assert code.tolist() == whole.tolist()
    assert {name: column.tolist() for name, column in found.items()} == {
        name: column.tolist() for name, column in expected.items()
    }


def test_a_windows_rows_are_numbered_and_count_all_of_it():
    _, own = columns([(0, 1.0, 1), (0, 5.0, 2), (1, 3.0, 3), (1, 9.0, 4)])
    own["tuples"] = np.array([10, 20, 30, 40])
    window, row = np.array([7, 7, 7, 8]), np.array([0, 1, 3, 2])
    window, found = Best(2, True, pa.string()).answer(window, row, own)
    assert window.tolist() == [7, 7, 8]
    assert {name: column.tolist() for name, column in found.items()} == {
        "rank": [1, 2, 1],
        "id": ["t4", "t2", "t3"],
        "score": [9.0, 5.0, 3.0],
        "tuples": [70, 70, 30],
    }


@pytest.mark.parametrize("groups", [1, 3, 40])
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("local", [False, True], ids=["groups side by side", "groups one after another"])
def test_only_what_k_before_it_are_better_than_is_left_out(monkeypatch, groups, k, local):
    monkeypatch.setattr(best, "_FEW", 50)
    rng, n = np.random.default_rng(groups * k), 20_000
    names = rng.permutation(n)
    for scores in (rng.normal(size=n), rng.integers(0, 4, n).astype(float), np.zeros(n), np.sort(rng.normal(size=n))):
        code = np.sort(rng.integers(-groups, 0, n)) if local else rng.integers(-groups, 0, n)
        found = contenders(code, scores, k, names.__getitem__)
        assert len(np.unique(found)) == len(found)
        for group in range(-groups, 0):
            mine, left = np.flatnonzero(code == group), set(found[code[found] == group].tolist())
            so_far: list[tuple[float, int]] = []
            for row in mine.tolist():
                own = (scores[row], names[row])
                assert row in left or sum(one < own for one in so_far) >= k
                so_far = sorted([*so_far, own])[:k]


@pytest.mark.parametrize("local", [False, True], ids=["groups side by side", "groups one after another"])
@pytest.mark.parametrize("scores", [None, 3], ids=["hardly two alike", "three scores"])
def test_few_of_many_are_left(local, scores):
    rng, n = np.random.default_rng(1), 500_000
    code = np.sort(rng.integers(0, 10, n)) if local else rng.integers(0, 10, n)
    score = rng.normal(size=n) if scores is None else rng.integers(0, scores, n).astype(float)
    assert len(contenders(code, score, 5, np.arange(n).__getitem__)) < n / 100


@pytest.mark.parametrize("ids", [["t10", "t9", "é", "t9", "z", "", "𝄞", "\uffff"], [3, -1, 2**60, 3]])
def test_ids_are_in_the_order_that_python_has(ids):
    order = order_of(pa.array(ids)).tolist()
    assert [ids[place] for place in sorted(range(len(ids)), key=order.__getitem__)] == sorted(ids)
    assert [[a < b for a in order] for b in order] == [[a < b for a in ids] for b in ids]


def test_a_group_without_a_bound_yet_loses_nothing():
    """Its scores are the worst there are, and another group has filled up before it."""
    group, worse = np.repeat([0, 1], [400, 4600]), np.repeat([0.0, np.inf], [400, 4600])
    found = contenders(group, worse, 5, np.arange(5000).__getitem__)
    assert set(range(400, 405)) <= set(found.tolist())


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_nothing_of_nothing(kind):
    of = Best(3, True, kind)
    empty = {name: pa.array([], each).to_numpy(zero_copy_only=False) for name, each in of.types.items()}
    none = np.zeros(0, np.int64)
    assert [len(part) for part in (of.merge(none, empty)[0], of.answer(none, none, empty)[0])] == [0, 0]
