"""K by its cost as well as by its accuracy, against a loop over all waits."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kit.oracles.oracle import Settings, windows_of
from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_stream, write_files
from kit.suite.examples import drawn
from tailrace.calibration.direct import WaitCosts
from tailrace.cli.commands import main
from tailrace.ground.errors import Refused
from tailrace.query.calibration_section import CostSection
from tailrace.query.declared import declared_query
from tailrace.query.loading import load

TUPLES = make_stream(4_000, seed=8)
SETTINGS = Settings(700, 300, 100, "sum")
K = "{policy: cache_duration, initial: 300 ms, tick: 100 ms, method: two_scales}"


def total(need: list[int], windows: int, prices: CostSection, wait: int) -> float:
    return prices.waiting * wait / 1000 + prices.correcting * sum(each > wait for each in need) / windows


@drawn(200)
@given(
    need=st.lists(st.integers(-20, 60), max_size=30),
    windows=st.integers(1, 9),
    least=st.integers(0, 70),
    waiting=st.floats(0.1, 100),
    correcting=st.floats(0.001, 100),
)
def test_the_cheapest_wait_is_that_of_a_loop(need, windows, least, waiting, correcting):
    prices = CostSection(waiting=waiting, correcting=correcting)
    costs = WaitCosts(prices, np.array(need, np.int64), windows)
    expected = [total(need, windows, prices, wait) for wait in range(100)]
    assert costs.cost(np.arange(100)) == pytest.approx(expected)
    found = costs.cheapest(least)
    assert found >= least, "the promise is kept"
    assert expected[found] == pytest.approx(min(expected[least:]))


def declared(directory: Path, kind: dict[str, object], **calibration: object) -> dict[str, object]:
    source = {"format": "parquet", "path": str(directory / "in")}
    stream = {"source": source, "event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"}
    fields: dict[str, object] = {"name": "costs", "streams": {"readings": stream}, "disorder": yaml.safe_load(K)}
    return fields | {"window": {"size": "700 ms", "slide": "300 ms"}, "calibration": calibration} | kind


SUM = {"kind": "aggregate", "aggregate": {"function": "count"}}
BEST = {"kind": "topk", "topk": {"k": 3, "score": "value"}}


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("costs")
    write_files(TUPLES, path / "in", even(len(TUPLES), 2))
    return path


@pytest.mark.parametrize("kind", [SUM, BEST], ids=["count", "topk"])
def test_k_is_the_cheapest_one_that_keeps_the_accuracy(directory, tmp_path, kind):
    from tailrace.calibration.calibrate import calibrate

    query = declared_query(declared(directory, kind))
    Driver(query, tmp_path / "wh").run()
    plain = calibrate(query, tmp_path / "wh", dry_run=True)
    assert {row.cost for row in plain.measurements} == {None}
    assert plain.determination.promise_ms is None
    dear = declared_query(declared(directory, kind, cost={"waiting": 1.0, "correcting": 1e-6}))
    short = calibrate(dear, tmp_path / "wh", dry_run=True)
    assert short.next_interval.k_ms == plain.next_interval.k_ms, "the cheapest wait is 0, and does not keep it"
    cheap = declared_query(declared(directory, kind, cost={"waiting": 0.001, "correcting": 1.0}))
    report = calibrate(cheap, tmp_path / "wh", dry_run=True)
    k_ms = report.next_interval.k_ms
    assert k_ms > plain.next_interval.k_ms
    promise_ms = report.determination.promise_ms
    assert promise_ms < k_ms
    assert promise_ms == pytest.approx(plain.next_interval.k_ms, rel=0.25), "of older windows: K has passed after them"
    assert report.next_interval.lower_ms <= k_ms <= report.next_interval.upper_ms
    assert report.proposed_row.cost == min(row.cost for row in report.measurements)
    assert report.accuracy >= 0.95
    assert "a window, the least; the accuracy needs" in report.evidence
    for row in report.measurements:
        late = sum(_is_late(item, row.duration_ms) for item in _placed())
        rate = late / len(TUPLES) * _rate()
        assert row.cost == pytest.approx(0.001 * row.duration_ms / 1000 + rate, rel=0.5, abs=0.3), row


def _placed() -> list[tuple[int, float]]:
    """The end of each tuple's first window, and t_max before its tick."""
    placed, t_max, tick, before = [], -math.inf, None, -math.inf
    for item in sorted(TUPLES, key=lambda item: item.arrival_time):
        if item.arrival_time // SETTINGS.tick != tick:
            tick, before = item.arrival_time // SETTINGS.tick, t_max
        t_max = max(t_max, item.event_time)
        first = min(end for _, end in windows_of(item.event_time, SETTINGS.size, SETTINGS.slide))
        placed.append((first, before))
    return placed


