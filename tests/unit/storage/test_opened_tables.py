"""Tables as a reader has them open: each at one version, whatever is written meanwhile."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.tables import Tables

SCHEMA = pa.schema([("number", pa.int64())])


@pytest.fixture
def written(tmp_path) -> Tables:
    tables = Tables(Layout.for_query(tmp_path, "readings"))
    tables.create({"quality": SCHEMA})
    tables.add("quality", pa.table({"number": [1]}))
    return tables


def test_what_is_appended_meanwhile_is_not_read(written) -> None:
    opened = OpenedTables(written.layout)
    assert opened.read("quality")["number"].to_pylist() == [1]
    written.add("quality", pa.table({"number": [2]}))
    assert opened.read("quality")["number"].to_pylist() == [1]
    assert opened.greatest("quality", "number") == 1
    assert sorted(OpenedTables(written.layout).read("quality")["number"].to_pylist()) == [1, 2]


def test_a_table_that_is_created_meanwhile_is_not_there(written) -> None:
    opened = OpenedTables(written.layout)
    assert not opened.has("late")
    written.create({"late": SCHEMA})
    assert not opened.has("late")
    with pytest.raises(FileNotFoundError):
        opened.read("late")
    assert OpenedTables(written.layout).has("late")
