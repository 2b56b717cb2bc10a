"""Guards of the room `storage`: backups."""

from __future__ import annotations

from guards.mutation import Mutation

BACKUP = "tests/unit/storage/test_backup.py"

MUTATIONS = (
    Mutation(
        "backup: a state that is older than the tables is left out",
        "storage/backup.py",
        "(has_state := has_state and copy.has_note_of(batches))",
        "has_state",
        ("tests/unit/storage/test_backup.py::test_a_stream_may_write_between_any_two_copies",),
    ),
    Mutation(
        "backup: the journal is copied last",
        "storage/backup.py",
        "batches = copy.take_tables()\n        copy.take_journal()",
        "copy.take_journal()\n        batches = copy.take_tables()",
        (BACKUP,),
    ),
    Mutation(
        "backup: a version of a table, and not what was written since",
        "storage/backup.py",
        "int(number) <= table.version()",
        "True",
        (f"{BACKUP}::test_a_stream_may_write_between_any_two_copies",),
    ),
    Mutation(
        "backup: no state of a stream that runs",
        "storage/backup.py",
        "except Busy:\n            return False",
        "except ZeroDivisionError:\n            return False",
        (BACKUP,),
    ),
    Mutation(
        "backup: a batch that not all tables have is not noted",
        "storage/backup.py",
        'min(batch, batches.get("metrics", -1))',
        "batch",
        (BACKUP,),
    ),
    Mutation(
        "restore: a file that is not what was backed up",
        "storage/restore.py",
        "if copy_file(source / name, new / name) != record:",
        "if copy_file(source / name, new / name) is None:",
        (BACKUP,),
    ),
    Mutation(
        "restore: a query that is there",
        "storage/restore.py",
        "if home.exists() and (not home.is_dir() or any(home.iterdir())):",
        "if False:",
        (BACKUP,),
    ),
    Mutation(
        "restore: nothing outside of the query's directory",
        "storage/backup_manifest.py",
        "not all(map(_is_below, files))",
        "False",
        (BACKUP,),
    ),
)
