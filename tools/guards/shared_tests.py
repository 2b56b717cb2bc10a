"""The files of tests that guards of several rooms have."""

from __future__ import annotations

WAREHOUSE = "tests/objects/test_warehouse.py"
SINK = "tests/unit/stream/test_sink.py"
REBUILD = "tests/unit/stream/test_rebuild.py"
COST = "tests/contract/test_cost_of_a_state.py::test_a_batch_over_a_large_state_costs_what_one_over_a_small_state_does"
NAMED_KEYS = "tests/contract/test_named_keys.py::test_days_by_lists_of_keys_are_right_after_a_correction_and_a_rebuild"
EDITS = "tests/orchestration/test_edits.py"
OUTPUT = "tests/unit/terminal/test_output_file.py"
