"""Guards of the room `sources`: the scores that rank tuples."""

from __future__ import annotations

from guards.mutation import Mutation

SCORES = "tests/unit/topk/test_scores.py"

MUTATIONS = (
    Mutation(
        "top-k: scores that are null throughout have no type yet",
        "sources/columns.py",
        "(part in self.free and part not in self.required)",
        "(part in self.free)",
        (f"{SCORES}::test_scores_that_are_null_throughout_have_no_type_yet",),
    ),
    Mutation(
        "top-k: a null score is rejected",
        "sources/check.py",
        """        if is_required:
""",
        """        if False:
""",
        (f"{SCORES}::test_a_null_score_of_any_type_is_rejected",),
    ),
    Mutation(
        "top-k: a score that is not finite is rejected",
        "sources/check.py",
        "(columns.finite or is_required)",
        "columns.finite",
        (f"{SCORES}::test_a_record_without_a_score_or_with_one_that_is_not_finite_is_rejected",),
    ),
    Mutation(
        "top-k: texts of formats without types are numbers",
        "sources/columns.py",
        "        doubles |= {self.carried[part] for part in self.required}\n",
        "",
        (f"{SCORES}::test_in_formats_without_types_scores_are_numbers",),
    ),
    Mutation(
        "top-k: small integers of CSV are doubles",
        "sources/csv_types.py",
        "is_score and not _are_beyond_doubles(texts)",
        "False",
        (f"{SCORES}::test_in_formats_without_types_scores_are_numbers",),
    ),
    Mutation(
        "top-k: integers of JSON beyond 2^53 are no doubles",
        "sources/json_types.py",
        "abs(value) > MOST_EXACT",
        "False",
        (f"{SCORES}::test_in_formats_without_types_scores_are_numbers",),
    ),
)
