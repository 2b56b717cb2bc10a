"""Guards of the room `sources`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import NAMED_KEYS

PARTITIONS = "tests/unit/sources/test_partitions.py"
DECIMALS = "tests/unit/cli/test_decimals_as_doubles.py"

MUTATIONS = (
    Mutation(
        "decimals are the nearest doubles: of the short form, and coordinates",
        "sources/check.py",
        "value = cast_values(column, dtype)",
        "value = column.cast(dtype, safe=False)",
        (f"{DECIMALS}::test_the_short_form", f"{DECIMALS}::test_decimal_coordinates_meet_their_equals"),
    ),
    Mutation(
        "the place of a record: a file that was replaced ends no stream",
        "sources/record_place.py",
        "    except (Refused, OSError):",
        "    except ZeroDivisionError:",
        (
            "tests/unit/sources/test_record_place.py::"
            "test_a_file_that_was_replaced_since_is_named_by_the_number_of_the_record",
        ),
    ),
    Mutation(
        "times: a blank before a text",
        "sources/iso_times.py",
        "    texts = pc.utf8_ltrim_whitespace(texts)",
        "    texts = texts",
        ("tests/unit/sources/test_iso_times.py::test_blanks_before_a_time_are_no_fault",),
    ),
    Mutation(
        "a derived text is an event time only where the stream says what no zone means",
        "sources/column_rules.py",
        "        if columns.timezone is not None:\n            return\n",
        "        return\n",
        ("tests/unit/cli/test_source_report.py::test_a_derived_text_is_an_event_time_where_the_stream_says_its_zone",),
    ),
    Mutation(
        "history has the columns of a list of keys",
        "sources/history.py",
        "if part.startswith(KEY_PART):",
        "if False:",
        (f"{NAMED_KEYS}[json-sum]",),
    ),
    Mutation(
        "a source: a file that was read and is not there any more",
        "sources/path_sources.py",
        "return is_url(segment.path) or Path(str(file)).exists()",
        "return True",
        ("tests/unit/sources/test_path_sources.py",),
    ),
    Mutation(
        "a source: a table that stands in the place of the one that was read",
        "sources/path_sources.py",
        "if opening.identity is not None and opening.identity != feed.identity:",
        "if False:",
        ("tests/unit/stream/test_open_feeds.py",),
    ),
    Mutation(
        "a sample of a source: a carried column that is null throughout has a type",
        "sources/path_sources.py",
        "            types = settled_types(types, columns, lambda: None)",
        "            pass",
        ("tests/unit/cli/test_source_report.py",),
    ),
    Mutation(
        "carried numbers: which columns",
        "sources/path_sources.py",
        "self.format_options.at(self.connection, columns.exact)",
        "self.format_options.at(self.connection)",
        ("tests/unit/sources/test_path_sources.py",),
    ),
    Mutation(
        "texts that are no UTF-8: beyond the quick look",
        "sources/utf_8.py",
        "column.validate(full=True)",
        "column.validate()",
        ("tests/unit/sources/test_utf_8.py",),
    ),
    Mutation(
        "a column that records may leave out is not missing where a file is gone that may have had it",
        "sources/open_partitions.py",
        "if any(file is None or state_of(file) is None for file in known):",
        "if False:",
        ("tests/unit/sources/test_file_feed.py",),
    ),
    Mutation(
        "a column that records may leave out is not missing once its type is known",
        "sources/file_feed.py",
        "files = list[SourceFile] if self.types else partial(partitions.all_files, new)",
        "files = partial(partitions.all_files, new)",
        ("tests/unit/sources/test_file_feed.py",),
    ),
    Mutation(
        "names of files in UTF-8",
        "sources/source_directory.py",
        "    _require_utf_8(where)\n",
        "",
        ("tests/unit/sources/test_formats.py",),
    ),
    Mutation(
        "source roots: a link among a source's files",
        "sources/source_directory.py",
        "if VARIABLE in os.environ and file.is_symlink() and (outside := outside_roots(file)) is not None:",
        "if (outside := None) is not None:",
        ("tests/unit/sources/test_formats.py",),
    ),
    Mutation(
        "regular files: among a source's files",
        "sources/segments.py",
        "        now = regular_status(file)\n",
        "        now = file.stat()\n",
        ("tests/unit/sources/test_special_files.py",),
    ),
    Mutation(
        "partitions: no other directories",
        "sources/source_directory.py",
        "if not _PARTITION.fullmatch(name):",
        "if False:",
        ("tests/unit/sources/test_formats.py",),
    ),
    Mutation(
        "partitions: closed ones are not listed",
        "sources/new_files.py",
        "            if self.partitions.is_closed(path):\n                continue\n",
        "",
        (f"{PARTITIONS}::test_partitions_before_the_two_newest_are_not_listed_again",),
    ),
    Mutation(
        "partitions: what was closed before a start is not new",
        "sources/new_files.py",
        "            if is_before(path, self._begun_with):  # the record may have its files",
        "            if False:",
        (f"{PARTITIONS}::test_a_source_that_was_away_at_a_restart_is_not_read_again",),
    ),
    Mutation(
        "partitions: looked at again when the record has them",
        "sources/open_partitions.py",
        "for directory, until in self._closed.items() if until <= rows)",
        "for directory, until in self._closed.items())",
        (f"{PARTITIONS}::test_a_late_file_of_a_closed_partition_is_read_once_when_the_partition_is_looked_at_again",),
    ),
    Mutation(
        "partitions: a late file in what is below a closed one",
        "sources/open_partitions.py",
        "return next((directory[:end] for end in ends if directory[:end] in self._closed), None)",
        "return directory if directory in self._closed else None",
        (f"{PARTITIONS}::test_each_file_is_read_once_whenever_it_comes_and_the_driver_dies",),
    ),
    Mutation(
        "sources: an empty mount point is away",
        "sources/file_feed.py",
        "        if (away := self._away(partitions, bool(new))) is not None:\n",
        "        if (away := None) is not None:\n",
        ("tests/unit/sources/test_special_files.py",),
    ),
    Mutation(
        "sources: silence of what is away is none",
        "sources/file_feed.py",
        'self.problem, self.holds_back, self.unfinished = f"{self.path}: {away}; it is tried again", True, None',
        'self.problem, self.holds_back, self.unfinished = f"{self.path}: {away}; it is tried again", False, None',
        ("tests/unit/sources/test_special_files.py",),
    ),
    Mutation(
        "sources: a long listing is no silence of the driver",
        "sources/new_files.py",
        "            if number % PROGRESS_EVERY == 0:\n                self._on_progress()\n",
        "",
        ("tests/unit/sources/test_four_million_files.py",),
    ),
    Mutation(
        "postgres: a lock of somebody on the table ends the wait",
        "sources/postgres_server.py",
        '_AGAIN = ("40", "55P03")',
        '_AGAIN = ("40",)',
        ("tests/answers_postgres/test_delivery.py::test_a_lock_of_somebody_on_the_table_is_a_connection_error",),
    ),
    Mutation(
        "postgres: the server ends the transaction of a lost machine",
        "sources/postgres_server.py",
        "                    cursor.execute(_SESSION)",
        "                    pass",
        ("tests/answers_postgres/test_delivery.py::test_the_server_looks_after_a_lost_machine",),
    ),
    Mutation(
        "postgres: a value that no column can hold is named by its column",
        "sources/postgres_server.py",
        '_COLUMN.search(error.diag.context or "")',
        "None",
        ("tests/answers_postgres/test_refusals.py::test_a_value_that_postgresql_cannot_hold_is_named",),
    ),
    Mutation(
        "a row of a lookup is valid by microseconds",
        "sources/check.py",
        "columns.timezone, columns.zones).whole",
        "columns.timezone, columns.zones).ms * 1000",
        ("tests/unit/cli/test_whole_times.py::test_rows_of_tables_are_valid_by_whole_times",),
    ),
    Mutation(
        "a timestamp finer than microseconds is told",
        "sources/check.py",
        "    verdict.floored |= {name for name in raw.column_names if is_finer(raw.column(name))}\n",
        "",
        ("tests/unit/cli/test_whole_times.py::test_what_is_finer_than_microseconds_is_told_once",),
    ),
    Mutation(
        "a text of a time finer than microseconds is told",
        "sources/record_times.py",
        "{name} if are_floored else set()",
        "set()",
        ("tests/unit/cli/test_whole_times.py::test_what_is_finer_than_microseconds_is_told_once",),
    ),
)
