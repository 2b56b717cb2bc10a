"""Top-k on Spark: rankings as streamed, and as corrected; `unit/topk/test_runs.py` has the rest in process."""

from __future__ import annotations

import itertools
import random

import pytest

from kit.oracles import rankings
from kit.oracles.oracle import Settings, distinct, stream
from kit.oracles.rankings import SCORES, contents, ranked, rankings_of, streamed, with_scores
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, rows_of, tables_of, write_files
from tailrace.answers.by_window import ByWindow
from tailrace.correction import history_scan
from tailrace.correction.correction_range import CorrectionRange
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.results import AnswerTables
from tailrace.stream.run_options import RunOptions
from tailrace.windows.sliding import Sliding

TUPLES = make_stream(500, seed=5, duplicates=25)
SETTINGS = Settings(700, 300, 100, "median", ("k_slack", 200))
K = 3


def test_the_stream_and_then_intervals_of_arrival_in_any_order_and_twice(tmp_path, spark, monkeypatch):
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 7))
    query = make_query(tmp_path / "in", SETTINGS, 3, topk={"k": K, "score": "value", "order": "ascending"})
    run(query, tmp_path / "wh", RunOptions(96))
    outcome = stream(TUPLES, SETTINGS)
    found = rankings_of(rows_of(tmp_path / "wh")["results"])
    assert found == streamed(outcome, TUPLES, SETTINGS, K, descending=False)
    last = (max(t.arrival_time for t in TUPLES) // 100 + 1) * 100
    bounds = [EPOCH, *(EPOCH + (last - EPOCH) * i // 300 * 100 for i in (1, 2)), last]
    intervals = list(itertools.pairwise(bounds))
    order = [*intervals, intervals[0]]
    random.Random(0).shuffle(order)
    for a, b in order:
        correct(query, tmp_path / "wh", CorrectionRange(a, b, arrival=True))
    model = ByWindow(Sliding(SETTINGS.size, SETTINGS.slide), ("rank",))
    corrected = rankings_of(AnswerTables(tables_of(tmp_path / "wh"), model).latest().to_pylist())
    assert corrected == rankings.latest(outcome, TUPLES, SETTINGS, intervals, K, descending=False)


@pytest.mark.parametrize("name", ["int64", "decimal of 38 digits"])
def test_scores_keep_their_type(tmp_path, spark, name):
    tuples = with_scores(TUPLES, name)
    write_files(tuples, tmp_path / "in", even(len(tuples), 7), values=SCORES[name][0])
    query = make_query(tmp_path / "in", SETTINGS, 3, topk={"k": K, "score": "value"})
    run(query, tmp_path / "wh", RunOptions(96))
    assert rankings_of(rows_of(tmp_path / "wh")["results"]) == streamed(stream(TUPLES, SETTINGS), tuples, SETTINGS, K)
    correct(query, tmp_path / "wh")
    model = ByWindow(Sliding(SETTINGS.size, SETTINGS.slide), ("rank",))
    corrected = rankings_of(AnswerTables(tables_of(tmp_path / "wh"), model).latest().to_pylist())
    assert corrected == ranked(contents(distinct(tuples, SETTINGS.tick), SETTINGS), K)
