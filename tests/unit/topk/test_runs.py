"""Top-k from files to readers: rankings as streamed, and as corrected; whole versions, however many rows."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from kit.oracles import rankings
from kit.oracles.oracle import Settings, distinct, stream
from kit.oracles.rankings import contents, ranked, rankings_of, streamed
from kit.runs.local_driver import correct_here
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, rows_of, tables_of, write_files
from tailrace.answers.by_window import ByWindow
from tailrace.calibration.calibrate import calibrate
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions
from tailrace.windows.sliding import Sliding

TUPLES = make_stream(500, seed=5, duplicates=25)
SETTINGS = Settings(700, 300, 100, "median", ("k_slack", 200))
K = 3
TOPK = {"k": K, "score": "value"}


def asked(tmp_path, settings=SETTINGS, tuples=TUPLES, parallelism=2, **topk):
    write_files(tuples, tmp_path / "in", even(len(tuples), 7))
    return make_query(tmp_path / "in", settings, parallelism, topk=TOPK | topk)


def latest(warehouse) -> dict:
    model = ByWindow(Sliding(SETTINGS.size, SETTINGS.slide), ("rank",))
    return rankings_of(AnswerTables(tables_of(warehouse), model).latest().to_pylist())


@pytest.mark.needs("long")
@pytest.mark.parametrize(("rows_in_batch", "parallelism"), [(10**6, 1), (96, 2), (96, 3)])
def test_the_stream_and_then_all_of_it_corrected_twice(tmp_path, rows_in_batch, parallelism):
    query = asked(tmp_path, parallelism=parallelism)
    run(query, tmp_path / "wh", RunOptions(rows_in_batch))
    found = rankings_of(rows_of(tmp_path / "wh")["results"])
    assert found == streamed(stream(TUPLES, SETTINGS), TUPLES, SETTINGS, K)
    true = ranked(contents(distinct(TUPLES, SETTINGS.tick), SETTINGS), K)
    assert found != true
    for _ in range(2):
        correct_here(query, tmp_path / "wh")
        assert latest(tmp_path / "wh") == true
    once = rows_of(tmp_path / "wh", "corrections")["corrections"]
    assert {(row["window_start"], row["retracted"]) for row in once if row["retracted"]} == {
        (window[1], True) for window in found.keys() - true.keys()
    }


def test_intervals_of_arrival_in_any_order_and_twice(tmp_path):
    query = asked(tmp_path, order="ascending")
    run(query, tmp_path / "wh")
    last = (max(t.arrival_time for t in TUPLES) // 100 + 1) * 100
    bounds = [EPOCH, *(EPOCH + (last - EPOCH) * i // 300 * 100 for i in (1, 2)), last]
    intervals = list(itertools.pairwise(bounds))
    order = [*intervals, intervals[0]]
    random.Random(10**6).shuffle(order)
    for a, b in order:
        correct_here(query, tmp_path / "wh", CorrectionRange(a, b, arrival=True))
    expected = rankings.latest(stream(TUPLES, SETTINGS), TUPLES, SETTINGS, intervals, K, descending=False)
    assert latest(tmp_path / "wh") == expected


@pytest.mark.needs("long")
@pytest.mark.parametrize("method", ["list", "sma", "mintopk", "gstopk"])
def test_baselines_run_and_a_correction_over_event_time_makes_them_exact(tmp_path, method):
    at_once = replace(SETTINGS, policy="none")
    query = asked(tmp_path, at_once, method=method)
    run(query, tmp_path / "wh", RunOptions(96))
    found = rankings_of(rows_of(tmp_path / "wh")["results"])
    assert (found == streamed(stream(TUPLES, at_once), TUPLES, at_once, K)) == (method in ("list", "gstopk"))
    correct_here(query, tmp_path / "wh")
    assert latest(tmp_path / "wh") == ranked(contents(distinct(TUPLES, SETTINGS.tick), SETTINGS), K)


def test_readers_are_given_whole_rankings_with_their_coverage(tmp_path):
    query = asked(tmp_path)
    run(query, tmp_path / "wh")
    correct_here(query, tmp_path / "wh")
    for as_streamed in (True, False):
        answers, columns = read_answers(query, tmp_path / "wh", as_streamed)
        assert columns[:6] == ["key", "window_start", "window_end", "rank", "id", "score"]
        assert columns[6:] == ["tuples", "coverage", "k_ms", "as_of"]
        rankings = rankings_of(answers.to_pylist())
        assert sum(map(len, rankings.values())) == len(answers)
        order = [(row["window_end"], row["key"], row["rank"]) for row in answers.to_pylist()]
        assert order == sorted(order)
        of_window = answers.to_pandas().groupby(["key", "window_end"])["coverage"].nunique()
        assert (of_window == 1).all()
    outcome = stream(TUPLES, SETTINGS)
    answers, _ = read_answers(query, tmp_path / "wh", streamed=True)
    for row in answers.to_pandas().itertuples():
        window = (row.key, row.window_start, row.window_end)
        missed = sum(window[1:] in one.windows and one.tuple.key == row.key for one in outcome.late_tuples)
        assert row.coverage == pytest.approx(row.tuples / (row.tuples + missed))


def test_its_quality_is_the_share_of_the_top_k_that_was_found(tmp_path):
    query = asked(tmp_path)
    run(query, tmp_path / "wh")
    found = rankings_of(rows_of(tmp_path / "wh")["results"])
    correct_here(query, tmp_path / "wh")
    true, missing = latest(tmp_path / "wh"), []
    for window, ranking in true.items():
        got = {name for name, _ in found.get(window, [])}
        missing.append(1 - len(got & {name for name, _ in ranking}) / len(ranking))
    missing += [1.0] * len(found.keys() - true.keys())
    quality, _ = read_quality(query, tmp_path / "wh")
    answers = quality["answers"].to_numpy() + quality["missing"].to_numpy()
    assert answers.sum() == len(missing)
    assert (quality["mean_error"].to_numpy() * answers).sum() == pytest.approx(sum(missing))


def test_a_file_without_a_tuple_stops_no_ranking_by_a_list_of_columns(tmp_path):
    first = TUPLES[200].arrival_time
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 7))
    stream_fields = {"columns": {"part": "key"}, "key": ["part"], "where": f"unix_millis(arrival_time) >= {first}"}
    query = make_query(tmp_path / "in", SETTINGS, topk=TOPK, **stream_fields)
    run(query, tmp_path / "wh", RunOptions(10**6))
    correct_here(query, tmp_path / "wh")
    kept = [item._replace(key=f'["{item.key}"]') for item in TUPLES if item.arrival_time >= first]
    assert latest(tmp_path / "wh") == ranked(contents(distinct(kept, SETTINGS.tick), SETTINGS), K)


def test_a_calibration_measures_hit_rates(tmp_path):
    tuples = make_stream(1500, seed=6)
    write_files(tuples, tmp_path / "in", even(len(tuples), 7))
    query = make_query(tmp_path / "in", SETTINGS, calibrated="search", topk=TOPK)
    run(query, tmp_path / "wh")
    report = calibrate(query, tmp_path / "wh")
    true = ranked(contents(tuples, SETTINGS), K)
    ends = sorted({end for _, _, end in true if end <= report.up_to})[-report.windows :]
    assert (ends[-1], len(ends), report.proposed) == (report.up_to, 30, True)
    for one in report.measurements:
        waits = replace(SETTINGS, policy=("k_slack", one.duration_ms))
        near, rates = streamed(stream(tuples, waits), tuples, waits, K), []
        for end in ends:
            mine = [(near.get(window, []), ranking) for window, ranking in true.items() if window[2] == end]
            hits = [len({n for n, _ in got} & {n for n, _ in ranking}) / len(ranking) for got, ranking in mine]
            rates.append(sum(hits) / len(hits))
        assert one.accuracy == pytest.approx(sum(rates) / len(rates))
    assert len({one.accuracy for one in report.measurements}) > 2
