"""Guards of the room `operators`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import COST

MUTATIONS = (
    Mutation(
        "interval join: pairs are taken without a copy of the state",
        "operators/interval_join.py",
        "return take(self.columns, index)",
        "return self.columns.take(pa.array(index))",
        (f"{COST}[interval]",),
    ),
    Mutation(
        "window join: pairs are taken without a copy of the state",
        "operators/window_join.py",
        'take(table.select(["id", "event_time", *more]), rows[row])',
        'table.select(["id", "event_time", *more]).take(pa.array(rows[row]))',
        (f"{COST}[window]",),
    ),
    Mutation(
        "a large state: chunks are not merged without end",
        "operators/chunked_rows.py",
        "later.num_rows >= earlier.num_rows and is_small",
        "later.num_rows >= earlier.num_rows",
        (f"{COST}[interval]",),
    ),
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
