"""The page of paper 000: its gains are judged by their own figures, and its rows say what they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.emd import conclusions, methods, speed
from bench.emd.comparison import FEWEST, judged
from bench.emd.regime_cases import cases
from bench.emd.report import COMPARED, REPORT
from bench.progress import Row

DOCS = Path(__file__).parents[3] / "docs"
TABLES = json.loads((DOCS / "results/000.json").read_text())
COMPARISONS = (*COMPARED, "windows", "chain", "spark_chain", "live")
JOINS = {case.name: case for part in cases().values() for case in part}


def gain(least: float, median: float, spread: float) -> Row:
    return {"share least": least, "share median": median, "share A/A": spread}


@pytest.mark.parametrize(
    ("row", "solves", "judgement"),
    [
        (gain(0.1, 0.3, 0.2), None, "yes"),
        (gain(0.1, 0.2, 0.2), None, "no"),
        (gain(0.0, 0.3, 0.2), None, "no: not in every round"),
        (gain(-0.1, 0.3, 0.2), 500, "no: not in every round"),
        (gain(0.1, 0.3, 0.2), FEWEST, "yes"),
        (gain(0.1, 0.3, 0.2), FEWEST - 0.5, "no: too few"),
        (gain(-0.4, -0.3, 0.2), None, "a loss"),
        (gain(-0.4, -0.3, 0.2), 3, "a loss"),
        (gain(-0.4, -0.1, 0.2), None, "no"),
    ],
)
def test_a_gain_counts_beyond_chance_in_every_round_and_of_enough_solves(row, solves, judgement):
    assert judged(row, solves) == judgement


def solves_of(part: str, row: Row) -> float | None:
    """The exact distances of the baseline of a row of gains in them."""
    if row["gain"] != "fewer exact distances":
        return None
    same = {name: row[name] for name in ("case", "θ", "W s", "tasks") if name in row}
    by_method = part == "spark_chain"
    table = TABLES[part] if by_method else TABLES[f"{part}_exact"]
    (found,) = [
        each
        for each in table
        if all(each[name] == value for name, value in same.items()) and (not by_method or each["method"] == row["over"])
    ]
    return float(found["exact"] if by_method else found[row["over"]].split()[0].replace(",", ""))


@pytest.mark.parametrize("part", COMPARISONS)
def test_the_gains_of_the_page_are_judged_by_its_figures(part):
    for row in TABLES[f"{part}_gains"]:
        assert row["beyond A/A"] == judged(row, solves_of(part, row)), row


@pytest.mark.parametrize("part", COMPARED)
def test_a_row_of_a_comparison_has_its_window_and_its_frames(part):
    for table in ("exact", "work", "gains"):
        for row in TABLES[f"{part}_{table}"]:
            join = JOINS[row["case"]]
            assert (row["W s"], row["frames"]) == (join.window_s, join.frames)


def test_joins_of_one_name_and_setting_are_one_join():
    rows = [row for part in (*COMPARED, "windows") for row in TABLES[f"{part}_exact"]]
    settings = [(row["case"], row["θ"], row["W s"], row["frames"]) for row in rows]
    assert len(set(settings)) == len(settings)
    assert all(row["frames"] == methods.WINDOW_FRAMES for row in TABLES["windows_exact"])


@pytest.mark.parametrize("table", ["speed", "state", "spark", "spark_state"])
def test_a_row_of_speed_has_its_threshold_in_both_units_and_how_dark_the_copy_is(table):
    known = [nearness.row for nearness in speed.SETTINGS]
    for row in TABLES[table]:
        assert {name: row[name] for name in known[0]} in known


def test_the_page_says_how_much_of_the_work_exact_distances_are():
    theirs = [
        {"method": "shuffle", "case": f"a {name}", "share solving": 0.5} for name in ("grid of 216", "matrix of 512")
    ]
    tables: dict[str, Any] = {"grid_exact": [{"share solving": 0.1}, {"share solving": 0.4}], "spark_chain": theirs}
    text = conclusions.solving(tables | {"matrix_exact": [{"share solving": 0.6}]})
    assert "40% of its CPU on the grid of 216, and 50% on Spark" in text
    assert "60% of its CPU on the matrix of 512, and 50% on Spark" in text
    alone = conclusions.solving(tables | {"matrix_exact": [{"share solving": 0.6}], "spark_chain": []})
    assert "40% of its CPU on the grid of 216; 60%" in alone


def test_the_page_says_how_far_two_measurements_of_a_join_are_apart():
    one, other = (
        {"latency ms, emd_ddsj": 10.0, "CPU ms, shuffle": 5.0},
        {"latency ms, emd_ddsj": 8.0, "CPU ms, shuffle": 5.2},
    )
    tables = {
        "chain_work": [{"case": "a", "tasks": 5} | one],
        "head_work": [{"case": "short a"} | other, {"case": "b"}],
    }
    text = " ".join(conclusions.twice(tables).split())
    assert "1 of its 2 medians differ by more than 10%, at most by 25% (latency ms, emd_ddsj)" in text
    assert conclusions.twice(tables | {"head_work": [{"case": "b"}]}) == ""


def test_the_page_names_the_parts_of_few_rounds():
    tables = {name: [{"rounds": 5}] for name in ("balance", "cases", "speed", "spark")}
    assert conclusions.rounds(tables) == ""
    assert "feedback and balance (3)" in conclusions.rounds(tables | {"balance": [{"rounds": 5}, {"rounds": 3}]})


def test_each_conclusion_is_on_the_page():
    text = REPORT.text(TABLES)
    for conclude in REPORT.conclusions.values():
        assert conclude(TABLES).replace("%", " %") in text
