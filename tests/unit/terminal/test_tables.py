"""Tables on the terminal: the columns that fit, and all of them."""

from __future__ import annotations

import pytest

from tailrace.terminal import tables
from tailrace.terminal.tables import print_folded, print_table, table_text

COLUMNS = ["key", "window_start", "window_end", "value", "tuples", "as_of"]
TIME = "2013-01-01T00:00:00.000Z"
ROWS = [["AA", TIME, TIME, "1.5", "3", TIME], ["[b]x[/b]", TIME, TIME, "10", "1,000", TIME]]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.out, "width", 80)


def test_a_table_has_the_columns_that_fit_80_columns_whole(capsys) -> None:
    print_table(COLUMNS, ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 3 + len(ROWS) + 2, "no cell is broken"
    assert f"│ [b]x[/b] │ {TIME} │ {TIME} │ 10    │" in lines
    assert lines[-1] == "--wide shows also tuples, as_of"


def test_a_narrow_column_behind_one_that_does_not_fit_is_shown(capsys) -> None:
    print_table(["id", "from", "to", "more", "n"], [["x", TIME, TIME, TIME, "7"]])
    lines = capsys.readouterr().out.splitlines()
    assert f"│ x  │ {TIME} │ {TIME} │ 7 │" in lines
    assert lines[-1] == "--wide shows also more"


def test_columns_that_say_least_are_fitted_in_last_and_shown_in_their_place(capsys) -> None:
    first = ["tuples", "value", "key", "window_start", "as_of", "window_end"]
    assert print_table(COLUMNS, ROWS, first=first) == ["key", "window_start", "value", "tuples"]
    assert capsys.readouterr().out.splitlines()[-1] == "--wide shows also window_end, as_of"


def test_a_folded_table_has_all_texts_whole(capsys) -> None:
    print_folded(["reason", "record"], [["no time", "x" * 150]], note="the first of 2")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.count("x") for line in lines) == 150
    assert lines[-1] == "the first of 2"


def test_a_wide_table_has_all_columns(capsys) -> None:
    print_table(COLUMNS, ROWS, wide=True, note="the first 2 of 3")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + len(ROWS) + 2
    assert lines[3].count("│") == len(COLUMNS) + 1
    assert lines[-1] == "the first 2 of 3"


def test_a_column_that_is_wider_than_the_terminal_is_broken(capsys) -> None:
    print_table(["id", "n"], [["x" * 100, "1"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "--wide shows also n" in lines


def test_a_table_without_rows_has_its_heads() -> None:
    assert all(name in table_text(COLUMNS, []) for name in COLUMNS)
