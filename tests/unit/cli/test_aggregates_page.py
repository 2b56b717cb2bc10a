"""The query of docs/aggregates.md: its commands, from CSV to corrected answers."""

from __future__ import annotations

import csv
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "aggregates.md").read_text()
(_, QUERY), (_, COMMANDS), *_ = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COUNT = 3000
DELAYS = (0, 1, 5, 20, 90, 700)
"""Of events, s: some miss their windows."""
TRUTH = """
    with events as (
        select *, lower(coalesce(platform, 'unknown')) as app, cast(amount / 1.19 as decimal(12, 2)) as net,
            time_bucket(interval 5 minutes, cast(event_ts as timestamp)) as start
        from read_csv('{files}', all_varchar = false)
        where status = 'paid' and amount > 0
    )
    select country, app, start, sum(net), count(*), count(*) filter (where code >= 500), quantile_cont(latency, 0.9),
        count(distinct "user"), count(*) filter (where code >= 500) / count(*), count(*)
    from events group by all order by all
"""


def write_events(directory: Path) -> None:
    """Two files of events in order of arrival."""
    draw, start = random.Random(33), datetime(2026, 11, 26, tzinfo=UTC)
    names = [
        "event_id",
        "event_ts",
        "received_ts",
        "user",
        "country",
        "platform",
        "status",
        "amount",
        "code",
        "latency",
    ]
    rows = []
    for number in range(COUNT):
        received = start + timedelta(seconds=number)
        event = received - timedelta(seconds=draw.choice(DELAYS))
        words = (
            draw.choice(["DE", "FR", "IT"]),
            draw.choice(["iOS", "Web", "web", ""]),
            draw.choice(["paid", "paid", "open"]),
        )
        numbers = (
            f"{draw.randrange(-500, 20_000) / 100:.2f}",
            draw.choice([200, 200, 404, 500]),
            draw.randrange(1, 2_000),
        )
        times = (time.isoformat(timespec="seconds") for time in (event, received))
        rows.append([f"e{number}", *times, f"u{draw.randrange(200)}", *words, *numbers])
    directory.mkdir()
    for part, of_part in enumerate((rows[: COUNT // 2], rows[COUNT // 2 :])):
        with (directory / f"part-{part}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([names, *of_part])


def test_the_commands_of_the_page_end_with_the_answers_of_one_sql_statement(tmp_path, monkeypatch, tailrace):
    monkeypatch.chdir(tmp_path)
    write_events(tmp_path / "events")
    (tmp_path / "revenue.yaml").write_text(QUERY)
    lines = [line.split() for line in COMMANDS.strip().splitlines()]
    printed = {line[1]: tailrace(*line[1:]) for line in lines}
    assert f"read {COUNT:,} records" in printed["run"].stdout + printed["run"].stderr
    assert "failure_rate" in printed["results"].stdout
    results = ("results", "revenue.yaml", "--warehouse", "warehouse", "--format", "parquet", "--output")
    tailrace(*results, "answers.parquet")
    tailrace(*results, "streamed.parquet", "--as-of", "stream")
    names = ["country", "platform", "window_start", "revenue", "purchases", "failures", "p90", "users", "failure_rate"]
    answers, streamed = (pq.read_table(f"{name}.parquet") for name in ("answers", "streamed"))
    found = sorted(tuple(row[name] for name in (*names, "tuples")) for row in answers.to_pylist())
    expected = duckdb.sql(TRUTH.format(files=tmp_path / "events" / "*.csv")).fetchall()
    assert len(found) == len(expected) > 60
    for row, right in zip(found, expected, strict=True):
        assert row[:2] == right[:2]
        assert row[2].replace(tzinfo=None) == right[2].replace(tzinfo=None)
        assert row[3:6] == right[3:6]
        assert (row[7], row[9]) == (right[7], right[9])
        assert (row[6], row[8]) == pytest.approx((right[6], right[8]))
    assert sum(streamed["tuples"].to_pylist()) < sum(answers["tuples"].to_pylist()), "some events came late"
