"""What the tables of a run must hold, by the oracle."""

from __future__ import annotations

import pytest

from kit.oracles.oracle import Outcome, close

ANSWER = ("k_ms", "as_of", "facts_version", "tuples")


def assert_streamed(rows: dict[str, list[dict]], outcome: Outcome) -> None:
    """Answers, late counts, k_ms and as_of are the oracle's exactly; values, totals to 1e-9 · Σ|v|. Nothing twice."""
    answers = rows.get("results", [])
    got = {(row["key"], row["window_start"], row["window_end"]): row for row in answers}
    assert len(got) == len(answers), "an answer was given twice"
    assert got.keys() == outcome.answers.keys()
    for window, answer in outcome.answers.items():
        row = got[window]
        assert {name: row[name] for name in ANSWER} == {name: getattr(answer, name) for name in ANSWER}, window
        assert close(row["value"], answer.value, answer.sum_abs), (window, row["value"], answer)
    assert_late(rows.get("late", []), outcome)


def assert_late(late: list[dict], outcome: Outcome) -> None:
    counted = {(row["key"], row["pane_start"], row["tick"]): row["tuples"] for row in late}
    assert len(counted) == len(late), "late tuples were registered twice"
    assert counted == outcome.late
    totals = outcome.late_totals
    for row in late:
        total, sum_abs = totals[row["key"], row["pane_start"], row["tick"]]
        assert row["total"] is None if total is None else close(row["total"], total, sum_abs), (row, total)
    bounds = {(item.tuple.key, item.pane_start, item.tick): (item.end, item.frontier) for item in outcome.late_tuples}
    assert {(r["key"], r["pane_start"], r["tick"]): (r["arrived"], r["frontier"]) for r in late} == bounds


def assert_close(value: float | None, expected: float, sum_abs: float) -> None:
    if value is None or not close(value, expected, sum_abs):
        pytest.fail(f"{value} is not {expected} within 1e-9 of {sum_abs}")


def assert_answers(found: dict[tuple, tuple], expected: dict) -> None:
    """Assert that the windows of `warehouse.read_windows` are those of the oracle."""
    assert found.keys() == expected.keys()
    for window, true in expected.items():
        assert found[window][1] == true.tuples, window
        assert_close(found[window][0], true.value, true.sum_abs)
