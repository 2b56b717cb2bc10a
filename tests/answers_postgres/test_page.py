"""The example of docs/answers-postgres.md runs as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from unit.cli.conftest import tailrace

__all__ = ["tailrace"]

PAGE = Path(__file__).parents[2] / "docs" / "answers-postgres.md"
EVENTS = """event_ts,received_ts,event_id,country,amount
2026-01-01T00:00:10Z,2026-01-01T00:00:11Z,a,de,1.5
2026-01-01T00:01:00Z,2026-01-01T00:01:01Z,b,fr,2
2026-01-01T00:07:00Z,2026-01-01T00:07:01Z,c,de,4
2026-01-01T00:02:00Z,2026-01-01T00:07:02Z,d,de,8
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_example_fills_the_table_and_a_correction_changes_it(tmp_path, monkeypatch, connection, sql, tailrace):
    (example,), (statement,) = blocks("yaml"), blocks("sql")
    assert yaml.safe_load(example)["answers"]["postgres"]["connection"] == connection
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.csv").write_text(EVENTS)
    (tmp_path / "revenue.yaml").write_text(example)
    monkeypatch.chdir(tmp_path)
    command = blocks("sh")[0].strip().splitlines()[-1]
    tailrace("validate", "revenue.yaml")
    tailrace(*shlex.split(command)[1:])
    streamed = [(country, float(revenue), coverage) for country, _, revenue, coverage in sql(statement)]
    assert streamed == [("de", 1.5, 0.5), ("fr", 2.0, 1.0), ("de", 4.0, 1.0)]
    correction = re.search(r"`tailrace (correct .*?)`", PAGE.read_text())
    tailrace(*shlex.split(correction[1]))
    corrected = [(country, float(revenue), coverage) for country, _, revenue, coverage in sql(statement)]
    assert corrected == [("de", 9.5, 1.0), ("fr", 2.0, 1.0), ("de", 4.0, 1.0)]


def test_a_table_that_does_not_fit_is_refused_before_a_write(tmp_path, monkeypatch, connection, sql, tailrace):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.csv").write_text(EVENTS)
    (tmp_path / "revenue.yaml").write_text(blocks("yaml")[0])
    monkeypatch.chdir(tmp_path)
    sql("CREATE TABLE reports.revenue (country text PRIMARY KEY)")
    command = blocks("sh")[0].strip().splitlines()[-1]
    said = tailrace(*shlex.split(command)[1:], code=2).stderr
    assert 'ALTER TABLE "reports"."revenue" ADD COLUMN "revenue"' in said
    assert not (tmp_path / "wh" / "revenue" / "checkpoint").exists()
    assert not list(tmp_path.glob("wh/**/_delta_log"))
