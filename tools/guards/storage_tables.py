"""Guards of the room `storage`: tables."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import LOST_FILES, NAMED_KEYS, REBUILD, SINK, WAREHOUSE

RANGE = "tests/unit/storage/test_answer_range.py"
EXTREMES = "tests/unit/cli/test_expressions_over_extremes.py"

MUTATIONS = (
    Mutation(
        "a table that begins again has another commit of the same version",
        "storage/table_log.py",
        "return _version(newest), stamp(newest)",
        "return _version(newest), None",
        ("tests/orchestration/test_console_cache.py::test_a_table_that_begins_again_has_another_version",),
    ),
    Mutation(
        "an upsert finds the row whose columns are null, too",
        "storage/tables.py",
        "IS NOT DISTINCT FROM",
        "=",
        ("tests/unit/storage/test_tables.py",),
    ),
    Mutation(
        "results of a key: however its list is written",
        "storage/answer_range.py",
        "return replace(self, key=key)",
        "return self",
        (f"{NAMED_KEYS}[parquet-sum]",),
    ),
    Mutation(
        "results: expressions over answers are bound to the types of the stream's columns",
        "storage/results.py",
        "Pipeline.of(query, manifest.types, layout.histories(query.streams)).kind",
        '__import__("tailrace.kinds").kinds.build(query)',
        (
            f"{EXTREMES}::test_results_in_each_form",
            f"{EXTREMES}::test_before_the_first_batch_there_are_no_answers_but_their_columns",
        ),
    ),
    Mutation(
        "results by a list of keys have its columns in place of the text",
        "storage/results.py",
        '*(["key"] if query.key_names else [])',
        "*()",
        (f"{NAMED_KEYS}[parquet-sum]",),
    ),
    Mutation(
        "app transactions: the check",
        "storage/tables.py",
        "if last_batch_of(table, app, name) >= batch:",
        "if False:",
        (SINK,),
    ),
    Mutation(
        "app transactions: the record",
        "storage/tables.py",
        "CommitProperties(app_transactions=[Transaction(_app_id(app, name), batch)])",
        "CommitProperties()",
        (SINK,),
    ),
    Mutation(
        "app transactions: batch 0",
        "storage/tables.py",
        "return -1 if last is None else last",
        "return last or -1",
        (SINK,),
    ),
    Mutation(
        "rebuild: history has all of a segment",
        "storage/stored_segments.py",
        "if reject is None:",
        "if False:",
        (f"{REBUILD}::test_quarantine_that_lacks_something_is_a_loud_refusal",),
    ),
    Mutation(
        "rebuild: nothing reads what is half moved",
        "storage/layout.py",
        "if holds(self.switch):",
        "if False:",
        (f"{REBUILD}::test_a_rebuild_that_dies_at_any_write_leaves_the_old_stream_or_is_done[parallelism]",),
    ),
    Mutation(
        "state version",
        "storage/layout.py",
        "if manifest.state != STATE_VERSION:",
        "if False:",
        (f"{REBUILD}::test_a_state_of_an_older_version_is_refused_and_made_anew",),
    ),
    Mutation(
        "retention: seven days",
        "storage/retention.py",
        "def properties(hours: int = _HOURS[0])",
        "def properties(hours: int = _HOURS[-1])",
        ("tests/unit/storage/test_retention.py",),
    ),
    Mutation(
        "retention: not of very many files",
        "storage/retention.py",
        "if removed - _removed(table, hours) <= _MOST_FILES",
        "if True",
        ("tests/unit/storage/test_retention.py",),
    ),
    Mutation(
        "order in the sink: `metrics` last",
        "storage/table_schemas.py",
        '("history", "results", "late", "quarantine", "facts", "segments", "metrics")',
        '("metrics", "history", "results", "late", "quarantine", "facts", "segments")',
        (SINK,),
    ),
    Mutation(
        "no value of a rejected record in a log",
        "storage/rejects.py",
        'Counter(_QUOTED.sub("…", row["reason"]) for row in rows)',
        'Counter(row["reason"] for row in rows)',
        ("tests/orchestration/test_driver_warnings.py",),
    ),
    Mutation(
        "bucket: the note of another driver is not replaced",
        "storage/written_batches.py",
        "file.replace(content, stored.version) if stored else file.create(content)",
        "file.write_bytes(content) is None",
        (WAREHOUSE,),
    ),
    Mutation(
        "bucket: the note never goes back",
        "storage/written_batches.py",
        "max(before.values(), default=-1) < batch and",
        "True and",
        (WAREHOUSE,),
    ),
    Mutation(
        "lost files: a checkpoint of a log that is cut is damage",
        "storage/lost_files.py",
        '    "Invalid Parquet file",\n',
        "",
        (f"{LOST_FILES}::test_a_checkpoint_of_a_log_that_is_cut_is_damage",),
    ),
    Mutation(
        "lost files: a column that a table lacks is no damage",
        "storage/lost_files.py",
        "(missing := _NO_COLUMN.search(str(error))) is not None",
        "(missing := _NO_COLUMN.search(str(error))) is None",
        (f"{LOST_FILES}::test_a_column_that_a_table_lacks_is_no_damage",),
    ),
    Mutation(
        "lost files: an error of a table is looked into",
        "storage/lost_files.py",
        "if (problem := _problem(layout, name, error)) is not None:",
        "if False:",
        (LOST_FILES,),
    ),
    Mutation(
        "lost files: a table's files without its log",
        "storage/tables.py",
        "if has_leftovers(self.layout, name) and not self._is_table(path):",
        "if False:",
        (LOST_FILES,),
    ),
    Mutation(
        "a range of answers: no file of other ones",
        "storage/answer_range.py",
        "return reduce(and_, conditions) if conditions else None",
        "return None",
        (RANGE,),
    ),
    Mutation(
        "a condition on a column that a file's statistics lack",
        "storage/file_bounds.py",
        "    if not _NULL_BOUND.search(str(fragment.partition_expression)):",
        "    if True:",
        ("tests/unit/storage/test_tables.py",),
    ),
    Mutation(
        "a condition leaves out files by the columns that statistics have",
        "storage/file_bounds.py",
        "if field.name in partitions or field.name in condition",
        "if True",
        ("tests/unit/storage/test_tables.py",),
    ),
    Mutation(
        "a range of answers: late tuples of other windows",
        "storage/answer_range.py",
        "within_any(model.late_time, (low - 1).tolist(), (high - 1).tolist())",
        "within_any(model.late_time, [BEFORE_ALL], [AFTER_ALL])",
        (RANGE,),
    ),
    Mutation(
        "a range of answers: corrections with times elsewhere",
        "storage/answer_range.py",
        'return ds.field("left_id").isin(ids["left_id"].unique())',
        "return None",
        (RANGE,),
    ),
    Mutation(
        "correction: segments whose ranges of ids meet may hold repeats",
        "storage/log.py",
        "mask = ~is_distinct.to_numpy() | overlap_another(*self._id_ends)",
        "mask = ~is_distinct.to_numpy()",
        ("tests/unit/storage/test_log.py",),
    ),
    Mutation(
        "newest lookups: a version counts for cut-offs after it came",
        "storage/lookup_versions.py",
        'or committed.get(fact["from_segment"], before_ms) < before_ms:',
        "or True:",
        (
            "tests/unit/stream/test_newest_lookups.py::test_an_interval_recomputes_all_keys_of_its_windows_with_the_version_that_its_end_knows",
        ),
    ),
    Mutation(
        "newest lookups: segments without tuples have records",
        "storage/log.py",
        'else ds.field("min_event").is_valid()',
        'else ds.field("accepted") > 0',
        (
            "tests/unit/stream/test_newest_lookups.py::test_a_window_all_of_whose_records_were_left_out_appears_when_a_newer_version_keeps_them",
        ),
    ),
    Mutation(
        "having: what a quiet stream withheld belongs to an interval",
        "storage/progress.py",
        '| ds.field("counts").is_valid()',
        "",
        ("tests/unit/correction/test_given_answers.py",),
    ),
)
