"""Guards of the room `stream`: deliveries, status and summary."""

from __future__ import annotations

from guards.mutation import Mutation

ACTIVITY = "tests/unit/stream/test_activity_log.py"

MUTATIONS = (
    Mutation(
        "activity: a problem that comes and goes fills no table",
        "stream/activity_log.py",
        "else _SOONER_MS",
        "else 0",
        (f"{ACTIVITY}::test_a_problem_is_observed_sooner_and_one_that_comes_and_goes_fills_no_table",),
    ),
    Mutation(
        "activity: what a starting driver does not know is no zero",
        "stream/activity_log.py",
        " if status.knows_its_source else None for name in _TOTALS",
        " for name in _TOTALS",
        (f"{ACTIVITY}::test_what_a_driver_does_not_know_yet_is_null",),
    ),
    Mutation(
        "activity: what can't be written is tried again",
        "stream/activity_log.py",
        "self._pending = [*self._in_hand, *self._pending][-_MOST_PENDING:]",
        "pass",
        (f"{ACTIVITY}::test_a_table_that_can_not_be_written_is_told_once_and_written_later",),
    ),
    Mutation(
        "activity: a clock that is set back stops no observation",
        "stream/activity_log.py",
        "return not 0 <= status.at_ms - last_ms < least_ms",
        "return not status.at_ms - last_ms < least_ms",
        (f"{ACTIVITY}::test_a_clock_that_is_set_back_stops_no_observation",),
    ),
    Mutation(
        "activity: the last observation of a driver is waited for",
        "stream/activity_log.py",
        "            if self._fault is not None:\n                return\n            self._write()\n",
        "",
        (f"{ACTIVITY}::test_the_end_of_a_driver_is_observed_at_once",),
    ),
    Mutation(
        "activity: a compaction that fails doubles no observation",
        "stream/activity_log.py",
        "        self._in_hand = []\n",
        "",
        (f"{ACTIVITY}::test_a_compaction_that_fails_doubles_no_observation",),
    ),
    Mutation(
        "activity: a compaction removes what is old",
        "stream/activity_log.py",
        "self.tables.open(TABLE).delete(",
        "str(",
        (f"{ACTIVITY}::test_a_compaction_removes_what_is_older_than_a_month",),
    ),
    Mutation(
        "places: at a run's end, one that fails keeps no answers from the others",
        "stream/delivery.py",
        "            failures.append(failure)",
        "            raise",
        (
            "tests/unit/stream/test_delivery.py::test_a_run_that_ends_delivers_to_all_places_and_names_the_one_that_failed",
        ),
    ),
    Mutation(
        "a run warns of sums that left their type",
        "stream/run_summary.py",
        "if self.overflowed:",
        "if False:",
        ("tests/unit/stream/test_run_summary.py",),
    ),
    Mutation(
        "a run warns of pairs for which where fails",
        "stream/run_summary.py",
        "if self.failed_pairs.number:",
        "if False:",
        ("tests/unit/stream/test_run_summary.py",),
    ),
    Mutation(
        "a problem that has become another one ends no driver",
        "stream/status_reporter.py",
        "if name in self._problems and name != part}",
        "}",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "status: a driver that fails reports its end",
        "stream/status_reporter.py",
        '                    self.report("interrupted" if is_interruption(error) else "failed", mine.rows_left)\n',
        "                    pass\n",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "status: a driver does not report over the one that has replaced it",
        "stream/status_reporter.py",
        "is_last = last is None or (last.pid, last.started_ms) == (mine.pid, mine.started_ms)",
        "is_last = True",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "status: a driver that has drained has not stopped",
        "stream/status_reporter.py",
        "if is_last and mine.state not in OVER:",
        "if is_last:",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "status: a heartbeat does not end an idle phase",
        "stream/status_reporter.py",
        "        if busy_rows or rows_left:\n",
        "        if busy_rows is not None or rows_left:\n",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "status: a phase keeps its beginning",
        "stream/status_reporter.py",
        "if new.phase != old.phase:",
        "if True:",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "a stream that starts again shows how far it was",
        "stream/status_reporter.py",
        "**self._rejected, **totals, **newest)",
        "**self._rejected, **totals)",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "status: a commit's age is steady",
        "stream/status_reporter.py",
        "committed_at_ms=None if age_ms is None else at_ms - age_ms,",
        "",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "a run that accepted no record has failed",
        "stream/run_summary.py",
        "return self.read > self.filtered and not self.accepted",
        "return False",
        ("tests/unit/stream/test_run_summary.py",),
    ),
    Mutation(
        "a low coverage is a warning",
        "stream/run_summary.py",
        "if self.late > _MANY * self.accepted or",
        "if False and",
        ("tests/unit/stream/test_run_summary.py",),
    ),
    Mutation(
        "a status says for which reasons records were rejected",
        "stream/status_reporter.py",
        "totals |= self._rejected",
        "pass",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "delivery: a panic of a library ends no stream",
        "stream/delivery.py",
        "except BaseException as error:",
        "except Exception as error:",
        ("tests/unit/stream/test_delivery.py::test_a_panic_of_a_library_ends_no_stream",),
    ),
    Mutation(
        "delivery: another process that delivers is no problem",
        "stream/delivery.py",
        "except Busy:  # a correction is just delivering",
        "except ZeroDivisionError:",
        ("tests/unit/stream/test_delivery.py::test_another_process_that_delivers_is_no_problem",),
    ),
    Mutation(
        "places: one that another process holds for long is reported",
        "stream/delivery.py",
        'self._report_behind(self._busy_since_s, "another process has delivered")',
        "pass",
        (
            "tests/unit/stream/test_delivery.py::test_another_process_that_delivers_for_long_is_reported_until_a_delivery_ends",
        ),
    ),
    Mutation(
        "places: a buffer is as old as the oldest answer in it",
        "stream/delivery.py",
        "            self._lacks_since_s = began_s",
        "            self._lacks_since_s = None",
        (
            "tests/unit/stream/test_delivery.py::test_the_time_that_a_place_lacks_answers_begins_with_the_oldest_of_them",
        ),
    ),
    Mutation(
        "places: a delivery that runs for long is reported",
        "stream/delivery.py",
        'self._report_behind(self._began[1], "a delivery has run")',
        "pass",
        ("tests/unit/stream/test_delivery.py::test_a_delivery_that_runs_for_long_is_reported_until_it_ends",),
    ),
    Mutation(
        "places: one that lies beside the tables holds no stream",
        "stream/delivery.py",
        "is_full = self.place.holds_streams and ",
        "is_full = ",
        ("tests/unit/stream/test_delivery.py::test_a_place_beside_the_tables_holds_no_stream",),
    ),
    Mutation(
        "places: a stream that waited for one goes on below half its buffer",
        "stream/delivery.py",
        "self.buffer_s / 2 if self._is_full else self.buffer_s",
        "self.buffer_s",
        (
            "tests/unit/stream/test_delivery.py::test_a_stream_that_waited_goes_on_once_less_than_half_a_buffer_is_lacking",
        ),
    ),
)
