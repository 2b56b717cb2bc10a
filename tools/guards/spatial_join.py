"""Guards of the room `spatial_join`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "table join: a pair that where does not keep is no pair",
        "spatial_join/table_join.py",
        "if self.condition is None or not len(pairs.left):",
        "if True:",
        ("tests/contract/test_conditions_of_pairs.py::test_a_condition_reads_the_table_and_its_id",),
    ),
    Mutation(
        "window join: candidates share a window",
        "spatial_join/window_join.py",
        "self.task_slot, self.sliding)",
        "self.task_slot)",
        ("tests/unit/spatial_join/test_window_join.py",),
    ),
    Mutation(
        "geometries: levels of bytes",
        "spatial_join/parsing.py",
        "if len(open_) > MOST_LEVELS + 1:",
        "if False:",
        ("tests/unit/spatial_join/test_parsing.py::test_one_level_more_than_the_most_is_too_deep",),
    ),
    Mutation(
        "geometries: levels of texts",
        "spatial_join/parsing.py",
        "return int(steps.cumsum().max()) > most",
        "return False",
        ("tests/unit/spatial_join/test_parsing.py::test_one_level_more_than_the_most_is_too_deep",),
    ),
    Mutation(
        "geometries: a curve among others",
        "spatial_join/parsing.py",
        "except (NotImplementedError, shapely.GEOSException) as error:",
        "except shapely.GEOSException as error:",
        ("tests/unit/spatial_join/test_parsing.py::test_a_curve_is_the_fault_of_its_row_wherever_it_stands",),
    ),
    Mutation(
        "geometries: tangles are not made valid",
        "spatial_join/validity.py",
        "if _is_tangled(shape):",
        "if False:",
        ("tests/unit/spatial_join/test_validity.py",),
    ),
    Mutation(
        "geometries: GEOS fails to tell validity",
        "spatial_join/validity.py",
        "    except shapely.GEOSException:",
        "    except ZeroDivisionError:",
        ("tests/unit/spatial_join/test_geometry_input.py",),
    ),
    Mutation(
        "tables: an unknown failure ends no driver",
        "spatial_join/table_lookup.py",
        "RuntimeError, GEOSException, pa.ArrowException)",
        "pa.ArrowException)",
        ("tests/unit/stream/test_table_versions.py",),
    ),
    Mutation(
        "table join: a row that is not valid at the event time is no match",
        "spatial_join/table_join.py",
        "    if table.validity is None:",
        "    if True:",
        ("tests/unit/spatial_join/test_valid_times.py::test_answers_are_those_of_the_join_by_sql",),
    ),
    Mutation(
        "table join: a tuple without a match is answered",
        "spatial_join/table_join.py",
        "        if self.answers_unmatched:",
        "        if False:",
        ("tests/unit/spatial_join/test_valid_times.py::test_answers_are_those_of_the_join_by_sql",),
    ),
    Mutation(
        "dimension table: a stored version is read by its own format",
        "spatial_join/table_lookup.py",
        "*of_invalid, self.valid, suffix",
        "*of_invalid, self.valid, self.place.suffix",
        (
            "tests/unit/stream/test_table_versions.py::test_a_stored_version_is_read_by_its_own_format_whatever_the_query_declares_today",
        ),
    ),
    Mutation(
        "postgres table: coordinates that are no degrees by their SRID",
        "spatial_join/coordinate_systems.py",
        "if degrees and (",
        "if not degrees and (",
        (
            "tests/answers_postgres/test_dimension_tables.py::test_a_broken_version_leaves_the_one_in_force_and_is_refused_without_one",
        ),
    ),
    Mutation(
        "postgres table: two planes in one table",
        "spatial_join/coordinate_systems.py",
        "if len(present) > 1 and not degrees:",
        "if False:",
        ("tests/answers_postgres/test_dimension_tables.py::test_in_a_plane_one_srid_is_taken_and_two_are_refused",),
    ),
    Mutation(
        "tables: a later version with a value that the first type has not",
        "spatial_join/table_lookup.py",
        "if first is not None:",
        "if False:",
        (
            "tests/unit/spatial_join/test_table_lookup.py::test_a_later_integer_that_a_double_has_not_is_refused_before_it_is_a_version",
        ),
    ),
    Mutation(
        "spatial_join without its libraries is refused where it is declared",
        "spatial_join/section.py",
        '        validate_extra("spatial")\n',
        "",
        ("tests/unit/cli/test_core_alone.py",),
    ),
    Mutation(
        "shapes in polygons: the condition is tested where an edge is near",
        "spatial_join/shape_search.py",
        "inside[~is_near], inside[is_near]",
        "inside, inside[:0]",
        ("tests/unit/spatial_join/test_shape_search.py::test_short_lines_and_small_polygons",),
    ),
    Mutation(
        "shapes near polygons: vertices accept no pair beyond the limit",
        "spatial_join/shape_search.py",
        "<= sure * sure])",
        "<= 2 * sure * sure])",
        ("tests/unit/spatial_join/test_shape_search.py::test_the_bounds_on_distances_enclose_them",),
    ),
    Mutation(
        "shapes near polygons: edges are sought in boxes widened by the limit",
        "spatial_join/shape_search.py",
        "candidates(Queries(left, self.condition), swapped=False)",
        "candidates(Queries(left, Condition('intersects', None, self.condition.metric)), swapped=False)",
        ("tests/unit/spatial_join/test_shape_search.py::test_the_bounds_on_distances_enclose_them",),
    ),
    Mutation(
        "rescale of a window join: a waiting pair goes to one task",
        "spatial_join/window_join.py",
        'mine = [rows.filter(pa.array(task_of(rows.column("left_id"), slot.tasks) == slot.task)) for rows in waiting]',
        "mine = waiting",
        ("tests/unit/stream/test_rescale_pairs.py",),
    ),
    Mutation(
        "coordinate systems: a table is transformed to degrees",
        "spatial_join/coordinate_systems.py",
        "    if transformer is None:\n        return parsed",
        "    if True:\n        return parsed",
        ("tests/unit/spatial_join/test_coordinate_systems.py::test_metres_of_geoparquet_become_degrees",),
    ),
    Mutation(
        "coordinate systems: x comes first, whatever the order of the axes",
        "spatial_join/coordinate_systems.py",
        "always_xy=True",
        "always_xy=False",
        ("tests/unit/spatial_join/test_coordinate_systems.py::test_x_comes_first_whatever_the_order_of_the_axes",),
    ),
    Mutation(
        "coordinate systems: an unknown one is no degrees",
        "spatial_join/coordinate_systems.py",
        "    if declared.crs is None:\n        if degrees:",
        "    if declared.crs is None:\n        if False:",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_an_unknown_system_is_no_degrees_and_may_be_a_plane",
        ),
    ),
    Mutation(
        "coordinate systems: degrees are no plane",
        "spatial_join/coordinate_systems.py",
        "if crs.is_geographic or crs.is_geocentric:",
        "if False:",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_a_plane_takes_projected_coordinates_as_they_are_and_no_degrees",
        ),
    ),
    Mutation(
        "coordinate systems: no shift of a datum is guessed",
        "spatial_join/coordinate_systems.py",
        "allow_ballpark=False",
        "allow_ballpark=True",
        ("tests/unit/spatial_join/test_coordinate_systems.py::test_a_system_that_leads_to_no_degrees_is_refused",),
    ),
    Mutation(
        "coordinate systems: a name is no definition and no file",
        "spatial_join/coordinate_systems.py",
        "if not _NAME.fullmatch(name) and",
        "if False and",
        ("tests/unit/spatial_join/test_coordinate_systems.py::test_a_name_is_looked_up_and_nothing_else",),
    ),
    Mutation(
        "coordinate systems: an edge round the world the other way",
        "spatial_join/coordinate_systems.py",
        "faults |= dict.fromkeys(np.flatnonzero(_cross_the_border(moved)).tolist(), ACROSS)",
        "faults |= {}",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_what_crosses_the_border_of_degrees_once_transformed_is_a_fault_of_its_row",
        ),
    ),
    Mutation(
        "coordinate systems: a vertex beyond the area",
        "spatial_join/coordinate_systems.py",
        "faults = dict.fromkeys(beyond.tolist(), BEYOND)",
        "faults = dict[int, str]()",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_a_vertex_beyond_the_systems_area_is_a_fault_of_its_row",
        ),
    ),
    Mutation(
        "coordinate systems: edges that are not planar",
        "spatial_join/coordinate_systems.py",
        "if declared.edges != PLANAR_EDGES:",
        "if False:",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_spherical_edges_are_refused_but_of_points_which_have_none",
        ),
    ),
    Mutation(
        "coordinate systems: an SRID that contradicts the file",
        "spatial_join/coordinate_systems.py",
        "        if not is_same:",
        "        if False:",
        ("tests/unit/spatial_join/test_coordinate_systems.py::test_srids_agree_with_the_file",),
    ),
    Mutation(
        "coordinate systems: a stream's file in another system",
        "spatial_join/coordinate_systems.py",
        "if _transformer(place, of_column, degrees) is not None:",
        "if False:",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_a_streams_file_is_in_the_querys_system_or_refused_with_both_names",
        ),
    ),
    Mutation(
        "coordinate systems: a stream's record with an SRID",
        "spatial_join/geometry_input.py",
        "has_wrong = wrong_srids(read.shapes)",
        "has_wrong = np.zeros(len(column), bool)",
        ("tests/unit/spatial_join/test_geometry_input.py::test_a_record_with_an_srid_other_than_4326_is_rejected",),
    ),
    Mutation(
        "geojson: a feature with a crs of its own",
        "spatial_join/table_file.py",
        "    if others:",
        "    if False:",
        (
            "tests/unit/spatial_join/test_coordinate_systems.py::test_a_crs_of_geojson_has_a_name_and_is_the_collections",
        ),
    ),
    Mutation(
        "a row of a table is valid by microseconds",
        "spatial_join/table_join.py",
        'whole_times(tuples, "event_time")[pairs.left]',
        'np.asarray(tuples.column("event_time"))[pairs.left] * 1000',
        ("tests/unit/cli/test_whole_times.py::test_rows_of_tables_are_valid_by_whole_times",),
    ),
)
