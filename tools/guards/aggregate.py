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
    Mutation(
        "errors: a missing answer is no null that is right",
        "aggregate/accuracy.py",
        ") & (place >= 0)",
        ")",
        ("tests/unit/correction/test_quality_by_answer.py",),
    ),
    Mutation(
        "named aggregates: no name that tables have",
        "aggregate/named_section.py",
        "if name in RESERVED:",
        "if False:",
        ("tests/unit/aggregate/test_named_section.py",),
    ),
    Mutation(
        "named aggregates: an amended answer that its type does not hold is left to history",
        "aggregate/amend_all.py",
        "        is_known &= is_fit\n",
        "",
        ("tests/unit/aggregate/test_named_kind.py",),
    ),
    Mutation(
        "named aggregates: a streamed sum that is null is left to history",
        "aggregate/amend_all.py",
        'if each.function == "sum":',
        "if False:",
        ("tests/unit/aggregate/test_named_kind.py",),
    ),
    Mutation(
        "named aggregates: a function refuses columns of other types",
        "aggregate/named_kind.py",
        "if each.values is not None and not takes(each.function, each.values.dtype):",
        "if False:",
        ("tests/unit/aggregate/test_named_runs.py",),
    ),
    Mutation(
        "named aggregates: digits of a sum are carried",
        "aggregate/accumulators.py",
        "digit & _LOW, digit >> 32",
        "digit & _LOW, 0 * digit",
        ("tests/unit/aggregate/test_named_kind.py",),
    ),
    Mutation(
        "named aggregates: a group without a value holds nothing of another",
        "aggregate/chosen.py",
        "None if column.dtype == object else 0",
        "column[0]",
        ("tests/unit/aggregate/test_named_kind.py",),
    ),
)
