"""Guards of the room `stream`: the plan of batches."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import PACE

MUTATIONS = (
    Mutation(
        "what is wrong with the columns of all streams is refused at once",
        "stream/source_sample.py",
        "problems += unfit.problems",
        "raise",
        ("tests/contract/test_conditions_of_pairs.py",),
    ),
    Mutation(
        "where of a join: the types of the table's columns are checked",
        "stream/source_sample.py",
        "subject != TABLE or query.pair_condition is not None for",
        "subject != TABLE for",
        ("tests/contract/test_conditions_of_pairs.py::test_a_condition_that_does_not_fit_the_table_is_refused",),
    ),
    Mutation(
        "a bounded run goes on after the end of another one as after quiet",
        "stream/batch_planner.py",
        "closed(before) if self.ended else before",
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
        "pace: a batch is followed by a rest",
        "stream/pace.py",
        "_WHOLE = 1.5",
        "_WHOLE = 1.0",
        (PACE,),
    ),
    Mutation(
        "pace: a slow batch is followed by the next one within a second",
        "stream/pace.py",
        "min(round(_WHOLE * ms), _MOST_MS)",
        "round(_WHOLE * ms)",
        (PACE,),
    ),
    Mutation(
        "pace: a source that drips makes no batch for each file",
        "stream/pace.py",
        "max(self.least_ms, self._pace_ms) - since_ms",
        "self._pace_ms - since_ms",
        (PACE,),
    ),
    Mutation(
        "pace: a source that is slow to look at is looked at less often",
        "stream/batch_planner.py",
        "self.pace.look_took(self.clock() - now)",
        "self.pace.look_took(0)",
        (PACE,),
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
        "the number of bins is that of the first record",
        "stream/source_bins.py",
        "return query.with_bins(bins)",
        "return query.with_bins(256)",
        ("tests/unit/stream/test_source_bins.py",),
    ),
)
