"""What the demonstration says, and the truth that it holds answers against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tailrace.demo.narration import line, summary
from tailrace.demo.truth import share_found, share_off, share_right, truth
from tailrace.query.loading import load
from tailrace.query.query import declared_query
from tailrace.storage.status import Status

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"
SAID = Status("streaming", 1, 0, 0, 12, rows=3456, t_max=1_767_225_600_000, k_ms=250, coverage=0.98765, late=7)


def test_how_a_stream_stands():
    told = line(SAID)
    for part in ("streaming", "12 batches", "3,456 rows", "K 250 ms", "coverage 98.77%", "late     7"):
        assert part in told
    assert "corrections" not in told
    assert line(SAID, 3).endswith("corrections  3")
    assert "K –" in line(replace(SAID, k_ms=None))


def answers(**columns: list) -> pa.Table:
    made = {"key": [None, None], "window_start": [0, 100], "window_end": [500, 600], "value": [1.0, 2.0]}
    made |= {"tuples": [1, 2], "coverage": [1.0, 0.5], "as_of": [700, 1000], "k_ms": [100, 300]}
    return pa.Table.from_pandas(pd.DataFrame(made | columns))


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
        console.print(summary(load(FLIGHTS), answers(**columns), answers(), {"windows right": [0.5, 1.0]}, 2))
    return captured.get()


def test_the_two_versions_beside_each_other():
    told = shown()
    assert "50.00%" in told
    assert "100 %" in told
    assert "200 ms on average, 300 ms at most" in told
    assert "300 ms" in told.splitlines()[-2]  # latency: the mean of 200 and 400 ms


def test_a_constant_slack_is_told_once():
    assert "on average" not in shown(k_ms=[300, 300])


def test_what_is_told_of_both_stands_beside_each_other():
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(load(FLIGHTS), answers(), answers(), {"windows off": [0.125, 0.0], "found": [0.5, 1]}, 2))
    off, found = (line for line in captured.get().splitlines() if "off" in line or "found" in line)
    assert "12.50%" in off
    assert "0.00%" in off
    assert "50.00%" in found
    assert "100 %" in found


def rankings(*rows: tuple[str, int, int, str, float, int]) -> pa.Table:
    found = pd.DataFrame(rows, columns=["key", "window_start", "rank", "id", "score", "tuples"])
    found = found.assign(window_end=found["window_start"] + 500, coverage=1.0, k_ms=0, as_of=500)
    return pa.Table.from_pandas(found)


TRUE = {("a", 0, 500): ([(9.0, "x"), (8.0, "y")], 7), ("b", 0, 500): ([(3.0, "z")], 1)}


def test_a_ranking_is_right_where_all_of_it_is():
    right = [("a", 0, 1, "x", 9.0, 7), ("a", 0, 2, "y", 8.0, 7), ("b", 0, 1, "z", 3.0, 1)]
    assert share_right(rankings(*right), TRUE) == share_found(rankings(*right), TRUE) == 1
    assert share_right(rankings(*right[:2]), TRUE) == share_found(rankings(*right[:2]), TRUE) == 0.5
    swapped = [("a", 0, 1, "y", 8.0, 7), ("a", 0, 2, "x", 9.0, 7), right[2]]
    assert (share_right(rankings(*swapped), TRUE), share_found(rankings(*swapped), TRUE)) == (0.5, 1)
    other = [right[0], ("a", 0, 2, "w", 7.0, 6), right[2]]
    assert (share_right(rankings(*other), TRUE), share_found(rankings(*other), TRUE)) == (0.5, 0.75)
    short = [("a", 0, 1, "x", 9.0, 6), ("a", 0, 2, "y", 8.0, 6), right[2]]
    assert share_right(rankings(*short), TRUE) == 0.5, "a tuple is missing from the count"
    assert "3" not in next(line for line in told(rankings(*right)).splitlines() if "answers" in line), "windows count"


def told(streamed: pa.Table) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(load(FLIGHTS), streamed, streamed, {}, 2))
    return captured.get()


@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_the_truth_of_a_ranking_is_by_score_and_then_by_id(tmp_path, order):
    times = pa.array([100, 200, 300, 650], pa.timestamp("ms", "UTC"))
    columns = {"at": times, "id": [4, 2, 3, 1], "symbol": ["a"] * 4, "amount": [5.0, 5.0, 7.0, 1.0]}
    pq.write_table(pa.table(columns), tmp_path / "part.parquet")
    source = {"format": "parquet", "path": str(tmp_path)}
    query = declared_query(
        {
            "name": "trades",
            "kind": "topk",
            "streams": {"trades": {"source": source, "event_time": "at", "id": "id", "key": "symbol"}},
            "window": {"size": "1 s", "slide": "500 ms"},
            "disorder": {"policy": "none"},
            "topk": {"k": 2, "score": "amount", "order": order},
        }
    )
    best = {"descending": [(7.0, 3), (5.0, 2)], "ascending": [(1.0, 1), (5.0, 2)]}[order]
    first = {"descending": [(7.0, 3), (5.0, 2)], "ascending": [(5.0, 2), (5.0, 4)]}[order]
    assert truth(query) == {("a", -500, 500): (first, 3), ("a", 0, 1000): (best, 4), ("a", 500, 1500): ([(1.0, 1)], 1)}


def test_an_answer_is_off_by_its_relative_error_and_a_missing_one_is():
    true = {(None, 0, 500): (1.0, 1), (None, 100, 600): (2.0, 2), (None, 200, 700): (4.0, 2), ("a", 0, 500): (1.0, 1)}
    assert share_off(answers(value=[1.0, 2.0]), true, 0.05) == 0.5
    assert share_off(answers(value=[1.04, 1.95]), true, 0.05) == 0.5
    assert share_off(answers(value=[1.06, 1.8]), true, 0.05) == 1
    assert share_off(answers(key=["b", "b"]), true, 0.05) == 1
    assert share_off(answers(value=[0.0, 0.1]), dict.fromkeys(list(true)[:2], (0.0, 1)), 0.05) == 0.5


def test_long_waits_are_told_in_minutes():
    assert "100 min" in shown(as_of=[500 + 5_999_000, 600 + 6_003_000])
