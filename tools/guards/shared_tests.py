"""The files of tests that several files of guards have."""

from __future__ import annotations

WAREHOUSE = "tests/objects/test_warehouse.py"
SINK = "tests/unit/stream/test_sink.py"
REBUILD = "tests/unit/stream/test_rebuild.py"
COST = "tests/contract/test_cost_of_a_state.py::test_a_batch_over_a_large_state_costs_what_one_over_a_small_state_does"
NAMED_KEYS = "tests/contract/test_named_keys.py::test_days_by_lists_of_keys_are_right_after_a_correction_and_a_rebuild"
EDITS = "tests/orchestration/test_edits.py"
OUTPUT = "tests/unit/terminal/test_output_file.py"
CONSOLE_ROUTES = "tests/orchestration/test_console_routes.py"
LOST_FILES = "tests/unit/storage/test_lost_files.py"
PACE = "tests/unit/stream/test_pace.py"
SQL_FORMS, SQL_REFUSALS, SQL_WRITTEN, SQL_OUTER = (
    f"tests/unit/sql/test_{name}.py" for name in ("translate", "refusals", "write", "outer_list")
)
SQL_REFUSED = f"{SQL_REFUSALS}::test_what_a_query_cannot_say_is_refused_at_its_place"
