"""Policy `quantile` keeps its promise on both games of the paper and under bursts; a shorter run of the benchmark."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from bench.aggregate import games
from bench.aggregate.games import ERROR, PROMISE, RISK, GameCase
from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from bench.simulate import WINDOW, RecordedStream
from tailrace.aggregate.accuracy import relative
from tailrace.disorder.policies import settings_of
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import stamp

TICK = 100


@pytest.mark.needs("long")
@pytest.mark.parametrize("huge", [False, True], ids=["", "huge"])
@pytest.mark.parametrize("bursts", [False, True], ids=["", "bursts"])
@pytest.mark.parametrize("game", games.GAMES)
def test_the_promise_is_kept(game, bursts, huge, monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 350)  # covers five bursts, of which the first is unforeseeable
    ours = games.run(GameCase(game, bursts, huge).table(), "quantile", PROMISE)
    assert len(ours.windows) > 3500
    assert ours.off(ERROR) <= RISK


@pytest.mark.needs("long")
@pytest.mark.parametrize("game", games.GAMES)
def test_the_mean_k_is_near_the_smallest_constant_k(game, monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 220)
    table = GameCase(game).table()
    # A constant K is measured in whole ticks.
    assert games.run(table, "quantile", PROMISE).mean_k_ms <= games.smallest_fixed(table).mean_k_ms + TICK / 2


@pytest.mark.needs("long")
@pytest.mark.parametrize("game", games.GAMES)
def test_the_promise_is_kept_from_the_start_with_at_most_half_more_than_the_smallest_k(game, monkeypatch):
    # The first 90 s of streams so sparse that K = 0 keeps the promise on neither game. K is the mean over three seeds,
    # since chance in the first windows moves that of a single one.
    monkeypatch.setattr(games, "SECONDS", 90)
    monkeypatch.setattr(games, "RATE", 200)
    ours, least = 0.0, 0.0
    tables = [GameCase(game, seed=seed).table() for seed in (1, 2, 3)]
    assert not any(one.equals(other) for one, other in combinations(tables, 2)), "each seed is another stream"
    for table in tables:
        result = games.run(table, "quantile", PROMISE)
        is_early = result.windows["window_end"] < result.windows["window_end"].min() + 60_000
        assert (result.windows["error"][is_early] >= ERROR).mean() <= RISK
        assert result.off(ERROR) <= RISK
        ours, least = ours + result.mean_k_ms, least + games.smallest_fixed(table).mean_k_ms
    assert 0 < ours <= 1.5 * least


@pytest.mark.needs("long")
@pytest.mark.parametrize("function", ["avg", "max", "median", "quantile"])
def test_the_promise_is_kept_for_other_functions(function, monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 220)
    ours = games.run(GameCase("game2").table(), "quantile", PROMISE, function)
    assert len(ours.windows) > 2000
    assert ours.off(ERROR) <= RISK


SEVERAL = {
    "total": {"function": "sum", "column": "value"},
    "large": {"function": "count", "where": "value > 20"},
    "p90": {"function": "quantile", "q": 0.9, "column": "value"},
    "spread": {"function": "stddev", "column": "value"},
    "share": {"expression": "large / tuples"},
}


def off_by_answer(of: list[str] | None) -> tuple[dict[str, float], float]:
    """The share of windows off by answer, and the mean K in ms, of a promise of some answers over game 2."""
    table = GameCase("game2").table()
    query = games.query("quantile", PROMISE | {"of": of}, aggregate=SEVERAL)
    memory = MemoryFormat({"readings": table})
    pipeline, tuples = pipeline_in_memory(query, {"readings": memory}), RecordedStream.read(query, table).tuples
    engine, facts = LocalEngine(pipeline, restarts=False), stamp((), "settings", settings_of(query.policy), 0, "test")
    engine.run(BatchHeader(0, facts, closes=True, ends=True), memory.segments("readings"))
    streamed = [each.step.answers.to_pandas() for each in engine.newest if each.step.answers.num_rows]
    (answers,) = streamed
    exact = pipeline.kind.evaluate(tuples).to_pandas()
    both: Any = exact.merge(answers, how="left", on=WINDOW, suffixes=("", "_streamed"))
    assert len(both) > 1400
    off = {name: relative(both[f"{name}_streamed"].to_numpy(float), both[name].to_numpy(float)) for name in SEVERAL}
    return {name: float((error >= ERROR).mean()) for name, error in off.items()}, float(np.mean(engine.frontier.k_ms))


@pytest.mark.needs("long")
def test_the_promise_is_kept_by_each_of_several_answers(monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 150)
    off, mean_k_ms = off_by_answer(None)
    assert max(off.values()) <= RISK
    some, least_k_ms = off_by_answer(["p90"])
    assert some["p90"] <= RISK
    assert max(some.values()) > RISK, "another answer would have needed more"
    assert least_k_ms < mean_k_ms
