"""The guards of tailrace: each with the text that makes it, and the quick tests that go red without it."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A guard, the text of a file that makes it, the text in its place, and the tests that must fail then."""

    guard: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]


WAREHOUSE = "tests/objects/test_warehouse.py"
SINK = "tests/unit/spark/test_sink.py"
PLATFORMS = "tests/orchestration/test_cluster_platforms.py"
SUBMISSION = "tests/orchestration/test_cluster_submission.py"
REBUILD, PAIRS = (f"tests/unit/stream/test_rebuild{name}.py" for name in ("", "_of_pairs"))
MERGED = "tests/properties/test_merged_batches.py"

MUTATIONS = (
    Mutation(
        "app transactions: the check",
        "storage/tables.py",
        "if _last_batch(table, app, name) >= batch:",
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
        "lock on the checkpoint",
        "storage/writer.py",
        'with layout.lock("stream"):',
        'with layout.lock("nobody"):',
        ("tests/unit/spark/test_stream_lock.py",),
    ),
    Mutation(
        "a full disk stands in the status",
        "storage/status.py",
        ".ljust(_ROOM)",
        "",
        ("tests/unit/spark/test_attempts.py",),
    ),
    Mutation(
        "a driver that is started on a full disk waits",
        "storage/writer.py",
        "if not waits or layout.drain.exists():",
        "if True:",
        ("tests/unit/storage/test_writer.py",),
    ),
    Mutation(
        "rebuild: partition plans of another number of tasks",
        "stream/rebuild.py",
        "readers=readers, plans_from=planned)",
        "readers=readers)",
        (f"{PAIRS}::test_pairs_are_those_of_the_oracle_for_any_number_of_tasks_in_turn[emd_join-False]",),
    ),
    Mutation(
        "rebuild: no double in a table that an older batch wrote last",
        "spark/sink.py",
        "if name in table_rows and batch >= self.entries.get(name, 0)",
        "if name in table_rows",
        (f"{REBUILD}::test_a_lost_checkpoint_is_made_again_from_history",),
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
        "if self.switch.exists():",
        "if False:",
        (f"{REBUILD}::test_a_rebuild_that_dies_at_any_write_leaves_the_old_stream_or_is_done[parallelism]",),
    ),
    Mutation(
        "rebuild: windows that closed keep entries apart",
        "storage/replay.py",
        "if before.closes or before.idle_ms != entry.header.idle_ms:",
        "if before.idle_ms != entry.header.idle_ms:",
        (f"{MERGED}::test_what_acts_between_two_batches_keeps_them_apart",),
    ),
    Mutation(
        "rebuild: heartbeats and idle streams keep entries apart",
        "storage/replay.py",
        "if before.heartbeats or before.idle or entry.header.heartbeats or entry.header.idle:",
        "if False:",
        (f"{MERGED}::test_what_acts_between_two_batches_keeps_them_apart",),
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
        "the innermost cause of a failure of Delta's library",
        "stream/failures.py",
        'text = _INNER.sub(": ", text)',
        "pass",
        ("tests/unit/stream/test_failures.py",),
    ),
    Mutation("balance", "spark/sink.py", "self.balance(table_rows)", "pass", (SINK,)),
    Mutation(
        "timestamps far in the future",
        "sources/check.py",
        "event - columns.ahead_ms > arrival",
        "event - columns.ahead_ms < 0",
        ("tests/unit/sources/test_check.py",),
    ),
    Mutation(
        "facts hold from a tick that nobody has processed",
        "engine/next_facts.py",
        "settings_of(policy), tick + 1, evidence",
        "settings_of(policy), tick, evidence",
        ("tests/properties/test_facts.py",),
    ),
    Mutation(
        "order in the sink: `metrics` last",
        "storage/table_schemas.py",
        '("history", "results", "late", "quarantine", "facts", "segments", "metrics")',
        '("metrics", "history", "results", "late", "quarantine", "facts", "segments")',
        (SINK,),
    ),
    Mutation(
        "order in the sink: executed before a table is asked",
        "spark/sink.py",
        "table_rows = self.execute(rows)",
        'if self.tables.last_batch("metrics", self.app) >= batch:\n            return {}\n'
        "        table_rows = self.execute(rows)",
        (SINK,),
    ),
    Mutation(
        "lease: a driver that lost it ends",
        "storage/writer.py",
        "os._exit(LOST)",
        "return",
        ("tests/unit/storage/test_writer.py",),
    ),
    Mutation(
        "journal: an entry of another driver is not replaced",
        "storage/journal.py",
        "create_atomically(self._file(number)",
        "write_atomically(self._file(number)",
        ("tests/unit/storage/test_journal.py",),
    ),
    Mutation(
        "journal: the entries of a block are read at once",
        "storage/journal.py",
        "list(readers.map(lambda file: file.read_bytes(), files))",
        "[file.read_bytes() for file in files]",
        ("tests/unit/storage/test_journal.py",),
    ),
    Mutation(
        "journal: an entry that can't be deleted fails no append",
        "storage/journal.py",
        "with suppress(OSError):",
        "with suppress():",
        ("tests/unit/storage/test_journal.py",),
    ),
    Mutation(
        "proposals: an object store is asked once a second",
        "storage/proposals.py",
        "self._due_s = now_s + _ASK_EVERY_S",
        "self._due_s = now_s",
        ("tests/unit/storage/test_proposals.py",),
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
        "_HELD.drop(str(self.directory), name)",
        "pass",
        ("tests/unit/engine/test_chunk_stores.py",),
    ),
    Mutation(
        "deployment: the query fits its checkpoint",
        "orchestration/submit.py",
        "layout.require_deployable(query.query.structure(), query.file)",
        "pass",
        ("tests/orchestration/test_stream_operators.py",),
    ),
    Mutation(
        "vacuum: no file that a correction reads",
        "spark/sink.py",
        "held.enter_context(self.tables.layout.lock(VACUUM))",
        "pass",
        (SINK,),
    ),
    Mutation(
        "retraction",
        "correction/versions.py",
        "gone = select(earlier, identity.find(earlier, found) < 0)",
        "gone = earlier.slice(0, 0)",
        ("tests/properties/test_corrections.py",),
    ),
    Mutation(
        "fence",
        "drivers/launch.py",
        "victims = fence.fence(home, token)",
        "victims: list[int] = []",
        ("tests/orchestration/test_launch.py",),
    ),
    Mutation(
        "fence: processes are dead before it returns",
        "drivers/fence.py",
        "if not targets and not survivor_pids:",
        "if True:",
        ("tests/orchestration/test_fence.py",),
    ),
    Mutation(
        "lineage: rows of a correction that has not ended",
        "orchestration/lineage.py",
        "any(ms >= since.timestamp() * 1000 for ms in",
        "any(True for ms in",
        ("tests/orchestration/test_lineage.py::test_a_correction_tells_its_rows_once_it_has_come_to_its_end",),
    ),
    Mutation(
        "tables of measurements: ratios among what fits",
        "bench/screen_tables.py",
        "columns = in_order(rows[0])",
        "columns = list(rows[0])",
        ("tests/unit/bench/test_screen_tables.py",),
    ),
    Mutation(
        "progress: the columns that fit",
        "terminal/progress_table.py",
        "<= width:",
        "<= 10 * width:",
        ("tests/unit/terminal/test_progress_table.py",),
    ),
    Mutation(
        "a topic's records stay in the order of their partition",
        "sources/kafka_records.py",
        "np.maximum.accumulate(merged_ms[own])",
        "merged_ms[own]",
        ("tests/properties/test_kafka_records.py",),
    ),
    Mutation(
        "a topic's records behind the end of a cut are left out",
        "sources/kafka_fetch.py",
        "& (of_message < ends[of_part])",
        "",
        ("tests/properties/test_kafka_records.py",),
    ),
    Mutation(
        "Kafka's errors of access: forgotten once the client was let in",
        "sources/kafka_access.py",
        """        self._newest = None

    @property""",
        """        pass

    @property""",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "Kafka's errors of access: told in place of a timeout",
        "sources/kafka_access.py",
        "self._newest = error",
        "pass",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "Kafka's settings that the client does not take are refused",
        "sources/kafka_access.py",
        "except KafkaException as error:\n        right",
        "except ZeroDivisionError as error:\n        right",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "cluster mode: the launcher ends earlier applications",
        "drivers/launch.py",
        "end_applications(platform, _say)",
        "pass",
        (f"{SUBMISSION}::test_the_driver_of_a_killed_submission_is_ended_before_the_next_one_is_submitted",),
    ),
    Mutation(
        "cluster mode: the fence ends applications",
        "drivers/fence.py",
        "if platform is not None:",
        "if False:",
        (f"{SUBMISSION}::test_the_fence_as_a_command_ends_the_driver_after_a_crash",),
    ),
    Mutation(
        "cluster mode: the end of applications is waited for",
        "drivers/applications.py",
        "            if not remaining:\n",
        "            if True:\n",
        (PLATFORMS, "tests/properties/test_cluster_mode.py"),
    ),
    Mutation(
        "cluster mode: no news is no end",
        "drivers/applications.py",
        "            state = str(error)\n",
        "            return\n",
        (PLATFORMS, "tests/properties/test_cluster_mode.py"),
    ),
    Mutation(
        "cluster mode: nothing is submitted where nothing can be ended",
        "drivers/cluster_submission.py",
        "if self._answer() is None:",
        "if False:",
        (f"{SUBMISSION}::test_it_waits_for_a_platform_that_is_away",),
    ),
    Mutation(
        "cluster mode: a late submission is ended",
        "drivers/cluster_submission.py",
        "self._platform.end(application)",
        "pass",
        (f"{SUBMISSION}::test_a_late_submission_of_an_earlier_start_is_ended",),
    ),
    Mutation(
        "cluster mode: a signal ends the driver",
        "drivers/cluster_submission.py",
        "end_applications(platform, _say)",
        "pass",
        (f"{SUBMISSION}::test_a_signal_ends_the_driver_first",),
    ),
    Mutation(
        "cluster mode: a standby ResourceManager knows nothing",
        "drivers/yarn.py",
        "any(member in value for member in members)",
        "True",
        (PLATFORMS,),
    ),
    Mutation(
        "cluster mode: YARN starts no driver by itself",
        "drivers/yarn.py",
        '"spark.yarn.maxAppAttempts": "1"',
        '"spark.yarn.maxAppAttempts": "2"',
        (PLATFORMS,),
    ),
    Mutation(
        "cluster mode: no later pod of the same name is deleted",
        "drivers/kubernetes.py",
        '"preconditions": {"uid": uid}',
        '"preconditions": {"uid": "uid-1"}',
        (PLATFORMS,),
    ),
    Mutation(
        "cluster mode: no setting hides a driver",
        "orchestration/spark_connection.py",
        "if name in _OURS:",
        "if False:",
        ("tests/orchestration/test_cluster_command.py",),
    ),
    Mutation(
        "cluster mode: no secret on a command line",
        "orchestration/spark_connection.py",
        "if _SECRET.search(name) and _REFERENCE not in name:",
        "if False:",
        ("tests/orchestration/test_cluster_command.py",),
    ),
    Mutation(
        "bucket: a lock file that another container does not see spares no wait",
        "storage/locks.py",
        'f"{boot_id()}:{status.st_dev}:{status.st_ino}"',
        "boot_id()",
        ("tests/objects/test_lease.py",),
    ),
    Mutation(
        "bucket: its store honours conditions",
        "storage/locks.py",
        "    require_conditions(home)\n",
        "",
        (WAREHOUSE,),
    ),
    Mutation(
        "checkpoint: that of another driver is not replaced",
        "storage/manifest.py",
        "    create_atomically(file, ",
        "    write_atomically(file, ",
        (WAREHOUSE,),
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
        "bucket: the state before a batch stays until the tables have it",
        "engine/task_states.py",
        "self._file(task, batch - 2).unlink",
        "self._file(task, batch - 1).unlink",
        (WAREHOUSE,),
    ),
    Mutation(
        "bucket: a correction whose lease is lost commits nothing",
        "correction/correct.py",
        "        require_held()\n",
        "",
        (WAREHOUSE,),
    ),
    Mutation(
        "bucket: a correction replaces nothing of one that ran meanwhile",
        "correction/correct.py",
        '"interval", str(span), corrections)',
        '"interval", str(span))',
        (WAREHOUSE,),
    ),
    Mutation(
        "bucket: a calibration whose lease is lost proposes nothing",
        "calibration/calibrate.py",
        "        require_held()\n",
        "",
        (WAREHOUSE,),
    ),
)
