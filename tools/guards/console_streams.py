"""Guards of the room `console`: page Streams."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import CONSOLE_ROUTES

ROWS = "tests/orchestration/test_console_rows.py"
STATE = "tests/orchestration/test_console_state.py"
BROKEN = "test_a_broken_promise_needs_attention_on_every_page_and_those_not_looked_at_are_counted"

MUTATIONS = (
    Mutation(
        "console: problems of files are for those who may list DAGs",
        "console/streams_route.py",
        "known.problems if may_list_all else []",
        "known.problems",
        (f"{CONSOLE_ROUTES}::test_what_is_wrong_with_files_is_for_those_who_may_list_dags",),
    ),
    Mutation(
        "console: a driver host that is away is asked once",
        "console/stream_rows.py",
        "if self.down:",
        "if False:",
        (f"{CONSOLE_ROUTES}::test_a_driver_host_that_does_not_answer_is_asked_once",),
    ),
    Mutation(
        "console: a query that can't be read does not hide the others",
        "console/stream_rows.py",
        "except (Refused, OSError, DeltaError) as error:",
        "except DeltaError as error:",
        (f"{CONSOLE_ROUTES}::test_one_query_that_can_not_be_read_does_not_hide_the_others",),
    ),
    Mutation(
        "console: a driver that is silent hangs",
        "console/stream_state.py",
        "if silent_ms >= _SILENT_MS:",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: a batch that does not end hangs",
        "console/stream_state.py",
        "if busy_ms >= max(_SILENT_MS, longest_batch_s(reported) * 1000):",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: a stream that rejects every record now is broken",
        "console/stream_state.py",
        "if reported.recent_quarantined and not reported.recent_rows:",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: the reason of a state quotes no record",
        "console/stream_state.py",
        "reasons = reported.rejected_for or",
        "reasons = reported.rejected or",
        (f"{STATE}::test_no_reason_quotes_a_record",),
    ),
    Mutation(
        "console: a stream whose report can't be read is not one that never ran",
        "console/stream_state.py",
        "if not is_begun:",
        "if not is_begun or reported is None:",
        (STATE,),
    ),
    Mutation(
        "console: a stream that rejects every record is broken",
        "console/stream_state.py",
        "if reported.quarantined and not reported.rows:",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: a problem is no wait",
        "console/stream_state.py",
        'if reported.is_awaiting else (word, "bad")',
        'if True else (word, "bad")',
        (STATE,),
    ),
    Mutation(
        "console: what a source has unread is no end of its data",
        "console/stream_rows.py",
        "reported.rows_left == 0 and",
        "",
        (f"{CONSOLE_ROUTES}::test_a_replay_that_is_read_says_at_which_time_its_data_end",),
    ),
    Mutation(
        "console: restarts of the last day",
        "console/stream_rows.py",
        "now_s - _DAY_S < at <= now_s",
        "at > 0",
        (f"{ROWS}::test_the_restarts_of_the_last_day_count",),
    ),
    Mutation(
        "console: a broken promise needs attention",
        "console/stream_order.py",
        'if is_broken and row.state.tone != "bad":',
        "if False:",
        (f"{CONSOLE_ROUTES}::{BROKEN}",),
    ),
    Mutation(
        "console: Streams waits for no table",
        "console/streams_route.py",
        "for row in page], 0.0)",
        "for row in page], 0.5)",
        (f"{CONSOLE_ROUTES}::test_the_first_answer_waits_for_no_table_and_says_which_rows_are_unread",),
    ),
    Mutation(
        "console: unread rows are last",
        "console/stream_order.py",
        "sorted(unknown, key=lambda row: row.is_unread) if column in _OF_TABLES else unknown",
        "unknown",
        (f"{CONSOLE_ROUTES}::test_streams_is_sorted_by_what_tables_say_and_unread_ones_are_last",),
    ),
    Mutation(
        "console: a filter by promise says how many may fit",
        "console/streams_route.py",
        "filter(wanted.may_fit, rows)",
        "fitting",
        (f"{CONSOLE_ROUTES}::test_streams_is_filtered_by_state_kind_and_promise",),
    ),
    Mutation(
        "console: a driver alone on its host is for those who may list DAGs",
        "console/streams_route.py",
        "if may_list_all:  #",
        "if True:  #",
        (f"{CONSOLE_ROUTES}::test_a_driver_alone_is_for_those_who_may_list_dags_and_read_its_own",),
    ),
    Mutation(
        "console: a driver without a file says what ends it",
        "console/stream_rows.py",
        "if fault is None and view.file is None and driver is not None and driver.alive:",
        "if False:",
        (f"{CONSOLE_ROUTES}::test_a_driver_without_a_file_says_what_ends_it",),
    ),
    Mutation(
        "console: a driver whose stream is gone does not start",
        "console/stream_state.py",
        "if driver.alive and not is_begun:",
        "if False:",
        (STATE,),
    ),
    Mutation(
        "console: a driver that is over has run",
        "console/stream_state.py",
        'is_gone = status.driver.state == "ended"',
        "is_gone = False",
        (STATE,),
    ),
    Mutation(
        "console: arrival times ahead of the clock are not behind",
        "console/stream_rows.py",
        "max(wall_ms() - committed, 0)",
        "wall_ms() - committed",
        (f"{CONSOLE_ROUTES}::test_arrival_times_ahead_of_this_clock_are_not_behind",),
    ),
    Mutation(
        "console: the tables of all queries are read behind",
        "console/streams_route.py",
        "    _FACTS.read_behind(layouts.values())\n",
        "",
        (f"{CONSOLE_ROUTES}::{BROKEN}",),
    ),
)
