"""The reference of the tables has every column that a query's tables have."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from doc_pages import site_module
from kind_samples import SAMPLES, kind_of
from tailrace.sources import history
from tailrace.storage.table_schemas import CALIBRATION_TABLES, CORRECTION_TABLES, PROPOSALS, STREAM_TABLES, schemas

PAGE = site_module("tables").page()


def documented(heading: str) -> list[str]:
    """Return the columns of a table by the page."""
    (part,) = re.findall(rf"^## `{heading}`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `(\w+|\(values\))` \| [^|]+ \| [^|]+ \|$", part, re.MULTILINE)


def test_the_page_has_every_table():
    headings = re.findall(r"^## `(\w+)`$", PAGE, re.MULTILINE)
    assert sorted(headings) == sorted([*STREAM_TABLES, *CORRECTION_TABLES, *CALIBRATION_TABLES, "current"])


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_has_every_column_in_the_order_of_the_tables(name):
    kind = kind_of(name)
    found = {table: schema.names for table, schema in schemas(kind).items()}
    assert found.pop("results") == [*kind.answer.names, *documented("results")]
    assert found.pop("corrections") == [*kind.answer.names, *documented("results"), *documented("corrections")]
    late = found.pop("late")
    assert [each for each in documented("late") if each in late] == late
    assert found == {table: documented(table) for table in found}


def test_the_page_has_the_columns_of_history_and_of_proposals():
    value = {"(values)": pa.float64()}
    assert history.schema(pa.string(), pa.string(), value).names == documented("history")
    assert PROPOSALS.names == documented("proposals")
