"""What is true of a query, as a process of its own reads it."""

from __future__ import annotations

import pytest

from kit.runs.late_tables import LateTables
from tailrace.correction.query_facts import facts, facts_by_child
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

pytestmark = pytest.mark.needs("process")


def test_a_child_reads_what_this_process_would(tmp_path):
    layout = Layout.for_query(tmp_path, "readings")
    LateTables(layout).commit(5)
    layout.stream.mkdir()
    Status("streaming", 1, 0, 1, 1, committed=1_000, coverage=0.5).write(layout)
    found = facts_by_child(str(layout.home))
    assert found == facts(layout.home)
    assert found["committed"] == "1970-01-01T00:00:01.000Z"
    assert (found["coverage"], found["promise"]) == (0.5, "unknown")


def test_a_child_that_fails_says_why(tmp_path):
    home = tmp_path / "readings"
    (home / "quality").mkdir(parents=True)
    (home / "quality" / "part.parquet").write_text("")
    with pytest.raises(RuntimeError, match="quality"):
        facts_by_child(str(home))