def _is_late(placed: tuple[int, float], wait: int) -> bool:
    return placed[1] - wait >= placed[0]


def _rate() -> float:
    """Tuples a window's step."""
    events = [item.event_time for item in TUPLES]
    return len(TUPLES) * SETTINGS.slide / (max(events) - min(events))


def test_the_command_shows_the_curve(directory, tmp_path, capsys, monkeypatch):
    fields = declared(directory, SUM, cost={"waiting": 0.5, "correcting": 0.02})
    (tmp_path / "costs.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
    Driver(declared_query(fields), tmp_path / "wh").run()
    command = ["tailrace", "calibrate", tmp_path / "costs.yaml", "--warehouse", tmp_path / "wh", "--dry-run"]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    out = " ".join(capsys.readouterr().out.split())
    assert "cost a window" in out
    assert "a window, the least" in out


@pytest.mark.parametrize(
    ("cost", "where", "fault"),
    [
        ({"waiting": 0, "correcting": 1}, "calibration.cost.waiting", "more than 0"),
        ({"waiting": 1, "correcting": -2}, "calibration.cost.correcting", "more than 0"),
        ({"waiting": 1, "correcting": math.inf}, "calibration.cost.correcting", "does not fit"),
        ({"waiting": 1}, "calibration.cost.correcting", "missing"),
    ],
)
def test_wrong_prices_are_refused_by_their_place(directory, tmp_path, cost, where, fault):
    fields = declared(directory, SUM, cost=cost)
    (tmp_path / "costs.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
    with pytest.raises(Refused) as refused:
        load(tmp_path / "costs.yaml")
    (problem,) = refused.value.problems
    assert problem.where.endswith(where)
    assert fault in f"{problem.fault} {problem.remedy}"


@pytest.mark.parametrize(
    ("disorder", "fault"),
    [
        ({"policy": "cache_duration"}, "method search finds K by the accuracy alone"),
        ({"policy": "cache_duration", "method": "paper"}, "method paper finds K by the accuracy alone"),
        ({"policy": "k_slack", "k": "1 s"}, "takes no proposal of a calibration"),
    ],
)
def test_prices_go_with_a_direct_calibration(directory, disorder, fault):
    fields = declared(directory, SUM, cost={"waiting": 1, "correcting": 1}) | {"disorder": disorder}
    with pytest.raises(ValidationError, match=fault):
        declared_query(fields)


def test_prices_do_not_go_with_a_join(directory):
    fields = declared(directory, SUM, cost={"waiting": 1, "correcting": 1})
    (stream,) = fields["streams"].values()
    fields["streams"] = {side: {name: stream[name] for name in stream if name != "key"} for side in ("left", "right")}
    join = {"join": "interval", "interval": {"lower": "-1 s", "upper": "1 s"}, "relation": "intersects"}
    join |= {"geometry": {side: {"x": "value", "y": "value"} for side in ("left", "right")}}
    fields |= {"kind": "spatial_join", "spatial_join": join}
    del fields["window"], fields["aggregate"]
    with pytest.raises(ValidationError, match="waiting delays no answer of a join"):
        declared_query(fields)
