"""The query of docs/early-answers.md: its commands, from CSV to corrected answers."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "early-answers.md").read_text()
(_, QUERY), (_, COMMANDS), *_ = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SECONDS, RATE = 1_200, 10


def write_payments(directory: Path) -> None:
    """Payments of 20 min in order of arrival; a third comes up to half a minute late."""
    draw, start = random.Random(37), datetime(2026, 11, 27, tzinfo=UTC)
    rows = []
    for number in range(SECONDS * RATE):
        paid = start + timedelta(seconds=number / RATE)
        received = paid + timedelta(seconds=min(draw.expovariate(0.1), 30) if draw.random() < 0.3 else 0)
        rows.append((received, paid, number, draw.choice(["north", "south"]), draw.randrange(100, 2_000)))
    lines = [
        f"{number},{paid.isoformat()},{received.isoformat()},{shop},{amount}"
        for received, paid, number, shop, amount in sorted(rows)
    ]
    directory.mkdir()
    (directory / "part-0.csv").write_text("payment,paid_at,received_at,shop,amount\n" + "\n".join(lines) + "\n")


def test_the_commands_of_the_page_estimate_and_then_correct(tmp_path, monkeypatch, tailrace):
    write_payments(tmp_path / "payments")
    (tmp_path / "takings.yaml").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    lines = [line.split() for line in COMMANDS.strip().splitlines()]
    printed = [tailrace(*line[1:]).stdout for line in lines]
    assert "takings_low" in printed[1]
    results = ("results", "takings.yaml", "--warehouse", "warehouse", "--format", "parquet", "--output")
    tailrace(*results, "early.parquet", "--as-of", "stream")
    tailrace(*results, "final.parquet")
    early, final = (pq.read_table(f"{name}.parquet").to_pylist() for name in ("early", "final"))
    exact = {(row["shop"], row["window_end"]): row for row in final}
    scaled = [row for row in early if row["takings_low"] is not None]
    true = [exact[row["shop"], row["window_end"]]["takings"] for row in scaled]
    inside = [row["takings_low"] <= each <= row["takings_high"] for row, each in zip(scaled, true, strict=True)]
    assert sum(inside) >= 0.8 * len(inside) > 8
    assert all(row["mean"] == pytest.approx(row["takings"] / row["payments"]) for row in early)
    assert all(row["takings"] == row["takings_raw"] and row["takings_high"] is None for row in final)


HOURLY = """\
name: hourly
kind: aggregate
streams:
  minutes: {source: {format: tailrace, query: takings}, event_time: window_start, key: [shop]}
window: 1 h
aggregate:
  takings: {function: sum, column: takings}
  highest: {function: max, column: takings_high}
disorder: {policy: none, idle: 3 min, deduplicate: true}
"""


def test_a_chained_query_reads_estimates_and_then_the_corrected_answers(tmp_path, monkeypatch, tailrace):
    write_payments(tmp_path / "payments")
    (tmp_path / "takings.yaml").write_text(QUERY)
    (tmp_path / "hourly.yaml").write_text(HOURLY)
    monkeypatch.chdir(tmp_path)
    local = ("--warehouse", "warehouse", "--engine", "local")
    results = ("results", "--warehouse", "warehouse", "--format", "parquet", "--output")
    for name in ("takings", "hourly"):
        tailrace("run", f"{name}.yaml", "--bounded", *local)
    tailrace(*results, "minutes.parquet", "takings.yaml", "--as-of", "stream")
    tailrace(*results, "early.parquet", "hourly.yaml", "--as-of", "stream")
    tailrace("correct", "takings.yaml", *local)
    tailrace("run", "hourly.yaml", "--bounded", "--correct", *local)
    tailrace(*results, "final.parquet", "hourly.yaml")
    minutes, early, final = (pq.read_table(f"{name}.parquet").to_pylist() for name in ("minutes", "early", "final"))
    for row in early:
        mine = [each for each in minutes if each["shop"] == row["shop"]]
        assert row["takings"] == sum(each["takings"] for each in mine)
        assert row["highest"] == max(each["takings_high"] for each in mine if each["takings_high"] is not None)
    payments = [line.split(",") for line in (tmp_path / "payments" / "part-0.csv").read_text().splitlines()[1:]]
    exact = {shop: sum(int(amount) for *_, of, amount in payments if of == shop) for shop in ("north", "south")}
    assert {row["shop"]: row["takings"] for row in final} == exact
    assert {row["highest"] for row in final} == {None}
