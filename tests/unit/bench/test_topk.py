"""The experiments on top-k: repeated calibration, the slack K in force, the methods, and the results page."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from bench.report import Effort
from bench.simulate import RecordedStream, simulate
from bench.topk import drift, methods, paper_query, promise, report, speed
from bench.topk.calibrated import calibrations
from bench.topk.paper_query import (
    ADAPTIVE,
    SIZE_MS,
    expected_hit_rate,
    generate_stream,
    policy_of,
    query,
    smallest_slack_ms,
)
from generators.replay import START_MS

pytestmark = pytest.mark.slow

EVERY_MS = 60_000


@pytest.fixture(scope="module")
def stream() -> RecordedStream:
    return RecordedStream.read(query(ADAPTIVE), generate_stream(6_000, 900, 20, 3))


def test_a_calibration_sees_only_tuples_that_have_arrived(stream):
    whole = list(calibrations(query(ADAPTIVE), stream, EVERY_MS))
    assert len(whole) > 5
    assert all(step.at_ms % EVERY_MS == 0 and step.tick == step.at_ms // 100 - 1 for step in whole)
    arrivals = int(np.searchsorted(stream.arrival_ms, whole[3].at_ms)) + 1  # one more tuple ends the last tick
    short = list(calibrations(query(ADAPTIVE), stream.first(arrivals), EVERY_MS))
    assert [step.next_interval for step in short[:4]] == [step.next_interval for step in whole[:4]]
    assert short[3].measured.accuracy.tolist() == whole[3].measured.accuracy.tolist()
    assert [step.interval for step in whole[1:]] == [step.next_interval for step in whole[:-1]]


def test_a_proposal_is_in_force_from_the_next_tick_on(stream):
    calibrated = query(ADAPTIVE)
    run = simulate(calibrated, stream, [(policy_of(calibrated).waiting(k), tick) for k, tick in _changes(stream)])
    ticks = run.frontier.tick[:-1]
    (low, first), (high, second) = _changes(stream)
    expected = np.where(ticks <= first, 2_000, np.where(ticks <= second, low, high))
    assert run.frontier.k_ms[:-1].tolist() == expected.tolist()


def _changes(stream: RecordedStream) -> list[tuple[int, int]]:
    tick = stream.column("tick")
    return [(500, int(tick[5_000])), (9_000, int(tick[9_000]))]


def test_the_error_of_a_window_is_that_of_brute_force(stream):
    run = simulate(query({"policy": "k_slack", "k": "2 s"}), stream)
    event, score, name = (stream.column(field) for field in ("event_time", "score", "id"))
    frontier_before = run.frontier.before(run.frontier.index(stream.column("tick")))  # F before the tick of each tuple
    checked = 0
    for row in run.windows.itertuples():
        members = np.flatnonzero((event >= row.window_end - SIZE_MS) & (event < row.window_end))
        received = members[frontier_before[members] < row.window_end]
        exact, streamed = (
            {name[i] for i in sorted(content, key=lambda i: (-score[i], name[i]))[: paper_query.K]}
            for content in (members, received)
        )
        assert row.error == pytest.approx(1 - len(exact & streamed) / len(exact))
        checked += row.error > 0
    assert checked > 5


def test_baselines_answer_at_once_and_adaptive_waits(stream):
    latency_s = {}
    for method, policy in methods.METHODS.items():
        windows = methods.whole(simulate(query(policy, method), stream))
        assert windows["window_end"].min() >= START_MS + SIZE_MS
        latency_s[method] = windows["latency_s"].mean()
    assert latency_s["adaptive"] == pytest.approx(2 + latency_s["gstopk"], abs=0.5)
    assert latency_s["sma"] == latency_s["mintopk"] == latency_s["gstopk"] < 2


def test_the_smallest_k_of_the_formula():
    assert [smallest_slack_ms(tau) for tau in (1_000, 3_000)] == [0, 0]
    assert smallest_slack_ms(6_000) == pytest.approx(4_200, abs=50)
    assert smallest_slack_ms(10_000) == pytest.approx(12_000, abs=50)
    assert expected_hit_rate(smallest_slack_ms(6_000), 6_000) == pytest.approx(paper_query.ACCURACY)


def test_the_candidates_of_a_window_do_not_grow_with_the_stream():
    """At most k of each pane (12 in a window, and 2 more within K), and k late ones of each window."""
    candidates = [
        speed._pass("adaptive", speed._batches(rows, 500, 1, None))["candidates a window"] for rows in (60_000, 120_000)
    ]
    assert 0 < max(candidates) <= paper_query.K * (14 + 12) / 12
    assert candidates[0] == pytest.approx(candidates[1], rel=0.1)


def test_every_method_answers_over_the_same_batches():
    stream = speed._batches(5_000, 1_000, 3, 7)
    batches = stream.batches
    assert sum(batch.tuples.num_rows for batch in batches) == 5_000
    tick_ranges = [
        (int(np.asarray(batch.tuples.column("tick"))[0]), int(np.asarray(batch.tuples.column("tick"))[-1]))
        for batch in batches
    ]
    assert all(before[1] < after[0] for before, after in itertools.pairwise(tick_ranges)), "ticks are complete"
    for method in speed.METHODS:
        assert speed._pass(method, stream)["tuples/s"] > 0


@pytest.mark.needs("long")
def test_the_page_holds_every_table_and_plot(tmp_path, monkeypatch):
    """All experiments on small inputs; a stand-in gives the measurements of Spark."""
    monkeypatch.setattr(methods, "RATE", 20)
    monkeypatch.setattr(methods, "SECONDS", 500)
    monkeypatch.setattr(methods, "SEEDS", (1, 2))
    monkeypatch.setattr(promise, "WINDOWS", 40)
    monkeypatch.setattr(promise, "RATE", 20)
    monkeypatch.setattr(promise, "HOURS", 1)
    monkeypatch.setattr(promise, "SETTLED", 3)
    monkeypatch.setattr(promise, "MANY", 500)
    monkeypatch.setattr(promise, "STEPS", 2)
    monkeypatch.setattr(drift, "RATE", 10)
    monkeypatch.setattr(drift, "SECONDS", 4_000)
    monkeypatch.setattr(report, "IN_PROCESS", 5_000)
    cost = {
        "cpu_us_a_row": 1.0,
        "driver_mib": 1,
        "jvm_mib": 2,
        "workers_mib": 3,
        "whole_rows_s": 4.0,
        "warm_rows_s": 5.0,
    }
    passes = [{"case": "dense", "contestant": name, "round": 1} | cost for name in ("native", "tailrace")]
    monkeypatch.setattr(report.side_by_side, "bench", lambda *arguments: passes)
    page = report.REPORT.write(tmp_path, Effort(10_000, 2, 1), lambda line: None)
    text, tables = page.read_text(), json.loads((tmp_path / "001.json").read_text())
    assert "{" not in text
    assert {name for name in tables if tables[name]} == {
        "methods",
        "runs",
        "hits",
        "settled",
        "drift",
        "needed",
        "speed",
        "spark",
        "measured",
    }
    for name in ("time", "disorder", "hits", "drift"):
        assert (tmp_path / f"001-{name}.png").stat().st_size > 10_000
        assert f"(001-{name}.png)" in text
