"""Guards of dimension tables in PostgreSQL: their columns, tokens and systems of coordinates."""

from __future__ import annotations

from guards.mutation import Mutation

TESTS = "tests/answers_postgres/test_dimension_tables.py"
COLUMNS = "sources/postgres_columns.py"

MUTATIONS = (
    Mutation(
        "postgres table: the token changes with what is committed",
        COLUMNS,
        "pg_current_snapshot()::text",
        "1::text",
        (f"{TESTS}::test_the_token_changes_with_every_change_of_the_table",),
    ),
    Mutation(
        "postgres table: the token knows what was in progress",
        COLUMNS,
        "pg_current_snapshot()::text",
        "pg_snapshot_xmax(pg_current_snapshot())::text",
        (f"{TESTS}::test_a_transaction_that_began_before_the_token_changes_it_by_its_end",),
    ),
    Mutation(
        "postgres table: no token where rows may change without a transaction",
        COLUMNS,
        'if kind not in "rm" or has_others:',
        "if False:",
        (f"{TESTS}::test_what_may_change_without_a_transaction_has_no_token",),
    ),
    Mutation(
        "postgres table: a row of one null is a row",
        COLUMNS,
        "ignore_empty_lines=False",
        "ignore_empty_lines=True",
        (f"{TESTS}::test_values_are_those_that_the_client_reads",),
    ),
    Mutation(
        "postgres table: an empty text is no null",
        COLUMNS,
        "quoted_strings_can_be_null=False",
        "quoted_strings_can_be_null=True",
        (f"{TESTS}::test_values_are_those_that_the_client_reads",),
    ),
    Mutation(
        "postgres table: a time that is null is not the earliest one",
        COLUMNS,
        "WHEN {{0}} IS NOT NULL THEN -{far}",
        "ELSE -{far}",
        (f"{TESTS}::test_values_are_those_that_the_client_reads",),
    ),
    Mutation(
        "a table of PostgreSQL without its library is refused where it is declared",
        "sources/postgres_table.py",
        '        validate_extra("postgres")\n',
        "",
        ("tests/unit/cli/test_core_alone.py",),
    ),
)
