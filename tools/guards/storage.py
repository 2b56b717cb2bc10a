"""Guards of the room `storage`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import LOST_FILES, WAREHOUSE

MERGED = "tests/properties/test_merged_batches.py"
CHECKPOINT = "tests/unit/storage/test_checkpoint.py"

MUTATIONS = (
    Mutation(
        "emd_join: a feedback period of an earlier version binds no checkpoint",
        "storage/manifest.py",
        " - {UNBOUND})",
        ")",
        ("tests/unit/storage/test_manifest.py",),
    ),
    Mutation(
        "checkpoint: a selection that its release did not know, and is empty, is no change",
        "storage/manifest.py",
        "if name in before or now[name] != []]",
        "if True]",
        (
            "tests/contract/test_conditions_of_pairs.py::test_a_checkpoint_of_an_earlier_release_knows_no_selection_and_no_condition",
        ),
    ),
    Mutation(
        "a full disk stands in the status",
        "storage/status.py",
        ".ljust(_ROOM)",
        "",
        ("tests/unit/stream/test_run.py",),
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
        "journal: entries that can't be merged or deleted fail no append",
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
        "a driver whose warehouse is away waits",
        "storage/deployed.py",
        "except FileNotFoundError:\n            return None",
        "except ZeroDivisionError:\n            return None",
        ("tests/unit/storage/test_deployment.py::test_a_driver_whose_warehouse_is_away_waits_and_begins_nothing",),
    ),
    Mutation(
        "checkpoint: that of another driver is not replaced",
        "storage/manifest.py",
        "    create_atomically(file, ",
        "    write_atomically(file, ",
        (WAREHOUSE,),
    ),
    Mutation(
        "a checkpoint fixes the number of bins",
        "storage/manifest.py",
        "query.fixed_by(before).structure()",
        "query.structure()",
        ("tests/unit/stream/test_source_bins.py",),
    ),
    Mutation(
        "checkpoint: a lost manifest",
        "storage/checkpoint.py",
        'elif Tables(layout).has("metrics"):',
        "elif False:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: a lost note of written batches",
        "storage/checkpoint.py",
        "if not note and states.newest() > 0:",
        "if False:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: a lost state of a task",
        "storage/checkpoint.py",
        "if lost is not None and read_written(layout) == note:",
        "if False:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: a running stream's state is not lost",
        "storage/checkpoint.py",
        "if lost is not None and read_written(layout) == note:",
        "if lost is not None:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: a gap in the journal",
        "storage/checkpoint.py",
        "if gap is not None:",
        "if False:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: a journal that lacks its newest entries",
        "storage/checkpoint.py",
        "if entries < batches:",
        "if False:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: a lost table",
        "storage/checkpoint.py",
        "if (is_begun or (batches and not resumes)) and (name not in histories or last >= 0):",
        "if False:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: a table of an older backup",
        "storage/checkpoint.py",
        "if actual < last:",
        "if actual < -1:",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: tables that are ahead of the journal",
        "storage/checkpoint.py",
        "batches = max(batches, actual + 1)",
        "pass",
        (CHECKPOINT,),
    ),
    Mutation(
        "checkpoint: readers refuse tables that are ahead of the journal",
        "storage/checkpoint.py",
        "_check_journal_of(layout, _check_tables(layout, query, manifest, note, resumes=False))",
        "_check_tables(layout, query, manifest, note, resumes=False)",
        (CHECKPOINT,),
    ),
    Mutation(
        "lost files: a driver does not go on without them",
        "storage/checkpoint.py",
        "if resumes:",
        "if False:",
        (LOST_FILES,),
    ),
    Mutation(
        "opened tables: each stays at its version",
        "storage/opened_tables.py",
        "if name not in self._opened:",
        "if True:",
        ("tests/unit/storage/test_opened_tables.py::test_what_is_appended_meanwhile_is_not_read",),
    ),
    Mutation(
        "opened tables: one that is created meanwhile is not there",
        "storage/opened_tables.py",
        "if name not in self._there:",
        "if True:",
        ("tests/unit/storage/test_opened_tables.py::test_a_table_that_is_created_meanwhile_is_not_there",),
    ),
    Mutation(
        "lost files: a table of corrections that is gone",
        "storage/checkpoint.py",
        "if not there[index] and is_used:",
        "if False:",
        (LOST_FILES,),
    ),
    Mutation(
        "results of a query that never ran",
        "storage/checkpoint.py",
        "if manifest is None:\n        raise refuse(",
        "if False:\n        raise refuse(",
        ("tests/unit/cli/test_commands.py::test_a_query_that_never_ran_has_nothing_to_read",),
    ),
    Mutation(
        "checkpoint: corrections wait for batches that run again",
        "storage/checkpoint.py",
        "if newest + 1 < last:",
        "if False:",
        (CHECKPOINT,),
    ),
    Mutation(
        "dimension table: a Delta log that is cut",
        "storage/delta_dimension.py",
        "version < before:",
        "version < 0:",
        (
            "tests/unit/stream/test_dimension_sources.py::test_a_log_that_is_cut_leaves_the_version_in_force_and_says_so",
        ),
    ),
    Mutation(
        "dimension table: a Delta version that can't be read",
        "storage/delta_dimension.py",
        "except (DeltaError, pa.ArrowException, OSError, ValueError) as error:",
        "except ZeroDivisionError as error:",
        (
            "tests/unit/stream/test_dimension_sources.py::test_half_a_commit_leaves_the_version_in_force_until_it_is_whole",
        ),
    ),
)
