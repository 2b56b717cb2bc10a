"""Guards of the room `sources`: tables by key, and the times in which their rows are valid."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "texts of a dimension table that are no UTF-8",
        "sources/table_content.py",
        "if (faulty := not_utf_8(column)) is not None:",
        "if False:",
        ("tests/unit/spatial_join/test_dimension_table.py",),
    ),
    Mutation(
        "valid times: two rows of one id that are valid at the same time",
        "sources/valid_times.py",
        "        if not len(both):",
        "        if True:",
        (
            "tests/unit/spatial_join/test_valid_times.py::test_rows_of_one_id_that_are_valid_at_the_same_time_are_refused_by_their_numbers",
        ),
    ),
    Mutation(
        "valid times: a row that ends before it starts",
        "sources/valid_times.py",
        "    if (backwards := np.flatnonzero(low > high)).size:",
        "    if (backwards := np.flatnonzero(low < low)).size:",
        ("tests/unit/spatial_join/test_valid_times.py::test_a_row_that_ends_before_it_starts_is_refused",),
    ),
    Mutation(
        "valid times: a bound finer than a microsecond is rounded up",
        "sources/valid_times.py",
        "values = -(-values // 1000)",
        "values = values // 1000",
        (
            "tests/unit/spatial_join/test_valid_times.py::test_a_bound_is_read_alike_from_each_type_and_holds_from_its_microsecond_on",
        ),
    ),
    Mutation(
        "valid times: bounds in epoch seconds",
        "sources/valid_times.py",
        "(np.abs(values) <= _LATEST_S)",
        "(np.abs(values) < 0)",
        ("tests/unit/spatial_join/test_valid_times.py::test_numbers_that_are_no_epoch_milliseconds_are_refused",),
    ),
    Mutation(
        "lookups: an integer meets a text by its digits alone",
        "sources/key_index.py",
        "if pa.types.is_integer(dtype) and is_text(column.type):",
        "if False:",
        ("tests/unit/sources/test_key_index.py",),
    ),
    Mutation(
        "lookups: a null in the key meets nothing",
        "sources/key_index.py",
        "np.append(self._find_distinct(coded.dictionary), NO_ROW)",
        "np.append(self._find_distinct(coded.dictionary), 0)",
        ("tests/unit/sources/test_key_index.py",),
    ),
    Mutation(
        "lookups: a row that is not valid any more",
        "sources/key_index.py",
        "is_found &= self.valid.holds(row, times)",
        "pass",
        ("tests/unit/sources/test_key_index.py",),
    ),
    Mutation(
        "lookups: two rows of one key",
        "sources/lookup_table.py",
        "if (repeated := index.repeated()) is not None:",
        "if (repeated := None) is not None:",
        ("tests/unit/sources/test_lookup_table.py::test_a_version_that_is_not_fit_is_refused_by_its_field_or_rows",),
    ),
    Mutation(
        "lookups: a version that takes too much memory",
        "sources/lookup_table.py",
        "if size > MOST_BYTES:",
        "if False:",
        (
            "tests/unit/sources/test_lookup_table.py::test_a_version_that_takes_too_much_memory_is_refused_with_its_size",
        ),
    ),
    Mutation(
        "lookups: a key of floating-point numbers",
        "sources/lookup_table.py",
        "if pa.types.is_floating(key.type):",
        "if False:",
        ("tests/unit/sources/test_lookup_table.py::test_a_version_that_is_not_fit_is_refused_by_its_field_or_rows",),
    ),
    Mutation(
        "lookups: a later CSV file keeps texts",
        "sources/lookup_table.py",
        "{dict(self.columns)[name] for name in texts}",
        "set()",
        ("tests/unit/sources/test_lookup_table.py::test_a_later_csv_keeps_the_texts_of_a_column_that_was_text_first",),
    ),
    Mutation(
        "lookups: a record without a row is left out",
        "sources/lookups.py",
        "dropped |= (rows < 0) & (verdict.code == 0)",
        "pass",
        ("tests/unit/stream/test_lookups.py::test_a_record_without_a_row_is_left_out_or_rejected_with_the_reason",),
    ),
    Mutation(
        "lookups: a record without a row is rejected",
        "sources/lookups.py",
        "verdict.reject((rows < 0) & ~dropped, reason)",
        "pass",
        ("tests/unit/stream/test_lookups.py::test_a_record_without_a_row_is_left_out_or_rejected_with_the_reason",),
    ),
    Mutation(
        "tables: files of a directory that differ in their coordinate systems",
        "sources/geo_metadata.py",
        "if first is not other and (first is None or not first.agrees(other)):",
        "if False:",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_files_of_a_directory_keep_their_system_and_have_one",
        ),
    ),
    Mutation(
        "tables: the content of a directory keeps what its files declare",
        "sources/dimension_sources.py",
        "with_geometry_metadata(rows, declared), sink",
        "rows.replace_schema_metadata(None), sink",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_files_of_a_directory_keep_their_system_and_have_one",
        ),
    ),
    Mutation(
        "geometries: Parquet's own types declare a coordinate system",
        "sources/geo_metadata.py",
        'if logical.get("Type") not in ("Geometry", "Geography"):',
        "if True:",
        ("tests/unit/sources/test_geo_metadata.py::test_parquets_own_types",),
    ),
    Mutation(
        "tables: another delimiter than a comma is one fault",
        "sources/table_content.py",
        "    if other is not None:",
        "    if False:",
        ("tests/unit/sources/test_lookup_table.py::test_a_table_with_another_delimiter_is_one_fault",),
    ),
)
