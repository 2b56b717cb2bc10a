"""Guards of the room `emd_join`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "emd join: loads have the distances of two queries",
        "emd_join/results.py",
        "between_queries = self.solved_by_query[query] - candidates.solved.sum()",
        "between_queries = 0",
        ("tests/unit/emd_join/test_searches.py",),
    ),
)
