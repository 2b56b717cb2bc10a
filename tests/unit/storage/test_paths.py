"""Where a warehouse and a Delta source may be: what deltalake can't keep a table under is refused in time."""

from __future__ import annotations

import string
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tailrace.ground.errors import Refused
from tailrace.sources.check import Columns
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.layout import Layout

UNFIT = [*map(chr, range(1, 32)), "\x7f", *"%[]\\^|", "\udcff"]
FIT = [c for c in string.punctuation if c not in (*UNFIT, "/")] + [
    " ",
    "é",
    "日",
    "😀",
    "\x85",
    "\u2028",
    "e\u0301",
    "\xa0",
]


@pytest.mark.parametrize("character", UNFIT, ids=ascii)
def test_a_path_that_delta_would_fail_at_is_refused_with_its_character(tmp_path: Path, character: str) -> None:
    path = tmp_path / f"x{character}y"
    columns = Columns("event", None, "id", "key", {}, 0, 0)
    for open_it in (lambda: Layout.of(path, "q"), lambda: DeltaFeed(path, columns, {}, {}, -1)):
        with pytest.raises(Refused) as refused:
            open_it()
        (problem,) = refused.value.problems
        named = character if character.isprintable() else ascii(character)
        assert problem.wrong == f"Delta's paths can't hold a {named}"
        assert problem.right == "a path without one"


@pytest.mark.parametrize("character", FIT, ids=ascii)
def test_a_warehouse_may_be_at_any_other_path(tmp_path: Path, character: str) -> None:
    table = Layout.of(tmp_path / f"x{character}y", "q").table("results")
    for _ in range(2):
        write_deltalake(table, pa.table({"a": [1]}), mode="append")
    DeltaTable(table).create_checkpoint()
    assert DeltaTable(table).to_pyarrow_dataset().to_table().num_rows == 2
    assert [file.name for file in tmp_path.iterdir()] == [f"x{character}y"]
