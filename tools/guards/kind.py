"""Guards of the room `kind`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "a promise is of numbers, where it names no columns",
        "kind/column_errors.py",
        "return numeric or kind.names",
        "return kind.names",
        ("tests/unit/correction/test_quality_by_answer.py",),
    ),
    Mutation(
        "a pair that several tasks find is given by one: the task's own form of the kind runs",
        "kind/capabilities.py",
        "return kind if own is None else own(task_slot)",
        "return kind",
        ("tests/unit/kind/test_capabilities.py",),
    ),
)
