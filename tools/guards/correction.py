"""Guards of the room `correction`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import WAREHOUSE

MUTATIONS = (
    Mutation(
        "measured errors are read again in a new version of their table",
        "correction/promise_state.py",
        "if commit is None or commit != self._commit:",
        "if commit is None or self._commit is None:",
        ("tests/orchestration/test_driver_warnings.py",),
    ),
    Mutation(
        "a correction of an ended stream counts up to its cut-off",
        "correction/correction_range.py",
        "None if self.end is None else min(self.end, as_of)",
        "self.end",
        ("tests/unit/correction/test_correction_range.py",),
    ),
    Mutation(
        "bucket: a correction whose lease is lost commits nothing",
        "correction/correct.py",
        "        require_held()\n",
        "",
        (WAREHOUSE,),
    ),
    Mutation(
        "bucket: a correction replaces nothing of one that ran meanwhile",
        "correction/correct.py",
        '"interval", str(correction_range), corrections)',
        '"interval", str(correction_range))',
        (WAREHOUSE,),
    ),
    Mutation(
        "quality: the promise stands beside the columns that it is for",
        "correction/quality.py",
        "promise if name in promised else Promise()",
        "promise",
        ("tests/unit/correction/test_quality_by_answer.py",),
    ),
    Mutation(
        "quality: what an earlier release measured is measured again",
        "correction/quality.py",
        "corrected = np.union1d(corrected, outdated)",
        "corrected = corrected + 0",
        ("tests/unit/correction/test_quality_by_answer.py",),
    ),
    Mutation(
        "quality: buckets are counted, not their rows by column",
        "correction/promise_state.py",
        "buckets[-NEWEST:]",
        "buckets[-4:]",
        ("tests/unit/correction/test_promise_state.py",),
    ),
    Mutation(
        "a promise is broken by any column of answers",
        "correction/promise_state.py",
        '"; ".join(each.detail for each in broken or verdicts[:1])',
        "verdicts[-1].detail",
        ("tests/unit/correction/test_promise_state.py",),
    ),
    Mutation(
        "correction: sums that leave their type are counted",
        "correction/history_scan.py",
        "counting_overflows(windowed(self.pipeline.kind))",
        "windowed(self.pipeline.kind)",
        ("tests/unit/correction/test_overflows.py",),
    ),
    Mutation(
        "correction: a pair for which where fails is no answer",
        "correction/history_scan.py",
        "answers = answers.filter(answers[FAILURE].is_null()).drop_columns([FAILURE])",
        "answers = answers.drop_columns([FAILURE])",
        (
            "tests/contract/test_conditions_of_pairs.py"
            "::test_a_condition_that_fails_for_all_pairs_is_counted_by_a_correction",
        ),
    ),
    Mutation(
        "correction: of what came late in its interval alone",
        "correction/correct.py",
        'where=within("arrived", low, high))',
        'where=within("arrived", low - 500, high))',
        ("tests/properties/test_faults.py",),
    ),
    Mutation(
        "correction: windows that closed by quiet after what was committed",
        "correction/given_answers.py",
        "if ends := _closed_by_quiet(tables, low, high):",
        "if ends := []:",
        ("tests/unit/correction/test_given_answers.py",),
    ),
    Mutation(
        "correction: a file of history may hold the first tuple beside its repeat",
        "correction/history_scan.py",
        "near.pieces(ranges), log.reader()",
        "near.pieces(ranges), near.reader()",
        ("tests/unit/correction/test_correct.py",),
    ),
)
