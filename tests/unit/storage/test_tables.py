"""Tables of a query: upserts by columns that may be null."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake.transaction import AddAction

from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.tables.correction import QUALITY


def rows(*each: tuple[int, str | None, int]) -> pa.Table:
    """Rows of (bucket_start, answer, off)."""
    names = ("bucket_start", "answer", "off")
    return QUALITY.table([dict.fromkeys(QUALITY.columns) | dict(zip(names, one, strict=True)) for one in each])


@pytest.fixture
def tables(tmp_path) -> Tables:
    tables = Tables(Layout.for_query(tmp_path, "readings"))
    tables.create({"quality": QUALITY.schema()})
    return tables


def found(tables: Tables) -> list[tuple]:
    read = tables.read("quality", ["bucket_start", "answer", "off"]).to_pylist()
    return sorted((tuple(row.values()) for row in read), key=str)


def test_a_row_takes_the_place_of_the_one_with_the_same_values_null_or_not(tables) -> None:
    tables.put("quality", rows((0, "a", 1), (0, "b", 2), (0, None, 3)), ("bucket_start", "answer"))
    tables.put("quality", rows((0, "a", 10), (0, None, 30), (1000, "a", 4)), ("bucket_start", "answer"))
    assert found(tables) == [(0, "a", 10), (0, "b", 2), (0, None, 30), (1000, "a", 4)]


def add_file(tables: Tables, name: str, number: int, answer: str, bounds: dict[str, int]) -> None:
    """Add a file of one row with statistics of some columns, as a worker does."""
    file = tables.layout.table(name) / f"{number}.parquet"
    pq.write_table(rows((0, answer, number)), file)
    statistics = json.dumps({"numRecords": 1, "minValues": bounds, "maxValues": bounds})
    table = tables.open(name)
    table.create_write_transaction(
        [AddAction(file.name, file.stat().st_size, {}, 0, True, statistics)], "append", table.schema()
    )


def test_a_column_that_the_statistics_of_a_file_lack_leaves_no_row_out(tables) -> None:
    for number, answer in enumerate("aba"):
        add_file(tables, "quality", number, answer, {"off": number})
    assert sorted(tables.read("quality", ["off"], ds.field("answer") == "a")["off"].to_pylist()) == [0, 2]
    of_b = ds.field("answer").isin(["b"])
    assert [batch.num_rows for batch in tables.batches("quality", ["off"], of_b) if batch.num_rows] == [1]


def test_files_are_left_out_by_the_columns_that_the_statistics_have(tables) -> None:
    for number, answer in enumerate("aba"):
        add_file(tables, "quality", number, answer, {"off": number})
    (tables.layout.table("quality") / "0.parquet").unlink()
    assert tables.read("quality", ["answer"], ds.field("off") > 1)["answer"].to_pylist() == ["a"]


@pytest.mark.parametrize("letter", ["a", "é", "漢"])
def test_a_condition_may_have_long_texts(tables, letter) -> None:
    answer = "a" + 60 * letter
    tables.add("quality", rows((0, answer, 1), (0, answer + "b", 2)))
    for texts, expected in (([answer], [1]), ([answer, answer + "b"], [1, 2]), (["b"], [])):
        assert tables.read("quality", ["off"], ds.field("answer").isin(texts))["off"].to_pylist() == expected
