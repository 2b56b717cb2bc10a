"""Guards of the room `stream`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import PACE, REBUILD, SINK

RUN = "tests/unit/stream/test_run.py"
HAVING = "tests/unit/aggregate/test_having.py"

MUTATIONS = (
    Mutation(
        "activity: unread rows are unknown while the source can't be read",
        "stream/activity_log.py",
        'row |= {"rows_left": None} if status.hides_rows else {}',
        "pass",
        ("tests/unit/stream/test_activity_log.py::test_what_is_unread_is_null_while_the_source_can_not_be_read",),
    ),
    Mutation(
        "Ctrl-C: an interruption that became an error of a batch is not retried",
        "stream/run.py",
        "                raise_if_interrupted()  # an extension may have made this error of it\n",
        "",
        (f"{RUN}::test_an_interruption_that_became_another_error_is_not_retried",),
    ),
    Mutation(
        "Ctrl-C: an interruption that became an error of a source is not retried",
        "stream/retrying.py",
        "        raise_if_interrupted()  # an extension may have made this error of it\n",
        "",
        (f"{RUN}::test_an_interruption_that_became_another_error_is_not_retried",),
    ),
    Mutation(
        "answers are sent before corrections know of their batch, and not after",
        "stream/sink.py",
        'if self.answer_topic is None or self.tables.last_batch("metrics") >= batch:',
        "if self.answer_topic is None:",
        ("tests/unit/stream/test_sink.py::test_a_batch_that_corrections_know_of_is_not_sent_again",),
    ),
    Mutation(
        "columns: what does not fit the source is refused before the first write",
        "stream/app.py",
        "    if sources.have_types:\n        require_types(query, sources.types, types_by_subject(tables))\n",
        "    if sources.have_types:\n",
        ("tests/unit/cli/test_expressions.py",),
    ),
    Mutation(
        "rebuild: no double in a table that an older batch wrote last",
        "stream/sink.py",
        "if name in rows and batch >= self.entries.get(name, 0)",
        "if name in rows",
        (f"{REBUILD}::test_a_lost_checkpoint_is_made_again_from_history",),
    ),
    Mutation(
        "a batch that does not balance is not written",
        "stream/sink.py",
        "        require_balance(table_rows)\n",
        "",
        (SINK,),
    ),
    Mutation(
        "vacuum: no file that a correction reads",
        "stream/stream_tables.py",
        "held.enter_context(self.tables.layout.lock(VACUUM, 0))",
        "pass",
        (SINK,),
    ),
    Mutation(
        "a driver's lease before each table",
        "stream/sink.py",
        "            self.require_held()\n            self.tables.append(",
        "            self.tables.append(",
        (SINK,),
    ),
    Mutation(
        "answers are sent before the batch is noted",
        "stream/sink.py",
        "self.answer_topic.send(",
        "record_written(self.tables.tables.layout, lacking, batch)\n                self.answer_topic.send(",
        (SINK,),
    ),
    Mutation(
        "a live source that is not fit ends the run",
        "stream/retrying.py",
        "            if not left_s:",
        "            if False:",
        (RUN,),
    ),
    Mutation(
        "the status has the time at which a source that is not fit ends the driver",
        "stream/retrying.py",
        "reporter.report_problem(SOURCE, str(error), left_s)",
        "reporter.report_problem(SOURCE, str(error))",
        (RUN,),
    ),
    Mutation(
        "a batch whose status cannot be written is not run twice at once",
        "stream/run.py",
        "if self.running is None:",
        "if True:",
        (f"{RUN}::test_a_batch_whose_status_cannot_be_written_is_not_run_twice_at_once",),
    ),
    Mutation(
        "a run that ends waits for its batch",
        "stream/run.py",
        "                self.running.wait(_INTERRUPTED_S)",
        "                pass",
        (f"{RUN}::test_a_run_that_ends_cancels_its_batch_and_waits_for_it",),
    ),
    Mutation(
        "a failed batch is run again from the states before it",
        "stream/run.py",
        "record.segments, self.done - 1)",
        "record.segments, self.done)",
        (RUN,),
    ),
    Mutation(
        "the innermost cause of a failure of Delta's library",
        "stream/failures.py",
        'text = _INNER.sub(": ", text)',
        "pass",
        ("tests/unit/stream/test_failures.py",),
    ),
    Mutation(
        "pace: the loop waits no longer than until the next look",
        "stream/run.py",
        "not self.source_retries.due else self.planner.wait_s",
        "True else 0.0",
        (PACE,),
    ),
    Mutation(
        "errors of the system are no bugs",
        "stream/failures.py",
        "isinstance(error, _BUGS) and not isinstance(error, (OSError, pa.ArrowInvalid))",
        "isinstance(error, _BUGS)",
        ("tests/unit/stream/test_failures.py",),
    ),
    Mutation(
        "places: the stream waits for one whose buffer is full",
        "stream/run.py",
        "takes_rows=not self.is_held",
        "takes_rows=True",
        (f"{RUN}::test_a_stream_goes_on_up_to_its_buffer_and_waits_for_a_place_that_hangs",),
    ),
    Mutation(
        "an error in the batches of a stream says which answers are written",
        "stream/app.py",
        "with noting_written(layout), open_executor",
        "with open_executor",
        ("tests/unit/cli/test_written_answers.py",),
    ),
    Mutation(
        "a refusal that has its remedy gets no other one",
        "stream/written_answers.py",
        "goes_on = isinstance(error, Busy) or not isinstance(error, Refused)",
        "goes_on = True",
        ("tests/unit/cli/test_written_answers.py::test_a_note_says_what_the_warehouse_does",),
    ),
    Mutation(
        "CSV: a text among numbers is named where the query is refused",
        "stream/source_sample.py",
        "        raise Unfit(problems + [",
        "        raise Unfit(problems + 0 * [",
        ("tests/unit/sources/test_unfit_columns.py::test_a_query_over_such_a_column_is_refused_with_the_cause",),
    ),
    Mutation(
        "having: a topic gets no answers that the stream withholds",
        "stream/stream_tables.py",
        "yield without_retracted(results)",
        "yield results",
        (f"{HAVING}::test_a_topic_gets_the_answers_that_are_given_and_loses_those_taken_back[added to]",),
    ),
    Mutation(
        "having: a run says how many answers it withheld",
        "stream/run_summary.py",
        "dict(counts).get(WITHHELD, 0)",
        "0",
        (f"{HAVING}::test_nulls_and_failures_are_no_answers_and_the_run_says_how_many",),
    ),
)
