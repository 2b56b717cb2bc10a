"""Guards of the room `spatial_join`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "a column that the dimension table lacks is refused by its field",
        "spatial_join/table_lookup.py",
        "field = dict(self.fields).get(wrong.name)",
        "field = None",
        ("tests/contract/test_conditions_of_pairs.py",),
    ),
    Mutation(
        "table join: a pair that where does not keep is no pair",
        "spatial_join/table_join.py",
        "if self.condition is None or not len(pairs.left):",
        "if True:",
        ("tests/contract/test_conditions_of_pairs.py::test_a_condition_reads_the_table_and_its_id",),
    ),
    Mutation(
        "texts of a dimension table that are no UTF-8",
        "spatial_join/table_file.py",
        "if (faulty := not_utf_8(column)) is not None:",
        "if False:",
        ("tests/unit/spatial_join/test_dimension_table.py",),
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
)
