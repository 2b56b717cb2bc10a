"""Experiment on the policies of paper 002 in bursts: the answers that are off, and the slack K that it takes."""

from __future__ import annotations

from itertools import product

from bench.aggregate.games import ERROR, GAMES, PROMISE, RISK, SEEDS, GameCase, run
from bench.progress import Echo, Row
from bench.verdicts import Tables, one, select

PROMISING = ("hybrid", "aq_k_slack", "quantile")
"""The policies that promise (error, risk)."""

_PAPER, _OURS = "hybrid", "quantile"
_COMPARED = tuple(product(GAMES, (_PAPER, _OURS)))


def bursts(echo: Echo) -> list[Row]:
    """Run each game with bursts under each policy that promises, over ten seeds; a row for each run."""
    rows = []
    for game, seed in product(GAMES, SEEDS):
        table = GameCase(game, bursts=True, seed=seed).table()
        for policy in PROMISING:
            result = run(table, policy, PROMISE)
            row: Row = {"game": game, "policy": policy, "seed": seed, "off": result.off(ERROR)}
            longest_s = float(result.frontier.k_ms.max() / 1000)
            rows.append(row | {"mean K s": result.mean_k_ms / 1000, "largest K s": longest_s})
            echo(f"{game}, bursts, seed {seed}, {policy}: {row['off']:.2%} off, mean K {result.mean_k_ms:,.0f} ms")
    return rows


def conclusion(tables: Tables) -> str:
    """Say which policies keep the promise in bursts, and how long the paper's waits beside ours."""
    said = []
    for policy in PROMISING:
        runs = select(tables["every burst"], policy=policy)
        broken = sum(run["off"] > RISK for run in runs)
        said.append(f"`{policy}` " + (f"breaks it in {broken} of {len(runs)}" if broken else "keeps it in each"))
    waits = {(game, policy): one(tables["bursts"], game=game, policy=policy)["mean K s"] for game, policy in _COMPARED}
    ratios = " and ".join(f"{waits[game, _PAPER] / waits[game, _OURS]:,.0f}" for game in GAMES)
    return (
        f"Of the runs with each policy that promises ({ERROR}, {RISK}): {', '.join(said)}. `{_PAPER}` waits {ratios} "
        f"times as long as `{_OURS}` ({' and '.join(GAMES)}, by the medians of the mean K)."
    )
