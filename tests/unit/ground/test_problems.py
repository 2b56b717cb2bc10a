"""A problem's remedy, as a sentence for pages."""

from __future__ import annotations

import pytest

from tailrace.ground.errors import Problem
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import lost, repair_of


@pytest.mark.parametrize(
    ("remedy", "advice"),
    [
        ("window: 5 s", "Right would be: window: 5 s"),
        ("total: a column of numbers", "Right would be: total: a column of numbers"),
        ("to try again", "Try again"),
        ("to stop it, or to wait", "Stop it, or wait"),
        ("to wait for it, or to run it again: it goes on", "Wait for it, or run it again: it goes on"),
        ("to run\n    ALTER TABLE t;", "Run\n    ALTER TABLE t;"),
        ("tailrace run, first", "Run tailrace run, first"),
        ("mv a b and then to start the stream again", "Run mv a b and then start the stream again"),
        ("", ""),
    ],
)
def test_a_remedy_is_an_imperative_or_says_what_would_be_right(remedy, advice):
    assert Problem("q", "it is wrong", remedy).advice == advice


def test_the_repair_of_a_table_is_a_sentence(tmp_path):
    layout = Layout.for_query(tmp_path, "q")
    away = f"Run tailrace drain q, if a driver runs it; then mv {layout.table('late')} {layout.table('late')}.damaged"
    assert Problem("q", "it is lost", repair_of(layout, "late")).advice.startswith(away)
    assert " then start the stream again" in Problem("q", "it is lost", repair_of(layout, "history")).advice
    (problem,) = lost("q", "it is lost").problems
    assert problem.advice == (
        "Restore the query's tables from a backup (tailrace restore); or begin again under another name or in another "
        "warehouse, where the source still has all"
    )
