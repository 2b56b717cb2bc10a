"""`quantile` keeps what it promises, on both games of the paper and under bursts, in a part of the bench's time."""

from __future__ import annotations

import pytest

from tailrace.bench.aggregate import games
from tailrace.bench.aggregate.games import ERROR, PROMISE, RISK, Case

TICK = 100


@pytest.mark.parametrize("huge", [False, True], ids=["", "huge"])
@pytest.mark.parametrize("bursts", [False, True], ids=["", "bursts"])
@pytest.mark.parametrize("game", games.GAMES)
def test_the_promise_is_kept(game, bursts, huge, monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 350)  # with the first burst, which nobody can know of, and four more
    ours = games.run(Case(game, bursts, huge).table(), "quantile", PROMISE)
    assert len(ours.windows) > 3500
    assert ours.off(ERROR) <= RISK


@pytest.mark.parametrize("game", games.GAMES)
def test_it_waits_not_much_longer_than_the_least_k(game, monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 220)
    table = Case(game).table()
    # What a constant K comes to is whole ticks.
    assert games.run(table, "quantile", PROMISE).mean_k_ms <= games.smallest_fixed(table).mean_k_ms + TICK / 2


@pytest.mark.parametrize("game", games.GAMES)
def test_it_begins_with_the_promise_and_with_little_more_than_the_least_k(game, monkeypatch):
    # The first 90 s of streams with so few tuples that a K of 0 keeps the promise on neither game; K of the three
    # together, since what the first windows hold by chance moves a single one.
    monkeypatch.setattr(games, "SECONDS", 90)
    monkeypatch.setattr(games, "RATE", 200)
    ours, least = 0.0, 0.0
    for seed in (1, 2, 3):
        monkeypatch.setattr(games, "SEED", seed)
        table = Case(game).table()
        found = games.run(table, "quantile", PROMISE)
        first = found.windows["window_end"] < found.windows["window_end"].min() + 60_000
        assert (found.windows["error"][first] >= ERROR).mean() <= RISK
        assert found.off(ERROR) <= RISK
        ours, least = ours + found.mean_k_ms, least + games.smallest_fixed(table).mean_k_ms
    assert 0 < ours <= 1.5 * least


@pytest.mark.parametrize("function", ["avg", "max", "median", "quantile"])
def test_it_is_kept_for_other_functions(function, monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 220)
    ours = games.run(Case("game2").table(), "quantile", PROMISE, function)
    assert len(ours.windows) > 2000
    assert ours.off(ERROR) <= RISK
