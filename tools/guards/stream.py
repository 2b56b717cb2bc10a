"""Guards of the room `stream`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import REBUILD

PAIRS = "tests/unit/stream/test_rebuild_of_pairs.py"

MUTATIONS = (
    Mutation(
        "a bounded run goes on after the end of another one as after quiet",
        "stream/batch_planner.py",
        "_closed(before) if self.ended else before",
        "before",
        ("tests/unit/stream/test_batch_planner.py",),
    ),
    Mutation(
        "a bounded run that finds nothing new writes nothing",
        "stream/batch_planner.py",
        "elif self.ended and not self.rows_left:",
        "elif False:",
        ("tests/unit/stream/test_batch_planner.py::test_an_empty_source_is_one_batch_that_ends_the_stream",),
    ),
    Mutation(
        "rebuild: partition plans of another number of tasks",
        "stream/rebuild.py",
        "readers=readers, plans_from=planned)",
        "readers=readers)",
        (f"{PAIRS}::test_pairs_are_those_of_the_oracle_for_any_number_of_tasks_in_turn[emd_join-False]",),
    ),
    Mutation(
        "the innermost cause of a failure of Delta's library",
        "stream/failures.py",
        'text = _INNER.sub(": ", text)',
        "pass",
        ("tests/unit/stream/test_failures.py",),
    ),
    Mutation(
        "arrival: the clock at the reading is recorded",
        "stream/batch_segments.py",
        "now if name in stamped else latest",
        "now if name in stamped else None",
        ("tests/unit/stream/test_batch_planner.py",),
    ),
    Mutation(
        "arrival: a wall clock that is behind rejects nothing",
        "stream/steady_clock.py",
        "return max(self(), self._wall())",
        "return self._wall()",
        ("tests/unit/stream/test_steady_clock.py",),
    ),
    Mutation(
        "arrival: a rebuild judges a record as before",
        "stream/restated_journal.py",
        "if segment.ingested_ms is None and segment.stream in stamped",
        "if segment.stream in stamped",
        ("tests/unit/stream/test_restated_journal.py",),
    ),
    Mutation(
        "quiet: they close once arrival has come there",
        "stream/silence.py",
        "quiet=has_open",
        "quiet=False",
        ("tests/unit/stream/test_live_batch_planner.py",),
    ),
    Mutation(
        "silence: by a steady clock",
        "stream/steady_clock.py",
        "return self._start_ms + round((self._steady_s() - self._started_s) * 1000)",
        "return self._wall()",
        ("tests/unit/stream/test_steady_clock.py", "tests/unit/stream/test_live_batch_planner.py"),
    ),
    Mutation(
        "stamps: never before the last one",
        "stream/steady_clock.py",
        "max(wall(), last_stamp_ms), steady_s()",
        "wall(), steady_s()",
        ("tests/unit/stream/test_steady_clock.py",),
    ),
    Mutation(
        "status: a commit's age is steady",
        "stream/status_reporter.py",
        "committed_at_ms=None if age_ms is None else at_ms - age_ms,",
        "",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "a driver's lease before each entry of the journal",
        "stream/entry_writer.py",
        "self.require_held()",
        "pass",
        ("tests/unit/stream/test_batch_planner.py",),
    ),
    Mutation(
        "an entry that may have been written is the next one",
        "stream/entry_writer.py",
        "None if self._unconfirmed is None else",
        "None if True else",
        ("tests/unit/stream/test_batch_planner.py",),
    ),
    Mutation(
        "taken files: a record that failed is no empty one",
        "stream/taken_record.py",
        "        return _FilesSince(self, prefix, boundary)\n",
        "        return self.files_since(prefix, boundary)\n",
        ("tests/unit/stream/test_taken_record.py",),
    ),
    Mutation(
        "sources: a long backlog stays in the source",
        "stream/batch_planner.py",
        "feed.fresh() if len(self.waiting[name]) < MOST_WAITING else ()",
        "feed.fresh()",
        ("tests/unit/stream/test_live_batch_planner.py",),
    ),
    Mutation(
        "a run that accepted no record has failed",
        "stream/run_summary.py",
        "return self.read > 0 and not self.accepted",
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
        "a rebuild under another timezone reads no history",
        "stream/rebuild.py",
        "== query.streams[name].timezone",
        "or True",
        ("tests/unit/sources/test_time_zones.py",),
    ),
    Mutation(
        "the number of bins is that of the first record",
        "stream/source_bins.py",
        "return query.with_bins(bins)",
        "return query.with_bins(256)",
        ("tests/unit/stream/test_source_bins.py",),
    ),
    Mutation(
        "a status says for which reasons records were rejected",
        "stream/status_reporter.py",
        'totals["rejected"] = self._rejected',
        "pass",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
    Mutation(
        "a rebuild notes no batch that only some tables have",
        "stream/planned_rebuild.py",
        "min(tables.last_batch(name, self.before.id), count - 1)",
        "tables.last_batch(name, self.before.id)",
        (REBUILD,),
    ),
    Mutation(
        "errors of the system are no bugs",
        "stream/failures.py",
        "isinstance(error, _BUGS) and not isinstance(error, (OSError, pa.ArrowInvalid))",
        "isinstance(error, _BUGS)",
        ("tests/unit/stream/test_failures.py",),
    ),
)
