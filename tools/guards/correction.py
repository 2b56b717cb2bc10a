"""Guards of the room `correction`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import WAREHOUSE

OUTLYING = "tests/unit/cli/test_outlying_times.py"

MUTATIONS = (
    Mutation(
        "ledger: what is late between two gaps belongs to neither",
        "correction/uncorrected.py",
        "index[index >= 0], tuples[index >= 0], len(gaps)",
        "np.maximum(index, 0), tuples, len(gaps)",
        ("tests/unit/panels/test_ledger.py::test_gaps_of_a_long_ledger_are_counted_each_by_itself",),
    ),
    Mutation(
        "repeats of ids: too many to read are said, and not read",
        "correction/repeated_ids.py",
        "> AT_ONCE // pipeline.kind.row_weight",
        "> float('inf')",
        ("tests/unit/cli/test_repeated_ids.py::test_of_too_many_records_to_read_this_is_said",),
    ),
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
        "if ends := [each[1:] for each in quiet_closings(tables) if low <= each[0] < high]:",
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
    Mutation(
        "newest lookups: a correction of late tuples recomputes all keys of their windows",
        "correction/given_answers.py",
        "repeats_lookups = any(reader.records is not None for reader in history.pipeline.readers)",
        "repeats_lookups = False",
        (
            "tests/unit/stream/test_newest_lookups.py::test_an_interval_recomputes_all_keys_of_its_windows_with_the_version_that_its_end_knows",
        ),
    ),
    Mutation(
        "newest lookups: late tuples are not all that changes in an answer",
        "correction/versions.py",
        "replaces = repeats_lookups or any(",
        "replaces = any(",
        (
            "tests/unit/stream/test_newest_lookups.py::test_a_correction_of_everything_gives_the_join_with_the_newest_version[null-parquet]",
        ),
    ),
    Mutation(
        "implausible times: nothing is read where all are near",
        "correction/outlying_events.py",
        "if not len(mine) or newest[mine].max() - oldest[mine].min() <= LEAST_MS:",
        "if not len(mine):",
        (f"{OUTLYING}::test_nothing_is_read_where_no_time_is_far_away",),
    ),
    Mutation(
        "implausible times: those of this run",
        "correction/outlying_events.py",
        'mine = np.flatnonzero(log.segments["position"].to_numpy() >= first)',
        "mine = np.arange(len(oldest))",
        (f"{OUTLYING}::test_a_run_looks_at_what_it_has_read_alone",),
    ),
    Mutation(
        "implausible times: not among too many records",
        "correction/outlying_events.py",
        " or sum(piece.rows for piece in pieces) > _MOST_ROWS:",
        ":",
        (f"{OUTLYING}::test_of_too_many_records_nothing_is_said",),
    ),
    Mutation(
        "an error behind the rows of a correction says that they are written",
        "correction/correct.py",
        "        behind.enter_context(noting(lambda _: _WRITTEN))\n",
        "",
        ("tests/unit/cli/test_written_answers.py",),
    ),
    Mutation(
        "of one id the first to arrive counts by microseconds",
        "correction/deduplication.py",
        'names = ("position", ARRIVAL_US, "arrival_time", "tick")',
        'names = ("position", "arrival_time", "tick")',
        ("tests/unit/correction/test_deduplication.py",),
    ),
    Mutation(
        "having: late tuples are added to answers that the stream withheld",
        "correction/versions.py",
        "answers.versions((low - 1, high), withheld=True)",
        "answers.versions((low - 1, high))",
        ("tests/unit/aggregate/test_having.py::test_what_is_given_is_what_meets_the_condition[added to]",),
    ),
    Mutation(
        "having: what a quiet stream withheld belongs to an interval",
        "correction/late_in_sessions.py",
        '| ds.field("counts").is_valid()',
        "",
        ("tests/unit/correction/test_given_answers.py",),
    ),
    Mutation(
        "having: answers that were never given are not taken back",
        "correction/versions.py",
        "int((identity.find(retracted, without_retracted(self.versions)) >= 0).sum())",
        "int(retracted.num_rows)",
        ("tests/unit/aggregate/test_having.py::test_an_early_cut_off_gives_no_answer_that_a_later_one_withheld",),
    ),
    Mutation(
        "sessions: answers that hold a late tuple are corrected once they have closed",
        "correction/given_answers.py",
        "    affected |= model.holding_answers(given, late_in(ranges), model.late_time)\n",
        "",
        ("tests/unit/correction/test_session_corrections.py",),
    ),
    Mutation(
        "sessions: a run is read to its ends",
        "correction/whole_sessions.py",
        "is_wanted & ~ends_there), margin_ms",
        "is_wanted & ends_there[:0].any()), margin_ms",
        ("tests/unit/correction/test_session_corrections.py",),
    ),
    Mutation(
        "late in sessions: only what the session holds",
        "correction/late_in_sessions.py",
        "row[is_held]))",
        "row))",
        ("tests/unit/correction/test_sessions_in_tables.py",),
    ),
    Mutation(
        "late in sessions: each is counted once",
        "correction/late_in_sessions.py",
        'gap_of(late["arrived"].to_numpy(), gaps) < 0',
        'gap_of(late["arrived"].to_numpy(), gaps) < len(gaps)',
        ("tests/unit/correction/test_sessions_in_tables.py",),
    ),
    Mutation(
        "late in sessions: what closed by quiet belongs to the next interval",
        "correction/late_in_sessions.py",
        "= committed + 1",
        "= committed",
        ("tests/unit/correction/test_sessions_in_tables.py",),
    ),
)
