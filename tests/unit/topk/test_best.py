"""The k best rows of each group, against sorting each group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.topk import best
from tailrace.topk.best import Best, contenders, order_of

pytestmark = pytest.mark.slow

# (group, score, id)
ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-4, 4).map(float), st.integers(0, 9)), max_size=60)


def columns(rows) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    group, score, name = zip(*rows, strict=True) if rows else ((),) * 3
    own = {"score": np.array(score, float), "id": np.array([f"t{n}" for n in name], object)}
    return np.array(group, np.int64), own | {"tuples": np.ones(len(group), np.int64)}


def ranked(rows, k: int, descending: bool) -> list[tuple[int, float, str]]:
    """The k best of each group by score and then by id, one group after another."""
    result = []
    for group in sorted({row[0] for row in rows}):
        members = [(-score if descending else score, f"t{name}") for g, score, name in rows if g == group]
        result += [(group, -score if descending else score, name) for score, name in sorted(members)[:k]]
    return result


@drawn(200)
@given(ROWS, st.integers(1, 6), st.booleans())
def test_the_k_best_of_each_group_by_score_and_then_by_id(rows, k, descending):
    code, best_rows = Best(k, descending, pa.string()).merge(*columns(rows))
    assert list(zip(code.tolist(), best_rows["score"].tolist(), best_rows["id"].tolist(), strict=True)) == ranked(
        rows, k, descending
    )
    for group in {row[0] for row in rows}:
        assert best_rows["tuples"][code == group].sum() == sum(row[0] == group for row in rows)
        assert best_rows["tuples"][code == group][0] == best_rows["tuples"][code == group].sum(), (
            "the best one counts all"
        )


@drawn(60)
@given(ROWS, st.integers(1, 6), st.data())
def test_merging_is_associative_over_parts(rows, k, data):
    summary = Best(k, True, pa.string())
    cut = data.draw(st.integers(0, len(rows)))
    parts = [summary.merge(*columns(part)) for part in (rows[:cut], rows[cut:])]
    candidates = {name: np.concatenate([part[1][name] for part in parts]) for name in parts[0][1]}
    code, best_rows = summary.merge(np.concatenate([part[0] for part in parts]), candidates)
    whole, expected = summary.merge(*columns(rows))
    assert code.tolist() == whole.tolist()
    assert {name: column.tolist() for name, column in best_rows.items()} == {
        name: column.tolist() for name, column in expected.items()
    }


def test_an_answer_ranks_the_rows_of_a_window_and_counts_all_its_tuples():
    _, own = columns([(0, 1.0, 1), (0, 5.0, 2), (1, 3.0, 3), (1, 9.0, 4)])
    own["tuples"] = np.array([10, 20, 30, 40])
    window, row = np.array([7, 7, 7, 8]), np.array([0, 1, 3, 2])
    window, ranking = Best(2, True, pa.string()).answer(window, row, own)
    assert window.tolist() == [7, 7, 8]
    assert {name: column.tolist() for name, column in ranking.items()} == {
        "rank": [1, 2, 1],
        "id": ["t4", "t2", "t3"],
        "score": [9.0, 5.0, 3.0],
        "tuples": [70, 70, 30],
    }


@pytest.mark.needs("long")
@pytest.mark.parametrize("groups", [1, 3, 40])
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("local", [False, True], ids=["groups side by side", "groups one after another"])
def test_a_row_is_left_out_only_if_k_earlier_rows_of_its_group_are_better(monkeypatch, groups, k, local):
    monkeypatch.setattr(best, "FEW", 50)
    rng, n = np.random.default_rng(groups * k), 20_000
    names = rng.permutation(n)
    for scores in (rng.normal(size=n), rng.integers(0, 4, n).astype(float), np.zeros(n), np.sort(rng.normal(size=n))):
        code = np.sort(rng.integers(-groups, 0, n)) if local else rng.integers(-groups, 0, n)
        places = contenders(code, scores, k, names.__getitem__)
        assert len(np.unique(places)) == len(places)
        for group in range(-groups, 0):
            members, selected = np.flatnonzero(code == group), set(places[code[places] == group].tolist())
            earlier: list[tuple[float, int]] = []
            for row in members.tolist():
                own = (scores[row], names[row])
                assert row in selected or sum(one < own for one in earlier) >= k
                earlier = sorted([*earlier, own])[:k]


@pytest.mark.parametrize("local", [False, True], ids=["groups side by side", "groups one after another"])
@pytest.mark.parametrize("scores", [None, 3], ids=["hardly two alike", "three scores"])
def test_few_of_many_rows_are_contenders(local, scores):
    rng, n = np.random.default_rng(1), 500_000
    code = np.sort(rng.integers(0, 10, n)) if local else rng.integers(0, 10, n)
    score = rng.normal(size=n) if scores is None else rng.integers(0, scores, n).astype(float)
    assert len(contenders(code, score, 5, np.arange(n).__getitem__)) < n / 100


@pytest.mark.parametrize("ids", [["t10", "t9", "é", "t9", "z", "", "𝄞", "\uffff"], [3, -1, 2**60, 3]])
def test_ids_are_in_the_order_of_python(ids):
    order = order_of(pa.array(ids)).tolist()
    assert [ids[index] for index in sorted(range(len(ids)), key=order.__getitem__)] == sorted(ids)
    assert [[a < b for a in order] for b in order] == [[a < b for a in ids] for b in ids]


def test_the_best_rows_of_a_group_without_a_bound_are_contenders():
    """Its scores are the worst possible, and the other group has its k rows before the first of them."""
    group, worse = np.repeat([0, 1], [400, 4600]), np.repeat([0.0, np.inf], [400, 4600])
    places = contenders(group, worse, 5, np.arange(5000).__getitem__)
    assert set(range(400, 405)) <= set(places.tolist())


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_no_rows_have_no_best_rows(kind):
    summary = Best(3, True, kind)
    empty = {
        name: pa.array([], arrow_type).to_numpy(zero_copy_only=False) for name, arrow_type in summary.types.items()
    }
    no_codes = np.zeros(0, np.int64)
    assert [
        len(part) for part in (summary.merge(no_codes, empty)[0], summary.answer(no_codes, no_codes, empty)[0])
    ] == [0, 0]
