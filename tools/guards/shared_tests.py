"""The files of tests that guards of several rooms have."""

from __future__ import annotations

WAREHOUSE = "tests/objects/test_warehouse.py"
SINK = "tests/unit/stream/test_sink.py"
REBUILD = "tests/unit/stream/test_rebuild.py"
EDITS = "tests/orchestration/test_edits.py"
OUTPUT = "tests/unit/terminal/test_output_file.py"
