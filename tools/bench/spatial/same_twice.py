"""The same contestant twice in a comparison: only differences beyond its own spread count (an A/A row)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from bench.progress import Row
from bench.verdicts import Tables, select

AGAIN = ", again"
"""Follows the name of the second of two equal contestants."""


def with_again(contestants: Mapping[str, Callable[[], Row]], name: str) -> dict[str, Callable[[], Row]]:
    """Return the contestants, and one of them a second time as the last."""
    return {**contestants, name + AGAIN: contestants[name]}


def same_twice(passes: dict[str, list[Row]], name: str, measure: str) -> Row:
    """Remove the passes of the second of two equal contestants, and return its ratios to the first, round by round."""
    again = passes.pop(name + AGAIN)
    ratios = [float(two[measure] / one[measure]) for one, two in zip(passes[name], again, strict=True)]
    described = {"the same twice": name, "measure": measure, "rounds": len(ratios)}
    return described | {"median ×": statistics.median(ratios), "lowest ×": min(ratios), "highest ×": max(ratios)}


def spread(tables: Tables, name: str, **wanted: Any) -> float:
    """Return the largest deviation from 1 in rows of a table of equal contestants.

    Raises
    ------
    LookupError
        When there are none: no difference of the comparison can be judged.
    """
    rows = select(tables.get(name, ()), **wanted)
    if not rows:
        raise LookupError(f"{name} has no row with {wanted}")
    return float(max(max(row["highest ×"] - 1, 1 - row["lowest ×"]) for row in rows))
