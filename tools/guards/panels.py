"""Guards of the room `panels`."""

from __future__ import annotations

from guards.mutation import Mutation

LEDGER = "tests/unit/panels/test_ledger.py"
FACTS = "tests/unit/panels/test_stamped_facts.py"
PLAIN = "tests/unit/panels/test_plain_values.py"
EMD_JOIN, SPATIAL_JOIN, TOPK = (
    f"tests/unit/panels/kinds/test_{name}.py" for name in ("emd_join", "spatial_join", "topk")
)
SERIES, RANGES = "tests/unit/panels/test_series.py", "tests/unit/panels/test_arrival_range.py"
FRONTIER, CHANGES = "tests/unit/panels/test_frontier.py", "tests/unit/panels/test_settings_changes.py"
PROMISE, LATE, HOLDING = (f"tests/unit/panels/test_{name}.py" for name in ("promise", "late", "holding"))

MUTATIONS = (
    Mutation(
        "times are no numbers of a chart",
        "panels/answer_chart.py",
        "[name for name in compared if name not in TIMES]",
        "list(compared)",
        (
            "tests/unit/cli/test_picture.py::"
            "test_answers_are_those_of_a_key_as_streamed_and_as_corrected_else_the_share_that_was_right",
        ),
    ),
    Mutation(
        "ledger: what is late between two gaps belongs to neither",
        "panels/ledger.py",
        "lies_in = (arrived > low[of_gap]) & (arrived <= high[of_gap])",
        "lies_in = arrived > -1",
        (f"{LEDGER}::test_gaps_of_a_long_ledger_are_counted_each_by_itself",),
    ),
    Mutation(
        "ledger: a gap ends where the stream has committed",
        "panels/ledger.py",
        "min(high, committed)",
        "high",
        (f"{LEDGER}::test_what_is_late_beyond_the_commit_is_no_gap_yet",),
    ),
    Mutation(
        "ledger: a join with a table has no gaps",
        "panels/ledger.py",
        "committed is not None and _has_late_tuples(view)",
        "committed is not None",
        (f"{LEDGER}::test_a_join_with_a_table_has_nothing_to_correct",),
    ),
    Mutation(
        "ledger: a range of arrival has its runs alone",
        "panels/ledger.py",
        "pc.and_(pc.less(start, high), pc.greater(end, low))",
        "pc.is_valid(end)",
        (f"{LEDGER}::test_a_range_of_arrival_has_its_runs_and_the_parts_of_gaps_in_it",),
    ),
    Mutation(
        "panels: a column that an earlier release did not write is null",
        "panels/known_columns.py",
        "columns.keys() - there",
        "()",
        (f"{LEDGER}::test_counts_that_an_earlier_release_did_not_have_are_unknown",),
    ),
    Mutation(
        "settings: a file that would be refused is not taken for the deployed one",
        "panels/settings.py",
        "if answer.fault is not None:",
        "if False:",
        ("tests/unit/panels/test_settings.py::test_a_file_that_would_be_refused_is_not_taken_for_the_same",),
    ),
    Mutation(
        "facts: what holds from the first tick on is of no time",
        "panels/stamped_facts.py",
        "if tick and tick_ms",
        "if tick is not None and tick_ms",
        (f"{FACTS}::test_what_closed_windows_in_silence_stands_between_the_settings_before_and_after",),
    ),
    Mutation(
        "facts: what holds for a segment to come is not of the beginning",
        "panels/stamped_facts.py",
        "dict.fromkeys(to_come, committed_until(tables.layout)) if to_come else {}",
        "{}",
        (f"{FACTS}::test_a_plan_holds_from_the_arrival_of_its_first_segment",),
    ),
    Mutation(
        "facts: no more are shown than asked for, though some share a version",
        "panels/stamped_facts.py",
        "return facts[-most:]",
        "return facts",
        (f"{FACTS}::test_what_closed_windows_in_silence_stands_between_the_settings_before_and_after",),
    ),
    Mutation(
        "facts: a range begins with the plan in force",
        "panels/stamped_facts.py",
        "return before[-1:] + ",
        "return ",
        (FACTS,),
    ),
    Mutation(
        "facts: no more plans are read than a chart has room for",
        "panels/stamped_facts.py",
        "if len(since) > most:",
        "if False:",
        (f"{EMD_JOIN}::test_many_plans_are_thinned_out",),
    ),
    Mutation(
        "plain values: no NaN and no infinity",
        "panels/plain_values.py",
        "value if math.isfinite(value) else None",
        "value",
        (PLAIN,),
    ),
    Mutation(
        "plain values: integers that JavaScript would round are text",
        "panels/plain_values.py",
        "if abs(value) <= _LARGEST else str(value)",
        "",
        (PLAIN,),
    ),
    Mutation(
        "plain values: an id of megabytes is cut",
        "panels/plain_values.py",
        "if len(text) <= LONGEST else",
        "if text else",
        (PLAIN,),
    ),
    Mutation(
        "rankings: what a correction moved beyond the rows that are shown is not gone",
        "panels/kinds/topk.py",
        'pc.or_(pc.less_equal(rows["rank"], MOST_ROWS), pc.is_in(rows["id"], best))',
        'pc.less_equal(rows["rank"], MOST_ROWS)',
        (TOPK,),
    ),
    Mutation(
        "joins: counts are of the range that is shown",
        "panels/kinds/emd_join.py",
        'within("committed", *ends)',
        "None",
        (f"{EMD_JOIN}::test_a_range_has_its_batches_and_the_plan_in_force_at_its_beginning",),
    ),
    Mutation(
        "spatial joins: of many cells the most loaded are shown",
        "panels/kinds/spatial_join.py",
        "np.argsort(-load",
        "np.argsort(load",
        (f"{SPATIAL_JOIN}::test_of_many_cells_the_most_loaded_are_shown",),
    ),
    Mutation(
        "series: values that are no finite numbers are unknown",
        "panels/series.py",
        "if not pa.types.is_floating(values.type):",
        "if True:",
        (SERIES,),
    ),
    Mutation(
        "series: no more points than a chart has room for",
        "panels/series.py",
        "if pc.count_distinct(times).as_py() > points:",
        "if False:",
        (SERIES,),
    ),
    Mutation(
        "series: buckets stay as time goes on",
        "panels/series.py",
        "if length >= least:",
        "if (length := max(least, 1)):",
        (SERIES,),
    ),
    Mutation(
        "panels: a range ends after its beginning",
        "panels/arrival_range.py",
        "self.from_ >= self.to:",
        "False:",
        (FRONTIER,),
    ),
    Mutation(
        "panels: columns that an earlier release lacked are null",
        "panels/arrival_range.py",
        "[name for name in columns if name in there]",
        "list(columns)",
        (RANGES,),
    ),
    Mutation(
        "frontier: history that is damaged is said to be",
        "panels/frontier.py",
        "    except Damaged:\n        raise\n",
        "",
        (FRONTIER,),
    ),
    Mutation(
        "frontier: a quiet time is no change of K",
        "panels/settings_changes.py",
        'is_new = not changes or changes[-1].version != row["version"]',
        "is_new = True",
        (CHANGES,),
    ),
    Mutation(
        "frontier: what was in force before a range is no quiet time",
        "panels/settings_changes.py",
        "if change.what != QUIET and (change.at is None or change.at <= low)]",
        "if change.at is None or change.at <= low]",
        (CHANGES,),
    ),
    Mutation(
        "frontier: of too many answers the times are not read one by one",
        "panels/wall_clock.py",
        "if count > MOST_ROWS:",
        "if False:",
        (FRONTIER,),
    ),
    Mutation(
        "delays: they count from t_max before the tuples that are read",
        "panels/delays.py",
        "np.maximum(np.maximum.accumulate(t_max), before)",
        "np.maximum.accumulate(t_max)",
        (FRONTIER,),
    ),
    Mutation(
        "delays: of a large file the last tuples are read",
        "panels/delays.py",
        'np.maximum(mine["rows"] - MOST_TUPLES, 0)',
        '0 * mine["rows"]',
        (FRONTIER,),
    ),
    Mutation(
        "delays: what came after the range does not count",
        "panels/delays.py",
        "Log.of(reader, until, mine)",
        "Log.of(reader, AFTER_ALL, mine)",
        (FRONTIER,),
    ),
    Mutation(
        "promise: an answer that lacks a late tuple is not right",
        "panels/right_answers.py",
        "(is_right & is_whole).sum()",
        "is_right.sum()",
        (PROMISE,),
    ),
    Mutation(
        "promise: late tuples that a correction has taken in are no longer lacking",
        "panels/uncorrected_answers.py",
        "uncovered(corrected_intervals(tables), until)",
        "uncovered([], until)",
        (PROMISE,),
    ),
    Mutation(
        "promise: of too many late tuples the answers are not known",
        "panels/uncorrected_answers.py",
        "if count > MOST_ROWS:",
        "if False:",
        (PROMISE,),
    ),
    Mutation(
        "promise: no more answers are compared than are read in time",
        "panels/right_answers.py",
        "np.searchsorted(np.cumsum(counts), MOST_ANSWERS",
        "np.searchsorted(np.cumsum(counts), counts.sum()",
        (PROMISE,),
    ),
    Mutation(
        "late: a tick of two files is of neither",
        "panels/read_segments.py",
        " & (file[low] == file[high])",
        "",
        (LATE,),
    ),
    Mutation(
        "late: no more late rows are counted by file than are read in time",
        "panels/stream_progress.py",
        "if count > MOST_ROWS:",
        "if False:",
        (LATE,),
    ),
    Mutation(
        "late: a batch that is being written does not count",
        "panels/waiting_rows.py",
        'ds.field("batch") < batches)',
        'ds.field("batch") >= 0)',
        (LATE,),
    ),
    Mutation(
        "late: a damaged journal is said to be damaged",
        "panels/stream_progress.py",
        "check_journal(view.layout, 0)",
        "pass",
        (LATE,),
    ),
    Mutation(
        "late: an idle stream holds nothing back",
        "panels/holding.py",
        "if not state.is_idle}",
        "}",
        (HOLDING,),
    ),
)
