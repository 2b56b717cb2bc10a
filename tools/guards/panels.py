"""Guards of the room `panels`: the frontier, the promise, the settings and what they are read from."""

from __future__ import annotations

from guards.mutation import Mutation

FACTS = "tests/unit/panels/test_stamped_facts.py"
EMD_JOIN = "tests/unit/panels/kinds/test_emd_join.py"
SERIES = "tests/unit/panels/test_series.py"
FRONTIER, CHANGES = "tests/unit/panels/test_frontier.py", "tests/unit/panels/test_settings_changes.py"
FIGURES = "tests/orchestration/test_console_figures.py"
PROMISE, LATE = (f"tests/unit/panels/test_{name}.py" for name in ("promise", "late"))
EXTREMES = "tests/unit/cli/test_expressions_over_extremes.py"

ACTIVITY = "tests/unit/panels/test_activity.py"

MUTATIONS = (
    Mutation(
        "panels: the part Promise says, too, that nothing is promised",
        "panels/promise.py",
        "    state = state.of_policy(promise.is_given)\n",
        "",
        ("tests/orchestration/test_console_figures.py::test_the_head_says_of_the_promise_what_the_part_says",),
    ),
    Mutation(
        "activity: a time without a driver breaks the lines",
        "panels/activity.py",
        "if gap > longest]",
        "if False]",
        (f"{ACTIVITY}::test_a_time_without_a_driver_breaks_the_lines",),
    ),
    Mutation(
        "activity: CPU time of two drivers is not compared",
        "panels/activity.py",
        ' or before["started_at"] == row["started_at"]',
        " or True",
        (f"{ACTIVITY}::test_cpu_time_of_two_drivers_is_not_compared",),
    ),
    Mutation(
        "activity: a driver that ends without a report has died",
        "panels/activity.py",
        "elif has_gone:",
        "elif False:",
        (f"{ACTIVITY}::test_begins_ends_and_deaths_are_events_newest_first",),
    ),
    Mutation(
        "activity: a driver that reports has not died",
        "panels/activity.py",
        "return reported.state not in OVER and wall_ms() - reported.at_ms >= SILENT_MS",
        "pass",
        (f"{ACTIVITY}::test_a_driver_that_reports_has_not_died",),
    ),
    Mutation(
        "activity: a clock that is set back makes no rates",
        "panels/activity.py",
        "rate if rate >= 0 else None",
        "rate",
        (f"{ACTIVITY}::test_a_clock_that_is_set_back_makes_no_rates_and_no_deaths",),
    ),
    Mutation(
        "activity: a range has no begin from before it",
        "panels/activity.py",
        " if event.at > from_]",
        "]",
        (f"{ACTIVITY}::test_a_range_that_begins_within_the_life_of_a_driver_has_not_its_begin",),
    ),
    Mutation(
        "frontier: K is of the newest batch of the range",
        "panels/frontier.py",
        "return of_batch[-1], sum(",
        "return of_batch[0], sum(",
        (f"{FIGURES}::test_the_frontier_has_the_k_of_the_newest_batch_and_its_moves",),
    ),
    Mutation(
        "frontier: each move of K is a change",
        "panels/frontier.py",
        "sum(k != other for k, other in pairwise(known))",
        "0",
        (f"{FIGURES}::test_the_frontier_has_the_k_of_the_newest_batch_and_its_moves",),
    ),
    Mutation(
        "frontier: settings that hold from a tick to come are said",
        "panels/frontier.py",
        "if each.at is not None and each.at + tick_ms > ends[1] and each.what != QUIET",
        "if False",
        (f"{FRONTIER}::test_settings_that_hold_from_a_tick_to_come_are_said",),
    ),
    Mutation(
        "late: a partition has the late tuples of ticks that its files share",
        "panels/source_progress.py",
        "late_of = stream.late_of_directories",
        "late_of = stream.late",
        (f"{FIGURES}::test_late_rows_are_accounted_for_by_partitions_or_a_note", LATE),
    ),
    Mutation(
        "late: what no partition has is said",
        "panels/late.py",
        "(rest := late_rows - sum(one.late or 0 for one in partitions)) > 0:",
        "(rest := 0) > 0:",
        (f"{FIGURES}::test_late_rows_are_accounted_for_by_partitions_or_a_note",),
    ),
    Mutation(
        "late: partitions have the late tuples of the batches of the range",
        "panels/late.py",
        "late_by_tick(tables, _of_batches(metrics, ends), notes)",
        "late_by_tick(tables, ends, notes)",
        (f"{LATE}::test_a_batch_that_took_in_more_than_the_range_has_all_its_late_rows",),
    ),
    Mutation(
        "ledger: answers given again as they were are no changes",
        "panels/ledger.py",
        'changed = corrections["changed"]',
        'changed = corrections["answers"]',
        (f"{FIGURES}::test_a_correction_changes_the_answers_that_are_other_ones",),
    ),
    Mutation(
        "one request reads each table at one version",
        "panels/query_view.py",
        "OpenedTables(self.layout) if self.is_of_request else Tables(self.layout)",
        "Tables(self.layout)",
        ("tests/unit/panels/test_query_view.py::test_a_request_opens_each_table_once",),
    ),
    Mutation(
        "a view's answers have the types of its stream's columns",
        "panels/query_view.py",
        "if manifest is None or binding_changes(manifest, self.query):",
        "if True:",
        (f"{EXTREMES}::test_a_view_of_a_stream_has_the_types_of_its_answers",),
    ),
    Mutation(
        "a view of an edited query is not bound to the types of the stream before",
        "panels/query_view.py",
        "manifest is None or binding_changes(manifest, self.query)",
        "manifest is None",
        (f"{EXTREMES}::test_a_view_of_a_declaration_that_no_stream_runs_has_its_answers_without_types",),
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
        "dict.fromkeys(to_come, committed_until(tables.layout, tables)) if to_come else {}",
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
        "series: values that are no finite numbers are unknown",
        "panels/series.py",
        "if not pa.types.is_floating(values.type):",
        "if True:",
        (SERIES,),
    ),
    Mutation(
        "series: an infinite extreme is a gap",
        "panels/series.py",
        "named[name] = [None if is_ else value",
        "named[name] = [value",
        (f"{SERIES}::test_an_infinite_extreme_is_a_gap_and_not_the_next_smaller_one",),
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
        "frontier: history that is damaged is said to be",
        "panels/frontier.py",
        "    except Damaged:\n        raise\n",
        "",
        (FRONTIER,),
    ),
    Mutation(
        "frontier: a quiet time is no change of K",
        "panels/settings_changes.py",
        "what=describe(before, after) if new else QUIET",
        "what=describe(before, after)",
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
        'np.maximum(mine["rows"].to_numpy() - MOST_TUPLES, 0)',
        '0 * mine["rows"].to_numpy()',
        (FRONTIER,),
    ),
    Mutation(
        "delays: what came after the range does not count",
        "panels/delays.py",
        "Log.from_segments(reader, until, mine)",
        "Log.from_segments(reader, AFTER_ALL, mine)",
        (FRONTIER,),
    ),
    Mutation(
        "late: no more late rows are counted by file than are read in time",
        "panels/stream_progress.py",
        "if count > MOST_ROWS:",
        "if False:",
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
        "promise: the threshold now is the newest one of all",
        "panels/promise.py",
        'rows.sort_by("batch")["threshold"][-1]',
        'rows.sort_by("batch")["threshold"][0]',
        (f"{PROMISE}::test_the_threshold_now_is_the_newest_whatever_range_is_shown",),
    ),
)
