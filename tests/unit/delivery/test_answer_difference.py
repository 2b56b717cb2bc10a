"""What a log of versions lacks: new answers, changed ones and those that are gone, each after its version before."""

from __future__ import annotations

import pyarrow as pa

from tailrace.answers.identity import WINDOW
from tailrace.delivery.answer_log import difference

COLUMNS = ("key", "window_start", "window_end", "value", "as_of", "retracted")


def versions(*rows: tuple[str, int, int, bool]) -> pa.Table:
    """Return versions by key, value, as_of, and whether they are retracted."""
    columns = zip(*((key, 0, 60_000, value, as_of, gone) for key, value, as_of, gone in rows), strict=True)
    return pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)))


def lacking(newest: pa.Table, known: pa.Table) -> list[tuple]:
    rows = difference(WINDOW, newest, known).to_pylist()
    return sorted((row["key"], row["value"], row["as_of"], row["retracted"]) for row in rows)


def test_what_is_new_changed_or_gone_is_lacking_and_what_is_as_before_is_not():
    known = versions(("same", 1, 10, False), ("changed", 2, 10, False), ("gone", 3, 10, False), ("back", 4, 10, True))
    newest = versions(("same", 1, 99, False), ("changed", 5, 20, False), ("new", 6, 7, False), ("back", 4, 30, False))
    assert lacking(newest, known) == [
        ("back", 4, 30, False),
        ("changed", 5, 20, False),
        ("gone", 3, 11, True),
        ("new", 6, 7, False),
    ]


def test_a_version_that_is_older_than_the_log_s_comes_after_it_all_the_same():
    known = versions(("restored", 2, 50, False), ("taken back", 2, 50, False))
    newest = versions(("restored", 1, 20, False), ("taken back", 2, 20, True))
    assert lacking(newest, known) == [("restored", 1, 51, False), ("taken back", 2, 51, True)]


def test_a_retraction_of_what_the_log_does_not_have_is_not_lacking():
    known = versions(("twice", 1, 10, True))
    assert lacking(versions(("never", 1, 20, True), ("twice", 1, 20, True)), known) == []
    assert lacking(versions(("twice", 1, 20, True)), known.slice(0, 0)) == []
