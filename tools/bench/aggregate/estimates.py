"""Experiment on scaled early answers: game 2 with and without `estimate`, on the same tuples."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.aggregate.games import ERROR, PROMISE, RISK, SEEDS, GameCase, run
from bench.progress import Echo, Row
from bench.simulate import Simulated
from bench.verdicts import Tables, one, select

POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "K = 0": ("none", {}),
    "K = 300 ms": ("k_slack", {"k": "300 ms"}),
    "quantile": ("quantile", PROMISE),
}
_CHANGES: tuple[dict[str, bool], ...] = ({}, {"bursts": True}, {"keyed": True})
_MOST_K_MS = 20
"""What the mean K with `estimate` may be on game 2 as it is."""


def estimates(echo: Echo) -> list[Row]:
    """Compare plain and scaled answers in each case under each policy, over ten seeds; a row for each pair of runs."""
    rows = []
    for changes in _CHANGES:
        for seed in SEEDS:
            case = GameCase("game2", **changes, seed=seed)
            table = case.table()
            for name, (policy, settings) in POLICIES.items():
                plain, scaled = (
                    run(table, policy, settings, **case.declared, estimate=is_scaled) for is_scaled in (False, True)
                )
                row: Row = {"case": case.name, "policy": name, "seed": seed}
                rows.append(row | _compare(plain, scaled))
                cells = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in rows[-1].values())
                echo("  ".join(cells))
    return rows


def conclusion(tables: Tables) -> str:
    """Say whether what must hold of scaled answers does, by the tables `estimates` and `every estimate`."""
    promised = one(tables["estimates"], case=GameCase("game2").name, policy="quantile")
    k_ms, off = promised["mean K ms, scaled, most"], promised["off, scaled, most"]
    pairs = select(tables["every estimate"], case=GameCase("game2", keyed=True).name)
    worse = sum(pair["off, scaled"] > pair["off, plain"] for pair in pairs)
    fast, never = _verdict(k_ms <= _MOST_K_MS and off <= RISK), _verdict(not worse)
    return (
        f"Game 2 as it is, at ({ERROR}, {RISK}) with `estimate`: a mean K of at most {_MOST_K_MS} ms, and at most "
        f"{RISK:.0%} off {fast}: no seed has more than {k_ms:.3g} ms and {off:.2%}. By sensor, never more answers off "
        f"than without {never}: more are off in {worse or 'none'} of {len(pairs)} pairs of runs."
        f"{_stopped(tables)}"
    )


def _stopped(tables: Tables) -> str:
    """Return a sentence about the cases that lack seeds, as the measurement was stopped; empty where none does."""
    seeds = {row["case"]: row["seeds"] for row in tables["estimates"] if row["seeds"] < len(SEEDS)}
    lacking = ", ".join(f"{case} {measured} of {len(SEEDS)}" for case, measured in seeds.items())
    return f" This measurement was stopped before it had all seeds ({lacking})." if lacking else ""


def _verdict(holds: bool) -> str:
    return "**holds**" if holds else "**does not hold**"


def _compare(plain: Simulated, scaled: Simulated) -> Row:
    """Return the shares off and the mean K of both runs, the share of scaled answers and of intervals that hold."""
    answers = scaled.answers.merge(scaled.exact, on=["key", "window_end"], suffixes=("", "_exact"))
    estimated = answers[answers["value_low"].notna()]
    holds = estimated["value_exact"].between(estimated["value_low"], estimated["value_high"])
    return {
        "off, plain": plain.off(ERROR),
        "off, scaled": scaled.off(ERROR),
        "mean K ms, plain": plain.mean_k_ms,
        "mean K ms, scaled": scaled.mean_k_ms,
        "share scaled": len(estimated) / len(answers),
        "share held": float(np.mean(holds)) if len(estimated) else None,
    }
