"""Guards of the room `stream`: rebuilds, and versions of tables."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import REBUILD

PAIRS = "tests/unit/stream/test_rebuild_of_pairs.py"

MUTATIONS = (
    Mutation(
        "format: the rebuild of another one is not completed",
        "stream/rebuild.py",
        "    layout.read_manifest()  # it refuses another format before anything is written\n",
        "",
        ("tests/unit/storage/test_format.py::test_an_interrupted_rebuild_of_another_format_is_not_completed",),
    ),
    Mutation(
        "null keys: a rebuild takes from the source what history lacks of them",
        "stream/rebuild.py",
        'if before.get(fields[0]) == "quarantine"}',
        "if False}",
        ("tests/contract/test_named_keys.py::test_records_with_a_null_in_a_key_are_groups_or_go_to_quarantine",),
    ),
    Mutation(
        "where: history can't be read again in the place of the source",
        "stream/replayed_readers.py",
        "    if reader.columns.projection is not None or reader.columns.lookups:\n        return None\n",
        "",
        ("tests/unit/engine/test_stream_expressions.py",),
    ),
    Mutation(
        "where: history of a query that had one",
        "stream/rebuild.py",
        "if name not in had_expressions",
        "if True",
        ("tests/unit/engine/test_stream_expressions.py",),
    ),
    Mutation(
        "rebuild: partition plans of another number of tasks",
        "stream/rebuild.py",
        "readers=readers, plans_from=planned, ",
        "readers=readers, ",
        (f"{PAIRS}::test_pairs_are_those_of_the_oracle_for_any_number_of_tasks_in_turn[emd_join-False]",),
    ),
    Mutation(
        "a rebuild under another timezone reads no history",
        "stream/rebuild.py",
        "== query.streams[name].timezone",
        "or True",
        ("tests/unit/sources/test_time_zones.py",),
    ),
    Mutation(
        "a rebuild notes no batch that only some tables have",
        "stream/planned_rebuild.py",
        "min(tables.last_batch(name, self.before.id), count - 1)",
        "tables.last_batch(name, self.before.id)",
        (REBUILD,),
    ),
    Mutation(
        "dimension table: versions that no tuple was joined with are removed",
        "stream/orphans.py",
        "needed |= {*compress(files, is_joined), *files[-1:]}",
        "needed |= {*files}",
        (
            "tests/unit/stream/test_orphans.py::test_a_version_that_was_replaced_before_a_segment_was_joined_with_it_is_removed_and_named",
        ),
    ),
    Mutation(
        "dimension table: a rebuild needs no table",
        "stream/restated_journal.py",
        "        if subject in versions:",
        "        if False:",
        (
            "tests/unit/spatial_join/test_dimension_tables_page.py::test_ten_versions_are_replayed_alike_when_their_source_is_gone",
        ),
    ),
    Mutation(
        "rebuild: the types of a stored version are read by its own format",
        "stream/restated_journal.py",
        "file.read_bytes(), file.suffix",
        "file.read_bytes()",
        (
            "tests/unit/spatial_join/test_table_runs.py::test_it_is_rebuilt_from_versions_of_another_format_than_the_query_has_today",
        ),
    ),
    Mutation(
        "dimension table: files that change while they are read are no version",
        "stream/table_versions.py",
        "and self._token() != token:",
        "and self._token() is None:",
        (
            "tests/unit/stream/test_table_versions.py::test_what_changes_while_it_is_read_is_no_version_until_it_is_read_whole",
        ),
    ),
    Mutation(
        "lookups: a rebuild reads the versions that were seen",
        "stream/restated_journal.py",
        "if subject in needed and (before is None or before.version != version.version):",
        "if subject in needed and before is None:",
        (
            "tests/unit/stream/test_lookups.py::test_ten_versions_are_seen_alike_by_corrections_and_rebuilds_when_their_source_is_gone[csv]",
        ),
    ),
    Mutation(
        "lookups: a rebuild that adds one stores its first version",
        "stream/restated_journal.py",
        "if last is not None and subject not in repeated:",
        "if subject not in repeated:",
        ("tests/unit/stream/test_lookups.py::test_a_rebuild_may_add_a_lookup_whose_first_version_is_that_of_now",),
    ),
    Mutation(
        "postgres table: one that is away leaves the version in force",
        "stream/table_versions.py",
        "from None\n    except OSError as error:",
        "from None\n    except ZeroDivisionError as error:",
        (
            "tests/answers_postgres/test_dimension_tables.py::test_a_server_that_is_away_or_a_locked_table_leave_the_version_in_force",
        ),
    ),
    Mutation(
        "lookups: a rebuild's further column has one type in all versions",
        "stream/restated_journal.py",
        "check_later(table, later.read_bytes(), first, later.suffix)",
        "pass",
        (
            "tests/unit/stream/test_lookups.py::test_a_rebuild_that_names_a_further_column_is_refused_where_versions_have_it_in_other_types",
        ),
    ),
    Mutation(
        "newest lookups: a rebuild answers all with the newest version",
        "stream/restated_journal.py",
        "if last is not None and subject not in repeated:",
        "if last is not None:",
        ("tests/unit/stream/test_newest_lookups.py::test_a_rebuild_answers_all_with_the_newest_version",),
    ),
    Mutation(
        "a rebuild takes the whole times from history",
        "stream/replayed_readers.py",
        'times = dict.fromkeys(("event_time", "arrival_time"), TIME)',
        'times = dict.fromkeys(("event_time", "arrival_time"), pa.timestamp("ms", "UTC"))',
        ("tests/unit/cli/test_whole_times.py::test_history_holds_whole_times_and_corrections_order_by_them",),
    ),
)
