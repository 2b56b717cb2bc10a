"""Paths of a warehouse and of a Delta source: those that deltalake can't handle are refused early."""

from __future__ import annotations

import string
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from kit.parts.source_mappings import source_mapping
from tailrace.ground.errors import Refused
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
def test_a_path_that_delta_cannot_handle_is_refused_naming_the_character(tmp_path: Path, character: str) -> None:
    path = tmp_path / f"x{character}y"
    columns = source_mapping("event", None, "id", "key")
    for open_path in (lambda: Layout.for_query(path, "q"), lambda: DeltaFeed(path, columns, {}, {}, -1)):
        with pytest.raises(Refused) as error_info:
            open_path()
        (problem,) = error_info.value.problems
        printable = character if character.isprintable() else ascii(character)
        assert problem.fault == f"Delta's paths can't hold a {printable}"
        assert problem.remedy == "a path without one"


@pytest.mark.parametrize("character", FIT, ids=ascii)
def test_a_warehouse_may_be_at_any_other_path(tmp_path: Path, character: str) -> None:
    table = Layout.for_query(tmp_path / f"x{character}y", "q").table("results")
    for _ in range(2):
        write_deltalake(table, pa.table({"a": [1]}), mode="append")
    DeltaTable(table).create_checkpoint()
    assert DeltaTable(table).to_pyarrow_dataset().to_table().num_rows == 2
    assert [file.name for file in tmp_path.iterdir()] == [f"x{character}y"]


def test_a_warehouse_beyond_ascii_is_refused_where_the_locale_has_another_encoding(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-1")
    assert Layout.for_query(tmp_path / "wh", "q").home == tmp_path / "wh" / "q"
    with pytest.raises(Refused, match="its name is not ASCII, and the locale's encoding is iso8859-1"):
        Layout.for_query(tmp_path / "wh-ü", "q")
