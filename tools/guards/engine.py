"""Guards of the room `engine`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import COST, WAREHOUSE

MUTATIONS = (
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
        'require_fit(f"streams.{stream}.columns.{name}", part, derived[name], columns)',
        "pass",
        ("tests/unit/cli/test_expressions.py",),
    ),
    Mutation(
        "a state whose bytes have changed on the disk is refused",
        "engine/task_states.py",
        "if content[4:_HEADER_BYTES] != _checksum(state):",
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
)
