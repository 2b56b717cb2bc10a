"""Guards of the room `disorder`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "t_max: what is ahead of it has no negative delay",
        "disorder/aq_k_slack.py",
        "np.maximum(stats.t_max - stats.ticks.min_event, 0)",
        "stats.t_max - stats.ticks.min_event",
        ("tests/unit/disorder/test_hybrid.py",),
    ),
    Mutation(
        "quiet: windows ahead of arrival stay open",
        "disorder/clock.py",
        "if self.furthest <= passed_ms else newest",
        "if self.furthest else newest",
        ("tests/unit/engine/test_task.py",),
    ),
)
