"""Guards of the room `panels`: late, waiting and rejected records, and the ledger."""

from __future__ import annotations

from guards.mutation import Mutation

LEDGER = "tests/unit/panels/test_ledger.py"
LATE, HOLDING = (f"tests/unit/panels/test_{name}.py" for name in ("late", "holding"))
ANSWER = "tests/unit/panels/test_answer.py"
QUARANTINE = "tests/unit/panels/test_quarantine.py"
DAMAGED = "tests/unit/panels/test_damaged_tables.py"
LATE_RECORDS = "tests/unit/cli/test_late_records.py"

MUTATIONS = (
    Mutation(
        "format: a page's parts read none of another",
        "panels/query_view.py",
        "        self.layout.require_format()\n",
        "",
        ("tests/unit/storage/test_format.py::test_a_stream_in_another_format_is_refused_and_stays_as_it_is",),
    ),
    Mutation(
        "ledger: answers given again as they were are no changes",
        "panels/ledger.py",
        "**sums)",
        '**sums | {"changed": sums["answers"]})',
        ("tests/orchestration/test_console_figures.py::test_a_correction_changes_the_answers_that_are_other_ones",),
    ),
    Mutation(
        "quarantine: what is ahead of the wall clock is of no hour",
        "panels/quarantine.py",
        "(arrival >= now - _HOUR_MS) & (arrival <= now)",
        "arrival >= now - _HOUR_MS",
        (f"{QUARANTINE}::test_a_record_ahead_of_the_wall_clock_is_not_now",),
    ),
    Mutation(
        "a piece that can't be read names the damaged table",
        "panels/pieces.py",
        ".update(fields.split())",
        "",
        (f"{DAMAGED}::test_what_a_damaged_table_does_not_touch_is_shown_as_it_was_and_the_rest_names_it",),
    ),
    Mutation(
        "ledger: a gap ends where the stream has committed",
        "panels/ledger.py",
        "min(high, committed)",
        "high",
        (f"{LEDGER}::test_what_is_late_beyond_the_commit_is_no_gap_yet",),
    ),
    Mutation(
        "ledger: a gap before a later correction is not open",
        "panels/ledger.py",
        "is_open=start >= corrected_to",
        "is_open=True",
        (f"{LEDGER}::test_gaps_are_the_arrival_that_no_correction_covers_with_their_late_tuples",),
    ),
    Mutation(
        "ledger: a join with a table has no gaps",
        "panels/ledger.py",
        "committed is not None and _has_late_tuples(view)",
        "committed is not None",
        (f"{LEDGER}::test_a_join_with_a_table_has_nothing_to_correct",),
    ),
    Mutation(
        "ledger: late tuples of all gaps, also of those that are not shown",
        "panels/ledger.py",
        "else int(late.sum())",
        "else int(late[-MOST:].sum())",
        (f"{LEDGER}::test_gaps_of_a_long_ledger_are_counted_each_by_itself",),
    ),
    Mutation(
        "ledger: a range of arrival has its runs alone",
        "panels/ledger.py",
        "pc.and_(pc.less(start, high), pc.greater(end, low))",
        "pc.is_valid(end)",
        (f"{LEDGER}::test_a_range_of_arrival_has_its_runs_and_the_parts_of_gaps_in_it",),
    ),
    Mutation(
        "late: a tick of two files is of neither",
        "panels/read_segments.py",
        " & (part[low] == part[high])",
        "",
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
        "late: an idle stream holds nothing back",
        "panels/holding.py",
        "if not state.is_idle}",
        "}",
        (HOLDING,),
    ),
    Mutation(
        "one answer: a source file that is gone leaves its versions",
        "panels/late_tuples.py",
        "except SourceChanged as changed:",
        "except ZeroDivisionError as changed:",
        (f"{ANSWER}::test_a_source_file_that_is_gone_leaves_the_versions",),
    ),
    Mutation(
        "one answer: history is not read without end",
        "panels/late_reading.py",
        "> _MOST_ROWS:",
        "> AFTER_ALL:",
        (f"{ANSWER}::test_history_that_would_take_long_is_not_read",),
    ),
    Mutation(
        "one answer: the segments of its late tuples alone",
        "panels/late_reading.py",
        "segments=select(log.segments, mask)",
        "segments=log.segments",
        (f"{ANSWER}::test_no_segment_is_read_in_whose_ticks_no_late_tuple_came",),
    ),
    Mutation(
        "quarantine: the newest rejected record is now, where nothing is committed any more",
        "panels/quarantine.py",
        "max(committed or 0, ",
        "committed or max(0, ",
        (f"{QUARANTINE}::test_the_last_hour_counts_while_every_record_is_rejected",),
    ),
    Mutation(
        "quarantine: a record ahead of the wall clock is not now",
        "panels/quarantine.py",
        "arrival[arrival <= wall_ms()]",
        "arrival",
        (f"{QUARANTINE}::test_a_record_ahead_of_the_wall_clock_is_not_now",),
    ),
    Mutation(
        "quarantine: reasons without end are counted together",
        "panels/rejected_records.py",
        "len(self.named) < _MOST_REASONS",
        "True",
        (f"{QUARANTINE}::test_reasons_without_end_are_counted_together",),
    ),
    Mutation(
        "quarantine: a long table is not read in whole",
        "panels/rejected_records.py",
        "            if left <= 0:\n                return\n",
        "",
        (f"{QUARANTINE}::test_reasons_without_end_are_counted_together",),
    ),
    Mutation(
        "quarantine: older pages go on in older files",
        "panels/quarantine.py",
        "skip = max(-stop, 0)",
        "skip = 0",
        (f"{QUARANTINE}::test_all_records_are_met_page_by_page",),
    ),
    Mutation(
        "late records: history is not read without end",
        "panels/late_records.py",
        "except TooManyRows:",
        "except ZeroDivisionError:",
        (f"{LATE_RECORDS}::test_history_that_would_take_long_is_not_read",),
    ),
    Mutation(
        "late records: the first ones alone are read",
        "panels/late_records.py",
        "np.cumsum(tuples) - tuples < limit",
        "np.cumsum(tuples) < limit",
        (f"{LATE_RECORDS}::test_each_late_tuple_is_named_by_file_and_place_in_order_of_arrival",),
    ),
)
