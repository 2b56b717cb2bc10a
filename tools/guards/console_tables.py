"""Guards of the room `console`: facts and answers that are kept."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import CONSOLE_ROUTES

CACHE = "tests/orchestration/test_console_cache.py"
FACTS = "tests/orchestration/test_console_facts.py"
ROUTES = "tests/orchestration/test_console_routes.py"
FIGURES = "tests/orchestration/test_console_figures.py"

MUTATIONS = (
    Mutation(
        "console: a kept answer has the current versions",
        "console/panel_cache.py",
        "if versions_then != now:",
        "if versions_then is None:",
        (f"{CACHE}::test_an_answer_is_read_again_when_a_version_has_changed",),
    ),
    Mutation(
        "console: a request waits for others for so long",
        "console/panel_cache.py",
        "self._readers.acquire(timeout=self._wait_s)",
        "self._readers.acquire()",
        (f"{CACHE}::test_a_kept_answer_does_not_wait_for_those_that_read",),
    ),
    Mutation(
        "console: the keys of kept answers count",
        "console/panel_cache.py",
        "return sum(len(str(part)) for part in key)",
        "return 0",
        (f"{CACHE}::test_long_keys_count",),
    ),
    Mutation(
        "console: facts of last night are waited for",
        "console/facts_cache.py",
        "newest is None or now_s - newest.seen_s >= _OLD_S",
        "newest is None",
        (
            f"{FACTS}::test_facts_of_last_night_are_waited_for",
            f"{CONSOLE_ROUTES}::test_facts_of_last_night_are_no_facts_of_now",
        ),
    ),
    Mutation(
        "console: kept answers take bounded memory",
        "console/panel_cache.py",
        "while self._bytes > self._most_bytes:",
        "while False:",
        (f"{CACHE}::test_the_oldest_answers_go_where_there_is_no_room",),
    ),
    Mutation(
        "console: a read that a compaction has overtaken is tried again",
        "console/panel_cache.py",
        "if before == now:",
        "if True:",
        (f"{CACHE}::test_a_read_that_a_compaction_has_overtaken_is_tried_again",),
    ),
    Mutation(
        "console: a query file that changes makes a kept answer old",
        "console/panel_cache.py",
        "None if query is None else stamp(query)",
        "None",
        (f"{CACHE}::test_a_version_changes_with_a_table_a_file_and_the_query_file",),
    ),
    Mutation(
        "console: one reading of a query's tables at a time",
        "console/facts_cache.py",
        "if is_old and (kept.look is None or kept.look.done()):",
        "if is_old:",
        (f"{FACTS}::test_old_facts_are_given_with_their_age_and_read_again_beside",),
    ),
    Mutation(
        "console: facts of a bounded number of queries are kept",
        "console/facts_cache.py",
        "if len(self._kept) > _MOST_QUERIES:",
        "if False:",
        (f"{FACTS}::test_the_number_of_queries_is_bounded",),
    ),
    Mutation(
        "console: the last hour is that of the reading",
        "console/table_facts.py",
        'since = ds.field("ingested_ms") >= since_ms',
        "since = None",
        (f"{FACTS}::test_the_last_hour_is_that_of_the_reading_and_not_of_arrival",),
    ),
    Mutation(
        "console: the numbers of the tables hold where no driver reports newer ones",
        "console/stream_rows.py",
        'if numbers.get("batches", 0) <= (row.batches or 0):',
        "if True:",
        (f"{FIGURES}::test_the_head_says_what_the_tables_hold_or_held_when_its_driver_reported",),
    ),
    Mutation(
        "console: a driver that reports is newer than the tables as they were read",
        "console/stream_rows.py",
        'if numbers.get("batches", 0) <= (row.batches or 0):',
        "if not numbers:",
        (f"{FACTS}::test_a_driver_that_reports_is_newer_than_what_was_read_of_the_tables",),
    ),
    Mutation(
        "console: late tuples of the last hour",
        "console/table_facts.py",
        '{"late": pa.int64()}, batches)',
        '{"late": pa.int64()})',
        (f"{FACTS}::test_the_last_hour_is_that_of_the_reading_and_not_of_arrival",),
    ),
    Mutation(
        "console: damage that is met during a look is looked for again",
        "console/facts_cache.py",
        "reading if kept.damages == damages else reading.after_damage()",
        "reading",
        (f"{FACTS}::test_damage_that_is_met_during_a_look_is_looked_for_at_the_next_call",),
    ),
    Mutation(
        "console: numbers of the tables have the tables' age",
        "console/stream_rows.py",
        '"report_age_ms": facts.facts_age_ms, ',
        "",
        (f"{FACTS}::test_a_driver_that_reports_is_newer_than_what_was_read_of_the_tables",),
    ),
    Mutation(
        "console: where data end is not said of numbers that are newer",
        "console/stream_rows.py",
        ', "data_ends": None}',
        "}",
        (f"{FIGURES}::test_data_do_not_end_where_a_report_did_that_is_older_than_the_tables",),
    ),
    Mutation(
        "console: data do not end before the last batch does",
        "console/stream_rows.py",
        "reported.busy_ms is None and not reported.hides_rows",
        "not reported.hides_rows",
        (f"{FIGURES}::test_data_do_not_end_before_the_last_batch",),
    ),
    Mutation(
        "console: what promises nothing has no promise",
        "console/stream_rows.py",
        "view.name not in known.unpromised",
        "True",
        (f"{ROUTES}::test_what_promises_nothing_has_no_promise_also_before_anything_is_measured",),
    ),
    Mutation(
        "console: the promise of the head is the one that runs",
        "console/stream_rows.py",
        "row.is_promised if facts.is_promised is None else facts.is_promised",
        "row.is_promised",
        (f"{ROUTES}::test_head_and_part_say_of_the_promise_what_runs_whatever_the_file_says",),
    ),
    Mutation(
        "console: a deployment renews the promise of the head",
        "console/facts_cache.py",
        "versions(layout, _TABLES, _FILES)",
        "versions(layout, _TABLES)",
        (f"{ROUTES}::test_head_and_part_say_of_the_promise_what_runs_whatever_the_file_says",),
    ),
    Mutation(
        "console: facts hold until their tables change",
        "console/facts_cache.py",
        "now is not None and now == newest.versions",
        "now is not None",
        (f"{FACTS}::test_facts_hold_until_their_tables_change",),
    ),
    Mutation(
        "console: tables that take long to read rest",
        "console/facts_cache.py",
        "now_s - newest.read_s < min(self._rests * (newest.took_s - _FREE_S), _LONGEST_REST_S)",
        "False",
        (
            f"{FACTS}::test_tables_that_take_long_rest_so_that_a_stream_that_commits_each_second_does_not_keep_"
            "readers_busy",
        ),
    ),
    Mutation(
        "console: nothing is read behind a request that is answered",
        "console/facts_cache.py",
        "        self._is_free.wait(_GIVES_WAY_S)\n",
        "",
        (f"{FACTS}::test_nothing_is_read_behind_a_request_that_is_answered",),
    ),
    Mutation(
        "console: what could not be read does not rest",
        "console/facts_cache.py",
        "if newest is not None and newest.is_whole:",
        "if newest is not None:",
        (f"{FACTS}::test_what_could_not_be_read_does_not_rest",),
    ),
    Mutation(
        "console: those that were looked at longest ago come first",
        "console/facts_cache.py",
        "min(self._queue, key=self._looked_s)",
        "next(iter(self._queue))",
        (f"{FACTS}::test_no_query_is_passed_over_for_those_that_are_shown",),
    ),
    Mutation(
        "console: a pause between two looks behind requests",
        "console/facts_cache.py",
        "time.sleep(0.0 if is_first else time.monotonic() - began_s)",
        "pass",
        (f"{FACTS}::test_between_two_looks_there_is_as_long_a_pause_but_not_before_the_first_facts",),
    ),
    Mutation(
        "console: tables speak for a driver that says no more",
        "console/facts_cache.py",
        "*versions(layout, _TABLES, _FILES), is_reported(layout)",
        "versions(layout, _TABLES)",
        (f"{FACTS}::test_tables_speak_for_a_driver_that_says_no_more",),
    ),
    Mutation(
        "console: what has nothing of the last hour is not read again",
        "console/facts_cache.py",
        "not (is_due and newest.facts.has_last_hour)",
        "not is_due",
        (f"{FACTS}::test_what_has_nothing_of_the_last_hour_does_not_change_by_itself",),
    ),
    Mutation(
        "console: browsers keep no file of another version",
        "console/pages.py",
        "version is not None and version == _version()",
        "version is not None",
        (f"{CONSOLE_ROUTES}::test_a_page_names_its_files_by_their_version_so_that_browsers_keep_them",),
    ),
    Mutation(
        "console: facts say how old they are",
        "console/facts_cache.py",
        "round((now_s - self.seen_s) * 1000)",
        "0",
        (f"{FACTS}::test_old_facts_are_given_with_their_age_and_read_again_beside",),
    ),
    Mutation(
        "console: a table that no fact needs is looked at, too",
        "console/facts_cache.py",
        "lost=_lost(kept.files), checked_s=now_s",
        "lost=(), checked_s=now_s",
        (f"{FACTS}::test_files_are_looked_at_once_a_minute",),
    ),
    Mutation(
        "console: a damaged table is looked at again at each call",
        "console/facts_cache.py",
        "is_due = newest is None or not newest.is_whole or",
        "is_due = newest is None or",
        (f"{FACTS}::test_a_table_that_no_fact_needs_is_named_once_it_is_damaged_until_it_is_whole",),
    ),
    Mutation(
        "console: damage that a part meets is in the next head",
        "console/streams_route.py",
        "_FACTS.forget(layout)",
        "pass",
        (f"{CONSOLE_ROUTES}::test_damage_that_a_part_meets_is_in_the_next_head",),
    ),
    Mutation(
        "console: tables are read behind one query at a time",
        "console/facts_cache.py",
        "wait([kept.look], _HANGS_S)",
        "pass",
        (f"{FACTS}::test_many_queries_are_read_one_at_a_time_so_one_that_is_asked_for_is_not_behind_them",),
    ),
)
