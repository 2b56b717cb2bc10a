"""Guards of the room `aggregate`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "promises: a function without a coverage threshold",
        "aggregate/promise.py",
        "if known.threshold is None:",
        "if False:",
        ("tests/unit/aggregate/test_promise.py",),
    ),
    Mutation(
        "promises: a function of some tuples without a coverage threshold",
        "aggregate/promise.py",
        "if has_condition and known.threshold_of_part is None:",
        "if False:",
        ("tests/unit/aggregate/test_promise.py",),
    ),
    Mutation(
        "promises: a null is right beside a null alone",
        "aggregate/promised.py",
        "np.where(is_null | is_null[true], is_null != is_null[true], ~is_near)",
        "~is_near",
        ("tests/unit/aggregate/test_required_slack.py",),
    ),
    Mutation(
        "promises: the largest threshold of the answers",
        "aggregate/promised.py",
        "return max(each.threshold(",
        "return min(each.threshold(",
        ("tests/unit/aggregate/test_populations.py",),
    ),
    Mutation(
        "promises: windows without a value say nothing of values",
        "aggregate/populations.py",
        "has_values = tuples > 0",
        "has_values = tuples >= 0",
        ("tests/unit/aggregate/test_populations.py",),
    ),
    Mutation(
        "promises: a count of some tuples varies",
        "aggregate/populations.py",
        "_takes_part(self.aggregate) and bool((total != tuples).any())",
        "False",
        ("tests/unit/aggregate/test_populations.py",),
    ),
    Mutation(
        "promises: an answer that is no number",
        "aggregate/error_model.py",
        "if name not in self._numbers",
        "if not name",
        ("tests/unit/aggregate/test_named_runs.py",),
    ),
    Mutation(
        "promises: numbers that none needs are no nulls in the sample",
        "aggregate/sample.py",
        "is_number = pa.types.is_int64(dtype) or pa.types.is_float64(dtype)",
        "is_number = False",
        ("tests/unit/aggregate/test_sample.py",),
    ),
    Mutation(
        "promises: of answers, one at least a number",
        "aggregate/error_model.py",
        "if of is None and not self._numbers:",
        "if False:",
        ("tests/unit/aggregate/test_named_runs.py",),
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
        "aggregate/amend.py",
        "        is_known &= is_fit\n",
        "",
        ("tests/unit/aggregate/test_named_kind.py",),
    ),
    Mutation(
        "named aggregates: a streamed sum that is null is left to history",
        "aggregate/amend.py",
        'if each.function == "sum":',
        "if False:",
        ("tests/unit/aggregate/test_named_kind.py",),
    ),
    Mutation(
        "named aggregates: a function refuses columns of other types",
        "aggregate/kind.py",
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
