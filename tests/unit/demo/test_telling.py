"""What the demonstration says, and the truth that it holds answers against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from tailrace.declare import load
from tailrace.demo.telling import line, summary
from tailrace.demo.truth import share_off, share_right
from tailrace.query import Query
from tailrace.spark.status import Status

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"
SAID = Status("streaming", 1, 0, 0, 12, rows=3456, t_max=1_767_225_600_000, k_ms=250, coverage=0.98765, late=7)


def test_how_a_stream_stands():
    told = line(SAID)
    for part in ("streaming", "12 batches", "3,456 rows", "K 250 ms", "coverage 98.77%", "late     7"):
        assert part in told
    assert "corrections" not in told
    assert line(SAID, 3).endswith("corrections  3")
    assert "K –" in line(replace(SAID, k_ms=None))


def answers(**columns: list) -> pd.DataFrame:
    made = {"key": [None, None], "window_start": [0, 100], "window_end": [500, 600], "value": [1.0, 2.0]}
    made |= {"tuples": [1, 2], "coverage": [1.0, 0.5], "as_of": [700, 1000], "k_ms": [100, 300]}
    return pd.DataFrame(made | columns)


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_without_a_key_there_is_one_group(nothing):
    true = {(None, 0, 500): (1.0, 1), (None, 100, 600): (2.0, 2)}
    assert share_right(answers(key=[nothing, nothing]), true) == 1
    assert share_right(answers(key=[nothing, nothing], value=[1.0, 2.1]), true) == 0.5
    assert share_right(answers(key=[nothing, nothing], tuples=[1, 1]), true) == 0.5
    assert share_right(answers(key=[nothing, "a"]), true) == 0.5


def shown(**columns: list) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(load(FLIGHTS), answers(**columns), answers(), [0.5, 1.0], [], 2))
    return captured.get()


def test_the_two_versions_beside_each_other():
    told = shown()
    assert "50.00%" in told
    assert "100 %" in told
    assert "200 ms on average, 300 ms at most" in told
    assert "300 ms" in told.splitlines()[-2]  # latency: the mean of 200 and 400 ms


def test_a_constant_slack_is_told_once():
    assert "on average" not in shown(k_ms=[300, 300])


def test_a_promise_is_told_with_what_came_of_it():
    made = load(FLIGHTS).model_dump() | {"disorder": {"policy": "hybrid", "error": 0.05, "risk": 0.1}}
    made["aggregate"]["function"] = "sum"
    query = Query.model_validate(made)
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(query, answers(), answers(), [0.5, 1.0], [0.125, 0.0], 2))
    line = next(line for line in captured.get().splitlines() if "off" in line)
    assert "windows 5% or more off (promised: 10% at most)" in line
    assert "12.50%" in line
    assert "0.00%" in line
    assert "off" not in shown()


def test_an_answer_is_off_by_its_relative_error_and_a_missing_one_is():
    true = {(None, 0, 500): (1.0, 1), (None, 100, 600): (2.0, 2), (None, 200, 700): (4.0, 2), ("a", 0, 500): (1.0, 1)}
    assert share_off(answers(value=[1.0, 2.0]), true, 0.05) == 0.5
    assert share_off(answers(value=[1.04, 1.95]), true, 0.05) == 0.5
    assert share_off(answers(value=[1.06, 1.8]), true, 0.05) == 1
    assert share_off(answers(key=["b", "b"]), true, 0.05) == 1
    assert share_off(answers(value=[0.0, 0.1]), dict.fromkeys(list(true)[:2], (0.0, 1)), 0.05) == 0.5


def test_long_waits_are_told_in_minutes():
    assert "100 min" in shown(as_of=[500 + 5_999_000, 600 + 6_003_000])
