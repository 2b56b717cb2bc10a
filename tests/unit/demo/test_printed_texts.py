"""The progress line and the summary tables of the demonstration, and its comparison of answers with the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from demo.comparison import Comparison, compare
from demo.generated_data import COPIES, TRADES, declare
from demo.printed_texts import progress_table, summary, texts
from demo.true_pairs import true_pairs
from demo.truth import share_found, share_off, share_right, truth
from tailrace.query.declared import declared_query
from tailrace.query.loading import load
from tailrace.storage.status import Status

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"
STATUS = Status("streaming", 1, 0, 0, 12, rows=3456, t_max=1_767_225_600_000, k_ms=250, coverage=0.98765, late=7)


def test_the_progress_shows_batches_rows_slack_coverage_and_late_tuples():
    table = progress_table(width=120, counts_corrections=False)
    heads, line = table.lines(texts(STATUS))
    assert heads.split() == ["state", "batches", "rows", "to", "read", "K", "s", "coverage", "late", "answers", "t_max"]
    assert line.split() == ["streaming", "12", "3,456", "0", "0.25", "98.77%", "7", "0", "2026-01-01T00:00:00"]
    [line] = table.lines(texts(replace(STATUS, k_ms=None)))
    assert line.split()[4] == "–"


def test_the_progress_fits_80_columns_with_its_corrections():
    heads, line = progress_table(width=80, counts_corrections=True).lines(texts(STATUS, 3))
    assert max(len(heads), len(line)) <= 80
    assert heads.split()[-2:] == ["corrections", "late"]
    assert line.split()[-2:] == ["3", "7"]


def answers(**columns: list) -> pa.Table:
    defaults = {"key": [None, None], "window_start": [0, 100], "window_end": [500, 600], "value": [1.0, 2.0]}
    defaults |= {"tuples": [1, 2], "coverage": [1.0, 0.5], "as_of": [700, 1000], "k_ms": [100, 300]}
    return pa.Table.from_pandas(pd.DataFrame(defaults | columns))


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_without_a_key_there_is_one_group(nothing):
    true = {(None, 0, 500): (1.0, 1), (None, 100, 600): (2.0, 2)}
    assert share_right(answers(key=[nothing, nothing]), true) == 1
    assert share_right(answers(key=[nothing, nothing], value=[1.0, 2.1]), true) == 0.5
    assert share_right(answers(key=[nothing, nothing], tuples=[1, 1]), true) == 0.5
    assert share_right(answers(key=[nothing, "a"]), true) == 0.5


def summary_of_answers(**columns: list) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(
            summary(
                load(FLIGHTS),
                answers(**columns),
                answers(),
                Comparison("2 windows", {"windows right": [0.5, 1.0]}, True),
            )
        )
    return captured.get()


def test_the_summary_shows_streamed_and_corrected_answers():
    text = summary_of_answers()
    assert "50.00%" in text
    assert "100 %" in text
    assert "200 ms" in next(line for line in text.splitlines() if "K, the slack, on average" in line)
    assert "300 ms" in next(line for line in text.splitlines() if "K at most" in line)
    assert "300 ms" in text.splitlines()[-2]  # latency: the mean of 200 and 400 ms


@pytest.mark.parametrize(
    "labels",
    [
        ("windows right", "windows ≥ 5% off (promised: 10% at most)"),
        ("windows whole, and ranked right", "of the correct top-k (promised: 95%)"),
        ("pairs found", "of these, true"),
    ],
)
def test_the_summary_fits_80_columns(labels):
    console = Console(width=80, no_color=True)
    comparison = Comparison("15,556 windows", {label: [0.87552, 1.0] for label in labels}, True)
    with console.capture() as captured:
        console.print(summary(load(FLIGHTS), answers(), answers(), comparison))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert [label for label in labels if not any(label in line for line in lines)] == [], "no label is broken"
    assert len(lines) == 5 + 1 + len(labels) + 4


def test_a_constant_slack_is_printed_once():
    assert "on average" not in summary_of_answers(k_ms=[300, 300])


def test_extra_shares_are_printed_for_both_versions():
    shares = {"windows off": [0.125, 0.0], "found": [0.5, 1]}
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(load(FLIGHTS), answers(), answers(), Comparison("2 windows", shares, True)))
    off_line, found_line = (line for line in captured.get().splitlines() if "off" in line or "found" in line)
    assert "12.50%" in off_line
    assert "0.00%" in off_line
    assert "50.00%" in found_line
    assert "100 %" in found_line


def rankings(*rows: tuple[str, int, int, str, float, int]) -> pa.Table:
    frame = pd.DataFrame(rows, columns=["key", "window_start", "rank", "id", "score", "tuples"])
    frame = frame.assign(window_end=frame["window_start"] + 500, coverage=1.0, k_ms=0, as_of=500)
    return pa.Table.from_pandas(frame)


TRUE = {("a", 0, 500): ([(9.0, "x"), (8.0, "y")], 7), ("b", 0, 500): ([(3.0, "z")], 1)}


def test_a_ranking_is_right_when_all_its_ranks_and_its_count_are():
    correct = [("a", 0, 1, "x", 9.0, 7), ("a", 0, 2, "y", 8.0, 7), ("b", 0, 1, "z", 3.0, 1)]
    assert share_right(rankings(*correct), TRUE) == share_found(rankings(*correct), TRUE) == 1
    assert share_right(rankings(*correct[:2]), TRUE) == share_found(rankings(*correct[:2]), TRUE) == 0.5
    swapped = [("a", 0, 1, "y", 8.0, 7), ("a", 0, 2, "x", 9.0, 7), correct[2]]
    assert (share_right(rankings(*swapped), TRUE), share_found(rankings(*swapped), TRUE)) == (0.5, 1)
    replaced = [correct[0], ("a", 0, 2, "w", 7.0, 6), correct[2]]
    assert (share_right(rankings(*replaced), TRUE), share_found(rankings(*replaced), TRUE)) == (0.5, 0.75)
    undercounted = [("a", 0, 1, "x", 9.0, 6), ("a", 0, 2, "y", 8.0, 6), correct[2]]
    assert share_right(rankings(*undercounted), TRUE) == 0.5, "a tuple is missing from the count"
    assert "3" not in next(
        line for line in summary_of_rankings(rankings(*correct)).splitlines() if "answers" in line
    ), "windows count"


def summary_of_rankings(streamed: pa.Table) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(load(TRADES), streamed, streamed, Comparison("2 windows", {}, True)))
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


def test_an_answer_is_off_by_its_relative_error_and_a_missing_answer_is_off():
    true = {(None, 0, 500): (1.0, 1), (None, 100, 600): (2.0, 2), (None, 200, 700): (4.0, 2), ("a", 0, 500): (1.0, 1)}
    assert share_off(answers(value=[1.0, 2.0]), true, 0.05) == 0.5
    assert share_off(answers(value=[1.04, 1.95]), true, 0.05) == 0.5
    assert share_off(answers(value=[1.06, 1.8]), true, 0.05) == 1
    assert share_off(answers(key=["b", "b"]), true, 0.05) == 1
    assert share_off(answers(value=[0.0, 0.1]), dict.fromkeys(list(true)[:2], (0.0, 1)), 0.05) == 0.5


def test_long_waits_are_printed_in_minutes():
    assert "100 min" in summary_of_answers(as_of=[500 + 5_999_000, 600 + 6_003_000])


def pairs(*ids: tuple[str, str]) -> pa.Table:
    count = len(ids)
    times = {"left_time": pa.array([0] * count, pa.int64()), "right_time": pa.array([300] * count, pa.int64())}
    columns = {"left_id": pa.array([left for left, _ in ids]), "right_id": pa.array([right for _, right in ids])}
    stamps = {"as_of": pa.array([700] * count), "k_ms": pa.array([500] * count), "coverage": pa.array([1.0] * count)}
    return pa.table(columns | times | stamps)


def test_pairs_are_compared_with_all_true_ones(tmp_path):
    query = load(declare(tmp_path, [COPIES])[0])
    true = sorted(true_pairs(query))
    assert ("left-000000", "right-000000") in true  # the copy of the first frame
    whole, half = pairs(*true), pairs(*true[: len(true) // 2])
    comparison = compare(query, half, whole)
    assert comparison.is_right
    assert comparison.truth == f"{len(true):,} pairs"
    assert comparison.shares["pairs found"] == [pytest.approx(0.5, abs=1e-3), 1]
    assert not compare(query, whole, half).is_right
    assert not compare(query, whole, pairs(*true, true[0])).is_right, "one comes twice"
    wrong = compare(query, whole, pairs(*true, ("left-000000", "right-000999")))
    assert not wrong.is_right
    assert wrong.shares["of these, true"][1] < 1
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(query, half, whole, comparison))
    text = captured.get()
    assert "400 ms" in text.splitlines()[-2]  # the later of both times is 300
    assert "coverage" not in text  # a pair holds its two tuples
