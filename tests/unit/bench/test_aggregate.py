"""The results page of the experiments on aggregates."""

from __future__ import annotations

import json

import pytest

from bench.aggregate import bursts, estimates, games, report
from bench.page import markdown
from bench.report import Effort

pytestmark = pytest.mark.slow


@pytest.mark.needs("long")
def test_the_page_holds_every_table_and_plot(tmp_path, monkeypatch):
    """Over ten seconds of each game; stand-ins give the results of the long experiments."""
    monkeypatch.setattr(games, "SECONDS", 10)
    monkeypatch.setattr(games, "SEEDS", range(1, 2))
    for experiment in (bursts, estimates):
        monkeypatch.setattr(experiment, "SEEDS", range(1, 2))
    row = {"game": "game1", "windows": 7, "off": 0.125, "ratio": None}
    monkeypatch.setattr(games, "kept", lambda echo: [row])
    monkeypatch.setattr(games, "by_function", lambda echo: [row])
    promise = {"function": "sum", "error": 0.05, "risk": 0.05, "off": 0.01, "distribution": "constant", "tuples": 20}
    monkeypatch.setattr(report, "simulate_promises", lambda windows, seed: [promise | {"threshold": 0.9}])
    monkeypatch.setattr(
        report, "scaling", lambda *arguments: [{"game": "game1", "tasks": 1, "rows/s": 1e6, "rounds": 3}]
    )
    cost = {"cpu_us_a_row": 1.0, "driver_mib": 1, "jvm_mib": 2, "workers_mib": 3}
    measurement = {"case": "dense", "contestant": "native", "round": 1, "whole_rows_s": 4.0, "warm_rows_s": 5.0}
    calls = []
    monkeypatch.setattr(
        report.side_by_side, "bench", lambda *arguments: calls.append(arguments) or [measurement | cost]
    )
    page = report.REPORT.write(tmp_path, Effort(10_000, 2, 1), lambda line: None)
    text, tables = page.read_text(), json.loads((tmp_path / "002.json").read_text())
    assert page.name == "002.md"
    assert "{" not in text
    assert "tools/dev.py bench aggregate --rows 10000 --files 2 --rounds 1 --report" in text
    assert [case.name for case in calls[0][3]] == ["dense 500/100 ms"]
    assert {row["policy"] for row in tables["policies"]} == set(games.POLICIES)
    assert {row["policy"] for row in tables["bursts"]} == set(bursts.PROMISING)
    assert {(row["case"], row["policy"]) for row in tables["estimates"]} == {
        (case, policy) for case in ("as they are", "bursts", "as they are, by sensor") for policy in estimates.POLICIES
    }
    assert "(not measured)" not in text
    assert all(tables.values())
    for name in ("buffer", "latency", "accuracy", "throughput"):
        assert (tmp_path / f"002-{name}.png").stat().st_size > 10_000
        assert f"(002-{name}.png)" in text


def test_a_table_shows_shares_in_percent_and_missing_values_as_a_dash():
    table = markdown([{"case": "a", "rows": 12_345, "off": 0.125, "hit(K)": 0.5, "rate": 1234.5, "ratio": None}])
    assert table.splitlines() == [
        "| case | rows | off | hit(K) | rate | ratio |",
        "| --- | --- | --- | --- | --- | --- |",
        "| a | 12,345 | 12.50 % | 50.00 % | 1,234 | – |",
    ]
