"""The examples of docs/reading-current.md read `current`, whose log asks readers for no feature."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kit.runs.current_tables import Desk
from tailrace.storage.results import read_answers
from tailrace.tables.every import in_ms

PAGE = Path(__file__).parents[3] / "docs" / "reading-current.md"
NAMES = ["window_end", "value"]
BLOCKS = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A table that streams, corrections and a compaction have written."""
    desk = Desk("aggregate", tmp_path_factory.mktemp("reading"), seed=3)
    for _ in range(3):
        desk.driver.run(1000)
        desk.refresh()
        desk.correct()
        desk.write()
    desk.driver.run(1000, flush=True)
    desk.refresh()
    desk.driver.tables.compact(["current"])
    return desk


def test_duckdb_pandas_and_polars_read_it_as_the_page_says(desk, monkeypatch):
    monkeypatch.chdir(desk.directory)
    by_duckdb, by_pandas, by_polars = (run(block) for block in BLOCKS.findall(PAGE.read_text()))
    rows, _ = read_answers(desk.driver.query, desk.driver.warehouse, streamed=False)
    expected = sorted((row["window_end"], row["value"]) for row in rows.to_pylist() if row["key"] == "a")
    assert len(expected) > 10
    assert answers_of(by_duckdb["newest"].to_arrow_table()) == expected, "in the order of the example"
    assert sorted(answers_of(pa.Table.from_pandas(by_pandas["frame"]))) == expected
    assert sorted(answers_of(by_polars["frame"].to_arrow())) == expected


def run(block: str) -> dict[str, Any]:
    """Run an example by itself; return what it names."""
    names: dict[str, Any] = {}
    exec(block, names)
    return names


def answers_of(table: pa.Table) -> list[tuple]:
    """Return the end, in ms, and the value of each answer, in the order of the table."""
    return [tuple(row.values()) for row in in_ms(table, "results").select(NAMES).to_pylist()]


def test_its_log_asks_readers_for_no_feature(desk):
    actions = [
        json.loads(line)
        for file in sorted((desk.table / "_delta_log").glob("*.json"))
        for line in file.read_text().splitlines()
    ]
    protocols = [action["protocol"] for action in actions if "protocol" in action]
    assert protocols == [{"minReaderVersion": 1, "minWriterVersion": 2}] * len(protocols) != []
    settings = {name for action in actions for name in action.get("metaData", {}).get("configuration", ())}
    assert settings
    assert not any("columnMapping" in name or "DeletionVectors" in name for name in settings)
    added = [action["add"] for action in actions if "add" in action]
    assert len(added) > 3
    assert not any(add.get("deletionVector") for add in added)
    assert "timestamp_ntz" not in DeltaTable(str(desk.table)).schema().to_json()
