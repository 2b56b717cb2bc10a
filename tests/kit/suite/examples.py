"""How Hypothesis draws examples: a share of those that each property names, by one profile for all tests.

The gate draws a tenth of them, the whole suite all. Both draw the same ones at each run, and no clock judges them.
pytest's `--hypothesis-seed=7` draws others.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

_ALL = 100
"""The examples of a property that names no number, in the whole suite."""


def load_profile(share: float, seed: str | None) -> None:
    """Load the profile of all tests, which draws the same examples at each run unless there is a seed."""
    settings.register_profile(
        "tailrace",
        max_examples=round(_ALL * share),
        derandomize=seed is None,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    settings.load_profile("tailrace")


def drawn(examples: int, **others: Any) -> settings:
    """Return the settings of a property that draws the profile's share of so many examples; at least one."""
    return settings(max_examples=max(1, round(examples * settings().max_examples / _ALL)), **others)
