"""The partials of a top-k query, against the tuples that they were combined from."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.topk import best, partials
from tailrace.topk.best import Best
from tailrace.topk.kind import TopK
from tailrace.topk.methods import METHODS
from tailrace.topk.partials import combine
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.slow

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


def best_first(rows, key: str, pane: int, until: int) -> list[tuple[float, str]]:
    """The tuples of a key and pane up to a tick, the best first."""
    places = [
        (-s, f"t{n:02d}") for k, event, tick, s, n in rows if (k, event // 10 * 10) == (key, pane) and tick <= until
    ]
    return sorted(places)


@pytest.fixture
def eager(monkeypatch):
    """Make the selection use bounds from a few rows on."""
    monkeypatch.setattr(best, "FEW", 4)
    monkeypatch.setattr(best, "WORTH", 1)
    monkeypatch.setattr(best, "HEAD", 3)


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("table", [0, 4], ids=["by a search", "by a table"])
@pytest.mark.usefixtures("eager")
def test_the_partials_hold_the_k_best_of_each_pane_up_to_each_tick(monkeypatch, across, table):
    monkeypatch.setattr(partials, "TABLE", table)

    @drawn(150)
    @given(TUPLES, st.integers(1, 3))
    def check(rows, k):
        partial_rows = combined(rows, k, across)
        for key in "ab":
            for pane in (0, 10, 20):
                for until in range(6):
                    pane_rows = [
                        row for row in partial_rows if (row["key"], row["pane"]) == (key, pane) and row["tick"] <= until
                    ]
                    ranked = sorted((-row["score"], row["id"]) for row in pane_rows)
                    assert ranked[:k] == best_first(rows, key, pane, until)[:k]
        tuple_counts = Counter((key, event // 10 * 10, tick) for key, event, tick, *_ in rows)
        partial_counts = Counter()
        for row in partial_rows:
            partial_counts[row["key"], row["pane"], row["tick"]] += row["tuples"]
        assert partial_counts == tuple_counts, "every tuple is counted, in its own tick"

    check()


@pytest.mark.usefixtures("eager")
def test_each_tick_keeps_its_own_k_best_unless_ticks_are_combined():
    rows = [("a", i % 10, i // 20, float(i % 7), i) for i in range(60)]
    counts_by_tick = Counter(row["tick"] for row in combined(rows, 3, across=False))
    assert counts_by_tick == {0: 3, 1: 3, 2: 3}
    assert len(combined(rows, 3, across=True)) < 9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("eager")
def test_only_for_sma_each_tick_keeps_its_own_k_best(method):
    rows = [("a", i % 10, i // 20, float(i % 7), i) for i in range(60)]
    kind = TopK(TENS, (), pa.string(), k=3, descending=True, method=method)
    counts_by_tick = Counter(kind.combine(batch(rows)).column("tick").to_pylist())
    assert (counts_by_tick == {0: 3, 1: 3, 2: 3}) == (method == "sma")


def test_tuples_below_the_k_best_of_earlier_ticks_are_not_sent():
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
    partial_rows = combined(rows, 5, across=True)
    assert 500 <= len(partial_rows) < 700
    assert sum(row["tuples"] for row in partial_rows) == n
