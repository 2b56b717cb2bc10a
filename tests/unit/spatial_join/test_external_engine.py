"""The external engine of a process, and what is said when it is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import shapely

from tailrace.ground.errors import Refused
from tailrace.spatial_join.search.external_engine import engine_of
from tailrace.spatial_join.search.external_search import ExternalSearch


def test_each_process_has_one():
    assert engine_of(1) is engine_of(1)
    assert engine_of(1) is not engine_of(2)


def test_the_engine_has_one_thread_and_neither_fetches_nor_writes():
    names = ("threads", "temp_directory", "autoinstall_known_extensions", "allow_unsigned_extensions")
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    assert engine_of(0).execute(f"SELECT {asked}").fetchone() == (1, "", False, False)


@pytest.mark.parametrize("missing", ["duckdb", "duckdb_extension_spatial"])
def test_without_the_engine_the_refusal_names_the_extra(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(Refused, match=r"not installed(.|\n)*pip install 'tailrace\[external\]'"):
        ExternalSearch.from_shapes(np.array([shapely.Point(0, 0)], object), "within")
