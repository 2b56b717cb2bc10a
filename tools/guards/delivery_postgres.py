"""Guards of the room `delivery`: of answers in PostgreSQL."""

from __future__ import annotations

from guards.mutation import Mutation

POSTGRES = "tests/answers_postgres/test_delivery.py"

MUTATIONS = (
    Mutation(
        "postgres: an older version replaces no newer one",
        "delivery/postgres_merge.py",
        'is_newer += " AND excluded.as_of >= t.as_of"',
        "pass",
        (f"{POSTGRES}::test_a_restored_backup_replaces_nothing_by_an_older_version",),
    ),
    Mutation(
        "postgres: the position changes with the answers",
        "delivery/postgres.py",
        "        merge, sent = Merge.begin(",
        "        self.target.store(position)\n        self.target.cursor.connection.commit()\n"
        "        merge, sent = Merge.begin(",
        (f"{POSTGRES}::test_a_kill_at_each_statement_leaves_the_old_answers_or_the_new_ones",),
    ),
    Mutation(
        "postgres: a table that was dropped is filled again",
        "delivery/postgres_target.py",
        "if position.pop(_TABLE, None) == self._id else None",
        "if position.pop(_TABLE, None) else None",
        (f"{POSTGRES}::test_a_table_that_was_dropped_is_filled_again",),
    ),
    Mutation(
        "postgres: a table that was altered is filled again",
        "delivery/postgres_target.py",
        "                alterations.append(self._forget())",
        "                pass",
        (
            "tests/answers_postgres/test_refusals.py::test_another_schema_is_refused_with_the_statements_that_make_it_fit",
        ),
    ),
    Mutation(
        "postgres: a delivery does not wait for a vacuum",
        "delivery/postgres_target.py",
        "if self._comment() != self.owner:",
        "if True:",
        (f"{POSTGRES}::test_a_living_stream_delivers_beside_a_vacuum",),
    ),
    Mutation(
        "postgres: an answer without any version is deleted",
        "delivery/postgres.py",
        "            merge.remove(self._identities(self.public.with_key_values(vanished)))",
        "            pass",
        (f"{POSTGRES}::test_an_answer_whose_only_version_vanishes_is_deleted",),
    ),
    Mutation(
        "postgres: a correction that ends during a rebuild delivers nothing",
        "delivery/postgres.py",
        "        require_same_query(layout, query)",
        "        pass",
        (f"{POSTGRES}::test_a_correction_that_ends_during_a_rebuild_delivers_nothing",),
    ),
    Mutation(
        "postgres: a check does not wait for a lock",
        "delivery/postgres.py",
        "cursor.execute(f\"SET LOCAL statement_timeout = '{CHECK_TIMEOUT}'\")",
        "pass",
        (f"{POSTGRES}::test_a_check_does_not_wait_for_a_lock",),
    ),
    Mutation(
        "postgres: a login that may not write the table is refused",
        "delivery/postgres_rights.py",
        "if missing := _one(cursor, held, _OF_TABLE, table):",
        "if missing := []:",
        ("tests/answers_postgres/test_refusals.py::test_a_login_that_may_write_the_tables_needs_no_more",),
    ),
    Mutation(
        "postgres: a login that may set no comment is refused",
        "delivery/postgres_target.py",
        "if comment != self.owner and not may_comment(self.cursor, self.table):",
        "if False:",
        ("tests/answers_postgres/test_refusals.py::test_a_login_that_may_write_the_tables_needs_no_more",),
    ),
    Mutation(
        "postgres: a login that may make no table is refused",
        "delivery/postgres_rights.py",
        "elif not _one(cursor, \"SELECT has_schema_privilege(%s, 'CREATE')\", schema):",
        "elif False:",
        ("tests/answers_postgres/test_refusals.py::test_a_login_that_may_make_tables_needs_no_more",),
    ),
    Mutation(
        "postgres: without a key, no column of it",
        "delivery/postgres_schema.py",
        '"key" in public.identity and all(',
        '"key" in public.identity and not all(',
        (f"{POSTGRES}::test_equals_what_readers_get[aggregate without a key]",),
    ),
    Mutation(
        "postgres: rows of somebody else are refused",
        "delivery/postgres_target.py",
        "if comment != self.owner and not self.is_empty():",
        "if False:",
        ("tests/answers_postgres/test_refusals.py::test_tables_of_others_are_refused",),
    ),
    Mutation(
        "postgres: an answer that the table may have is merged",
        "delivery/postgres_merge.py",
        "return np.asarray(horizon) > self.last_us",
        "return np.asarray(horizon) > 0",
        (f"{POSTGRES}::test_answers_after_the_last_one_are_added_at_once_and_others_are_merged",),
    ),
    Mutation(
        "postgres: the last answer is looked up in an index",
        "delivery/postgres_target.py",
        "if horizon is None or key is None or key.columns[0] != horizon:",
        "if horizon is None:",
        (f"{POSTGRES}::test_answers_after_the_last_one_are_added_at_once_and_others_are_merged",),
    ),
    Mutation(
        "postgres: an answer of a null key is merged with its older version",
        "delivery/postgres_merge.py",
        "for name in self.target.columns.nullable if rows.column(name).null_count",
        "for name in ()",
        (f"{POSTGRES}::test_an_answer_whose_only_version_vanishes_is_deleted[aggregate-1-True]",),
    ),
    Mutation(
        "postgres: a decimal is copied as text",
        "delivery/postgres_copy.py",
        "if all(map(has_form, rows.schema.types)) else",
        "if rows.num_columns else",
        ("tests/answers_postgres/test_copy.py::test_a_decimal_comes_as_text",),
    ),
)
