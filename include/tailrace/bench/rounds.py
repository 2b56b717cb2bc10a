"""Rounds in which contestants take turns; the first one is dropped, and ratios are those of the same round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from numbers import Number

from tailrace.bench.progress import Row, Tell

Passes = dict[str, list[Row]]
"""The figures of each contestant, a row for each round that counts."""


def interleaved(contestants: Mapping[str, Callable[[], Row]], rounds: int, measure: str, tell: Tell) -> Passes:
    """Let each contestant run once a round, and tell a measure of each as it ends; one round more is dropped."""
    passes: Passes = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, run in contestants.items():
            row = run()
            passes[name] += [row] if number else []
            tell(f"  round {number}{'' if number else ' (dropped)'} {name}: {row[measure]:,.4g} {measure}")
    return passes


def medians(rows: Sequence[Row]) -> Row:
    """The median of each number; of other values the last one."""
    return {
        name: statistics.median(row[name] for row in rows) if isinstance(value, Number) else value
        for name, value in rows[-1].items()
    }


def median_ratio(rows: Sequence[Row], others: Sequence[Row], measure: str) -> float:
    """The median of the ratios of a measure to that of another contestant, round by round."""
    return statistics.median(float(row[measure] / other[measure]) for row, other in zip(rows, others, strict=True))
