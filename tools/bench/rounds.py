"""Rounds in which contestants take turns; the first one is dropped, and ratios are computed within rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from numbers import Number

from bench.progress import Echo, Row

Passes = dict[str, list[Row]]
"""The figures of each contestant, a row for each round that counts."""


def interleaved(contestants: Mapping[str, Callable[[], Row]], rounds: int, measure: str, echo: Echo) -> Passes:
    """Let each contestant run once a round, and report a measure of each as it ends; one more round is dropped."""
    passes: Passes = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, run in contestants.items():
            row = run()
            passes[name] += [row] if number else []
            echo(f"  round {number}{'' if number else ' (dropped)'} {name}: {row[measure]:,.4g} {measure}")
    return passes


def medians(rows: Sequence[Row]) -> Row:
    """Return the median of each number; for other values the last one."""
    return {
        name: statistics.median(row[name] for row in rows) if isinstance(value, Number) else value
        for name, value in rows[-1].items()
    }


def median_ratio(rows: Sequence[Row], others: Sequence[Row], measure: str) -> float:
    """Return the median of the ratios of a measure to another contestant's, round by round."""
    return statistics.median(float(row[measure] / other[measure]) for row, other in zip(rows, others, strict=True))
