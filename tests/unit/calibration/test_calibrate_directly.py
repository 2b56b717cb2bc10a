"""A calibration by two time scales from end to end in process: its report, its proposal, and the methods beside it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kit.oracles.oracle import Settings, stream
from kit.oracles.rankings import contents, ranked, streamed
from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_query, make_stream, write_files
from tailrace.calibration.acceptance import accept, report_of, to_json
from tailrace.calibration.calibrate import calibrate
from tailrace.calibration.report import Determination
from tailrace.calibration.search import Bracket, SlackSearch
from tailrace.ground.errors import Refused
from tailrace.query.disorder_section import Disorder
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

SETTINGS = Settings(700, 300, 100, "sum", ("k_slack", 3000))
TUPLES = make_stream(4_000, seed=8)
K = 3


def declare(query: Query, **policy: object) -> Query:
    disorder = Disorder.model_validate({"policy": "cache_duration", "initial": "3 s", "tick": "100 ms"} | policy)
    return query.model_copy(update={"disorder": disorder})


@pytest.fixture(scope="module")
def rankings(tmp_path_factory) -> tuple[Query, Path]:
    """A query whose stream has read everything, with its warehouse."""
    directory = tmp_path_factory.mktemp("rankings")
    query = declare(make_query(directory / "in", SETTINGS, topk={"k": K, "score": "value"}))
    write_files(TUPLES, directory / "in", even(len(TUPLES), 2))
    Driver(query, directory / "wh").run()
    return query, directory / "wh"


def hit_rate(k_ms: int) -> float:
    """The mean hit rate of all windows that are complete with this K, by the oracle."""
    plain = replace(SETTINGS, policy=("k_slack", k_ms))
    near, last = streamed(stream(TUPLES, plain), TUPLES, plain, K), max(item.event_time for item in TUPLES)
    rates: dict[int, list[float]] = {}
    for window, best in ranked(contents(TUPLES, SETTINGS), K).items():
        if window[2] <= last - 7_000:
            found = {id_ for id_, _ in near.get(window, [])}
            rates.setdefault(window[2], []).append(sum(id_ in found for id_, _ in best) / len(best))
    return float(np.mean([np.mean(of_keys) for of_keys in rates.values()]))


def test_k_follows_at_once_and_keeps_the_accuracy(rankings):
    query, warehouse = rankings
    report = calibrate(query, warehouse, dry_run=True)
    k_ms, determination = report.next_interval.k_ms, report.determination
    assert hit_rate(k_ms) >= 0.94
    assert hit_rate(k_ms // 2) < 0.94
    assert (determination.lower_ms, determination.upper_ms) == (report.interval.lower_ms, report.interval.upper_ms)
    assert determination.lower_ms <= k_ms <= determination.upper_ms
    assert report.next_interval == report.interval == Bracket(determination.lower_ms, determination.upper_ms, k_ms)
    assert report.accuracy >= 0.95 - 1e-9
    durations = [row.duration_ms for row in report.measurements]
    assert durations == sorted(set(durations))
    assert {0, 3_000, k_ms} <= set(durations), "K = 0, the one in force and the proposed one"
    accuracies = [row.accuracy for row in report.measurements]
    assert accuracies == sorted(accuracies)
    in_force = next(row for row in report.measurements if row.duration_ms == 3_000)
    assert in_force.accuracy == pytest.approx(hit_rate(3_000), abs=4 * in_force.error + 0.01)
    assert all(0 <= row.error < 0.05 for row in report.measurements)
    assert f"gives {report.accuracy:.4f} of 0.95; K is between " in report.evidence
    assert calibrate(query, warehouse, dry_run=True) == report, "it is deterministic"


def test_a_dry_run_survives_json_and_is_proposed_as_it_is(rankings):
    query, warehouse = rankings
    report = calibrate(query, warehouse, dry_run=True)
    assert report_of(to_json(report), "here") == report
    unknown = replace(report, measurements=tuple(replace(each, error=math.inf) for each in report.measurements))
    assert report_of(to_json(unknown), "here") == unknown, "of few windows no error is known"
    accept(query, warehouse, report, "here")
    (row,) = Tables(Layout.for_query(warehouse, query.name)).read("proposals").to_pylist()
    assert (row["k_ms"], row["evidence"]) == (report.next_interval.k_ms, report.evidence)
    again = calibrate(query, warehouse)
    assert again.next_interval == report.next_interval, "it does not depend on an earlier proposal"
    assert again.basis.previous is not None


def test_a_policy_that_takes_no_proposal_is_estimated_too(rankings, tmp_path):
    query, warehouse = rankings
    constant = query.model_copy(update={"disorder": Disorder.model_validate({"policy": "k_slack", "k": "3 s"})})
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 2))
    constant = make_query(tmp_path / "in", SETTINGS, topk={"k": K, "score": "value"})
    Driver(constant, tmp_path / "wh").run()
    report, expected = calibrate(constant, tmp_path / "wh", dry_run=True), calibrate(query, warehouse, dry_run=True)
    assert report.proposed is None
    assert report.next_interval == expected.next_interval


@pytest.mark.parametrize(("method", "doubling"), [("search", True), ("paper", False)])
def test_the_searches_stay_selectable(rankings, tmp_path, monkeypatch, method, doubling):
    query = declare(make_query(tmp_path / "in", SETTINGS, topk={"k": K, "score": "value"}), method=method)
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 2))
    Driver(query, tmp_path / "wh").run()
    used, step = [], SlackSearch.next
    monkeypatch.setattr(SlackSearch, "next", lambda self, *rest: used.append(self.doubling) or step(self, *rest))
    report = calibrate(query, tmp_path / "wh", dry_run=True)
    assert used == [doubling]
    assert report.determination is None
    assert report.interval == Bracket(0, 6_000, 3_000)
    assert report.windows == 30


def determined(**fields: object) -> str:
    known = {"lower_ms": 900, "upper_ms": 1_500, "is_narrow": True, "winners_windows": 2_000, "hazard_ratio": 1.0}
    return Determination(**(known | {"by_winners": False, "since": None} | fields)).reason


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ""),
        ({"is_narrow": False}, "; there is not enough history to say more"),
        ({"since": 0}, "; delays changed at 1970-01-01T00:00:00.000Z"),
        ({"hazard_ratio": 0.83}, "; the winners of 2000 windows have 0.83 times the hazard of others"),
        ({"hazard_ratio": 0.33, "by_winners": True}, "; by the delays of the winners alone"),
    ],
)
def test_the_reason_in_words(fields, words):
    assert determined(**fields) == f"K is between 900 ms and 1500 ms with 90 %{words}"


def test_a_history_without_enough_windows_is_not_ready(tmp_path):
    query = declare(make_query(tmp_path / "in", SETTINGS, topk={"k": K, "score": "value"}))
    write_files(TUPLES[:60], tmp_path / "in", [0, 60])
    Driver(query, tmp_path / "wh").run()
    with pytest.raises(Refused, match=r"takes 30 windows .* there are \d+"):
        calibrate(query, tmp_path / "wh")
