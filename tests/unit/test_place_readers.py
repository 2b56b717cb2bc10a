"""The reader who polls a place finds an older version, an answer that was gone, and tables that nothing made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.runs.place_readers import PlaceReader, Versions

FIRST: Versions = {"a": (1,), "b": (1,)}
CORRECTED: Versions = {"a": (2,)}
"""A newer version of one answer, and none of the other."""


def reader_of(*polls: tuple[Any, Versions]) -> PlaceReader:
    """Return a reader who gets these tables and versions, one after the other."""
    remaining = iter(polls)
    return PlaceReader(lambda: next(remaining))


def test_newer_and_equal_versions_are_in_order():
    reader = reader_of((None, {}), (1, FIRST), (1, CORRECTED), (1, CORRECTED), (1, {"a": (2,), "b": (2,)}))
    for _ in range(5):
        reader.look()
    assert (reader.polls, reader.versions) == (5, 4)


@pytest.mark.parametrize(
    ("tables", "there", "problem"),
    [
        (1, {"a": (1,)}, "came after"),
        (1, {"a": (2,), "b": (1,)}, "was gone, and is there again"),
        (2, FIRST, "other tables came"),
        (2, {"a": (3,)}, "other tables came"),
    ],
)
def test_an_older_version_is_a_fault_and_so_are_tables_that_nothing_made(tables, there, problem):
    reader = reader_of((1, FIRST), (1, CORRECTED), (None, {}), (tables, there))
    for _ in range(2):
        reader.look()
    reader.look()  # for a moment there is nothing: that hides nothing
    with pytest.raises(AssertionError, match=problem):
        reader.look()


@pytest.mark.parametrize(
    ("tables", "there", "deed"),
    [(2, FIRST, PlaceReader.await_tables), (1, {"a": (2,), "b": (1,)}, PlaceReader.forget_gone)],
)
def test_a_deed_lets_the_reader_see_other_answers_once(
    tables: int, there: Versions, deed: Callable[[PlaceReader], None]
) -> None:
    reader = reader_of((1, FIRST), (1, CORRECTED), (tables, there), (3, FIRST), (tables, {"a": (0,)}))
    for _ in range(2):
        reader.look()
    deed(reader)
    reader.look()
    with pytest.raises(AssertionError, match="other tables came"):
        reader.look()
    with pytest.raises(AssertionError, match="came after"):
        reader.look()
