"""Guards of the room `operators`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "interval join: each side is stored for its own bound",
        "operators/interval_join.py",
        "side.append(rows, frontier.last - kept, sort_key)",
        "side.append(rows, frontier.last - max(kept_ms), sort_key)",
        ("tests/unit/operators/test_interval_join.py",),
    ),
    Mutation(
        "interval join: each side is met for its own bound",
        "operators/interval_join.py",
        "right_time + kept_ms[1])",
        "right_time + kept_ms[0])",
        ("tests/unit/operators/test_interval_join.py",),
    ),
)
