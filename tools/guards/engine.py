"""Guards of the room `engine`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import COST, WAREHOUSE

MUTATIONS = (
    Mutation(
        "top-k: records for later versions of a lookup hold scores as tuples do",
        "engine/stream_records.py",
        "score_type if name in columns.scores else carried_type",
        "carried_type",
        ("tests/unit/topk/test_scores.py::test_records_for_later_versions_of_a_lookup_hold_scores_as_tuples_do",),
    ),
    Mutation(
        "chains: a retraction counts nothing",
        "engine/repeats.py",
        "is_dropped = is_retraction & (until > before)",
        "is_dropped = is_retraction & False",
        (
            "tests/unit/engine/test_repeats.py",
            "tests/unit/delivery/test_answer_log.py::test_a_retraction_of_a_version_that_went_to_quarantine_counts_nothing",
        ),
    ),
    Mutation(
        "chains: a retraction that is late is registered",
        "engine/repeats.py",
        "is_dropped = is_retraction & (until > before)",
        "is_dropped = is_retraction",
        ("tests/unit/engine/test_repeats.py",),
    ),
    Mutation(
        "where of a join with a table: pairs for which it fails are counted",
        "engine/answer_files.py",
        "all_counts.update(counts)",
        "pass",
        ("tests/unit/engine/test_answer_files.py",),
    ),
    Mutation(
        "a key may be called as a column beside those of answers",
        "engine/output_tables.py",
        '_ANSWERED_AT = "answered at"',
        '_ANSWERED_AT = "answered"',
        ("tests/contract/test_named_keys.py::test_a_list_of_one_names_its_column_whatever_it_is_called[answered]",),
    ),
    Mutation(
        "columns: a derived column that its part of a tuple can't come from",
        "engine/derived_columns.py",
        'require_fit(f"streams.{stream}.{giving[name]}", part, added[name], columns)',
        "pass",
        ("tests/unit/cli/test_expressions.py",),
    ),
    Mutation(
        "a state whose bytes have changed on the disk is refused",
        "engine/task_states.py",
        "if not state or content[:_HEADER_BYTES] != _checksum(state):",
        "if len(content) < _HEADER_BYTES:",
        ("tests/unit/engine/test_task_states.py",),
    ),
    Mutation(
        "a lost state of the clock is refused before the stream starts",
        "engine/task_states.py",
        "[CLOCK, *range(tasks)]",
        "[*range(tasks)]",
        ("tests/unit/engine/test_task_states.py", "tests/unit/storage/test_checkpoint.py"),
    ),
    Mutation(
        "a large state: a chunk's checksum is compared once by a process",
        "engine/chunk_stores.py",
        "if _CHECKED.get(str(file)) == known:",
        "if False:",
        (f"{COST}[interval]",),
    ),
    Mutation(
        "facts hold from a tick that nobody has processed",
        "engine/next_facts.py",
        "settings_of(policy), tick + 1, evidence",
        "settings_of(policy), tick, evidence",
        ("tests/properties/test_facts.py",),
    ),
    Mutation(
        "states: one that can't be deleted fails no batch",
        "engine/task_states.py",
        "with suppress(OSError):",
        "with suppress():",
        ("tests/unit/engine/test_task_states.py",),
    ),
    Mutation(
        "chunks: one that can't be deleted fails no batch",
        "engine/task.py",
        "with suppress(OSError):",
        "with suppress():",
        ("tests/unit/engine/test_task_states.py",),
    ),
    Mutation(
        "chunks: a deletion that may have been carried out is no content any more",
        "engine/chunk_stores.py",
        "_CACHE.drop(str(self.directory), name)",
        "pass",
        ("tests/unit/engine/test_chunk_stores.py",),
    ),
    Mutation(
        "bucket: the state before a batch stays until the tables have it",
        "engine/task_states.py",
        "self._file(owner, batch - 2).unlink",
        "self._file(owner, batch - 1).unlink",
        (WAREHOUSE,),
    ),
    Mutation(
        "lookups: a correction reads what was seen",
        "engine/stream_reader.py",
        "source.is_history(columns) and not columns.lookups else",
        "source.is_history(columns) else",
        (
            "tests/unit/stream/test_lookups.py::test_ten_versions_are_seen_alike_by_corrections_and_rebuilds_when_their_source_is_gone[csv]",
        ),
    ),
    Mutation(
        "lookups: keys of types that never meet",
        "engine/lookup_types.py",
        "if dtype is not None and not meets(dtype, other):",
        "if False:",
        (
            "tests/unit/stream/test_lookups.py::test_a_key_that_can_meet_none_of_the_table_is_refused_before_anything_is_written",
        ),
    ),
    Mutation(
        "newest lookups: segments are found by their records",
        "engine/stream_reader.py",
        "pc.min_max(self.stored.column(column))",
        "pc.min_max(self.tuples.column(column))",
        (
            "tests/unit/stream/test_newest_lookups.py::test_a_window_all_of_whose_records_were_left_out_appears_when_a_newer_version_keeps_them",
        ),
    ),
    Mutation(
        "newest lookups: columns that history does not hold",
        "engine/stream_records.py",
        "if dtype is None:",
        "if False:",
        (
            "tests/unit/stream/test_newest_lookups.py::test_a_column_that_history_cannot_hold_is_refused_before_anything_is_written",
        ),
    ),
    Mutation(
        "implausible times: a tail of late tuples is plausible",
        "engine/outlying_times.py",
        "max(_SPANS * (high - low), LEAST_MS)",
        "_SPANS * (high - low)",
        ("tests/unit/engine/test_outlying_times.py",),
    ),
    Mutation(
        "implausible times: a few of them do not make the middle",
        "engine/outlying_times.py",
        "tail = max(1, n // _TAIL)",
        "tail = 0",
        ("tests/unit/engine/test_outlying_times.py",),
    ),
    Mutation(
        "having: withheld answers do not count as answers",
        "engine/output_tables.py",
        "answers = without_retracted(windows)",
        "answers = windows",
        ("tests/unit/aggregate/test_having.py::test_a_stream_counts_and_shows_the_answers_that_it_gives[added to]",),
    ),
)
