"""Guards of the room `disorder`."""

from __future__ import annotations

from guards.mutation import Mutation

LEVELS = (
    "tests/unit/disorder/quantile/test_policy.py"
    "::test_each_promised_answer_has_a_budget_and_the_least_of_their_levels_counts"
)

MUTATIONS = (
    Mutation(
        "estimates: at the end of a run nothing is expected to be missing",
        "disorder/clock.py",
        "curves=frontier.curves.until(len(frontier))",
        "curves=frontier.curves",
        ("tests/properties/test_estimates.py",),
    ),
    Mutation(
        "estimates: none before enough windows are complete",
        "disorder/expected_coverage.py",
        "if complete.sum() >= _FEWEST:",
        "if complete.sum() >= 1:",
        ("tests/unit/disorder/test_expected_coverage.py",),
    ),
    Mutation(
        "estimates: windows count when they are complete",
        "disorder/expected_coverage.py",
        "complete = ages >= curves.completion_age",
        "complete = ages >= 0",
        ("tests/unit/disorder/test_expected_coverage.py",),
    ),
    Mutation(
        "estimates: sums of parts of tuples do not depend on batches",
        "disorder/arrival_curves.py",
        "np.rint(share * UNIT).astype(np.int64)",
        "(share * UNIT)",
        ("tests/unit/disorder/test_expected_coverage.py",),
    ),
    Mutation(
        "estimates: a promise judges scaled answers",
        "disorder/quantile/policy.py",
        "if self.promised.is_estimated:",
        "if False:",
        ("tests/properties/test_estimates.py::test_policy_quantile_waits_as_long_as_scaled_answers_need",),
    ),
    Mutation(
        "t_max: what is ahead of it has no negative delay",
        "disorder/aq_k_slack.py",
        "np.maximum(stats.t_max - stats.ticks.min_event, 0)",
        "stats.t_max - stats.ticks.min_event",
        ("tests/unit/disorder/test_hybrid.py",),
    ),
    Mutation(
        "promises: the level is the least of all answers'",
        "disorder/quantile/policy.py",
        "self.level = min(",
        "self.level = max(",
        (LEVELS,),
    ),
    Mutation(
        "promises: a budget is of its own answer",
        "disorder/quantile/error_budget.py",
        'state.get(f"{part}_{name}", 0.0)',
        'state.get(f"{part}_value", 0.0)',
        (LEVELS,),
    ),
    Mutation(
        "promises: a name stands once",
        "disorder/promise_of_answers.py",
        "if of is not None and len(set(of)) < len(of):",
        "if False:",
        ("tests/unit/query/test_promise_names.py",),
    ),
    Mutation(
        "λ_thr: a null is no value",
        "disorder/coverage_threshold.py",
        "is_stored & (rows[has_value] == 1)",
        "is_stored",
        ("tests/unit/disorder/test_coverage_threshold.py",),
    ),
    Mutation(
        "the coverage threshold of a controller is on record",
        "disorder/pd_policy.py",
        "share: float | None = state.get(SHARE)",
        "share: float | None = None",
        ("tests/unit/panels/test_promise.py",),
    ),
    Mutation(
        "quiet: windows ahead of arrival stay open",
        "disorder/clock.py",
        "if self.furthest <= passed_ms else newest",
        "if self.furthest else newest",
        ("tests/unit/engine/test_task.py",),
    ),
)
