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


@pytest.mark.parametrize("function", ["avg", "max", "median", "quantile"])
def test_it_is_kept_for_other_functions(function, monkeypatch):
    monkeypatch.setattr(games, "SECONDS", 220)
    ours = games.run(Case("game2").table(), "quantile", PROMISE, function)
    assert len(ours.windows) > 2000
    assert ours.off(ERROR) <= RISK
