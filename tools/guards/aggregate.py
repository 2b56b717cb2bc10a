"""Guards of the room `aggregate`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "a function that promises nothing",
        "aggregate/promise.py",
        "if function not in promising:",
        "if False:",
        ("tests/unit/aggregate/test_promise.py",),
    ),
    Mutation(
        "a function: an accumulator that keeps values has no other column",
        "aggregate/function.py",
        'if "keep" in self.folds and len(self.folds) > 1:',
        "if False:",
        ("tests/properties/test_added_function.py",),
    ),
)
