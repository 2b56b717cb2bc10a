"""What travels of a top-k query, against the tuples that it came from."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.topk import best, partials
from tailrace.topk.best import Best
from tailrace.topk.kind import TopK
from tailrace.topk.methods import METHODS
from tailrace.topk.partials import combine
from tailrace.windows.sliding import Sliding

TENS = Sliding(20, 10)

# (key, event time, tick, score, id)
TUPLES = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.integers(0, 29), st.integers(0, 5), st.integers(0, 5).map(float), st.integers(0, 99)
    ),
    max_size=120,
    unique_by=lambda one: one[4],
)


def batch(rows) -> pa.RecordBatch:
    key, event, tick, score, name = zip(*rows, strict=True) if rows else ((),) * 5
    columns = {"key": pa.array(key, pa.string()), "event_time": pa.array(event, pa.int64())}
    columns |= {"tick": pa.array(tick, pa.int64()), "id": pa.array([f"t{n:02d}" for n in name], pa.string())}
    return pa.RecordBatch.from_pydict(columns | {"score": pa.array(score, pa.float64())})


def combined(rows, k: int, across: bool) -> list[dict]:
    return combine(TENS, Best(k, True, pa.string()), batch(rows), across).to_pylist()


def of_part(rows, key: str, pane: int, until: int) -> list[tuple[float, str]]:
    """Key and pane, up to a tick: the best first."""
    mine = [
        (-s, f"t{n:02d}") for k, event, tick, s, n in rows if (k, event // 10 * 10) == (key, pane) and tick <= until
    ]
    return sorted(mine)


@pytest.fixture
def eager(monkeypatch):
    """Bounds for however few rows."""
    monkeypatch.setattr(best, "_FEW", 4)
    monkeypatch.setattr(best, "_WORTH", 1)
    monkeypatch.setattr(best, "_HEAD", 3)


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("table", [0, 4], ids=["by a search", "by a table"])
@pytest.mark.usefixtures("eager")
def test_the_best_of_each_pane_up_to_each_tick_are_there(monkeypatch, across, table):
    monkeypatch.setattr(partials, "_TABLE", table)

    @settings(max_examples=150, deadline=None)
    @given(TUPLES, st.integers(1, 3))
    def holds(rows, k):
        found = combined(rows, k, across)
        for key in "ab":
            for pane in (0, 10, 20):
                for until in range(6):
                    there = [one for one in found if (one["key"], one["pane"]) == (key, pane) and one["tick"] <= until]
                    ranked = sorted((-one["score"], one["id"]) for one in there)
                    assert ranked[:k] == of_part(rows, key, pane, until)[:k]
        counts = Counter((key, event // 10 * 10, tick) for key, event, tick, *_ in rows)
        told = Counter()
        for one in found:
            told[one["key"], one["pane"], one["tick"]] += one["tuples"]
        assert told == counts, "every tuple is counted, in its own tick"

    holds()


@pytest.mark.usefixtures("eager")
def test_a_tick_keeps_its_own_best_where_late_tuples_move():
    rows = [("a", i % 10, i // 20, float(i % 7), i) for i in range(60)]
    each = Counter(one["tick"] for one in combined(rows, 3, across=False))
    assert each == {0: 3, 1: 3, 2: 3}
    assert len(combined(rows, 3, across=True)) < 9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("eager")
def test_for_sma_late_tuples_may_matter_in_other_windows_than_their_own(method):
    rows = [("a", i % 10, i // 20, float(i % 7), i) for i in range(60)]
    kind = TopK(TENS, 3, True, {"score": "score"}, pa.string(), pa.string(), method)
    each = Counter(kind.combine(batch(rows)).column("tick").to_pylist())
    assert (each == {0: 3, 1: 3, 2: 3}) == (method == "sma")


def test_what_earlier_ticks_have_better_does_not_travel():
    rng, n = np.random.default_rng(2), 50_000
    rows = list(
        zip(
            ["a"] * n,
            (np.arange(n) // 2500).tolist(),
            (np.arange(n) // 100).tolist(),
            rng.normal(size=n),
            range(n),
            strict=True,
        )
    )
    found = combined(rows, 5, across=True)
    assert 500 <= len(found) < 700
    assert sum(one["tuples"] for one in found) == n
