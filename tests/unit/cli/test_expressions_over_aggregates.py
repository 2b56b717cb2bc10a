"""Expressions over aggregates without a name for each: each form in SQL text, corrected and rebuilt, is DuckDB's."""

from __future__ import annotations

import csv
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

import tailrace as package
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

STREAMS = """\
name: trades
streams:
  trades: {source: {format: json, path: in}, event_time: ts, arrival_time: came, id: id}
disorder: {policy: k_slack, k: 5 s}
sql: |
  SELECT pair, window_start, window_end,
"""
FORMS = {
    "mean": ("round(avg(price), 2)", "round(avg(price), 2)"),
    "ratio": ("sum(price * qty) / sum(qty)", "sum(price * qty) / sum(qty)"),
    "bought": (
        "sum(CASE WHEN side = 'buy' THEN qty END) * 100.0 / count(*)",
        "sum(CASE WHEN side = 'buy' THEN qty END) * 100.0 / count(*)",
    ),
    "sold": ("coalesce(sum(price) FILTER (WHERE side = 'sell'), 0)",) * 2,
    "span": ("max(price) - min(price)",) * 2,
    "tail": ("percentile(price, 0.9) - median(price)", "quantile_cont(price, 0.9) - median(price)"),
    "both": ("percentile(price, array(0.5, 0.9))[1] + 0", "quantile_cont(price, [0.5, 0.9])[2]"),
    "sides": ("count(DISTINCT side) + approx_count_distinct(side)", "2 * count(DISTINCT side)"),
    "rise": ("max_by(price, ts) - first(price)", "arg_max(price, (ts, came, id)) - arg_min(price, (ts, came, id))"),
    "is_busy": ("count_if(qty > 3) > 5 AND stddev(qty) IS NOT NULL",) * 2,
    "buys": ("count(*) FILTER (WHERE side = 'buy')",) * 2,
    "share": ("buys / count(*) + count_if(side = 'buy') * 0", "count_if(side = 'buy') / count(*)"),
}
SOURCE = "FROM HOP(TABLE trades, DESCRIPTOR(ts), INTERVAL '30' SECOND, INTERVAL '1' MINUTE)"
TRUTH = """
    WITH trades AS (SELECT * REPLACE (ts::TIMESTAMP AS ts, came::TIMESTAMP AS came) FROM read_json('{files}')),
    windowed AS (
        SELECT *, time_bucket(INTERVAL 30 SECOND, ts) - number * INTERVAL 30 SECOND AS start
        FROM trades, range(2) AS numbers(number) WHERE qty > 0
    )
    SELECT pair, start, {items}, count(*) FROM windowed GROUP BY pair, start ORDER BY ALL
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with records out of order and the query."""
    folder = tmp_path_factory.mktemp("trades")
    (folder / "in").mkdir()
    draw, start, lines = random.Random(47), datetime(2026, 11, 26, tzinfo=UTC), []
    for number in range(600):
        came = start + timedelta(seconds=number)
        at = came - timedelta(seconds=draw.choice([0, 0, 1, 4, 30, 100]))
        record = {"id": f"t{number}", "ts": at.isoformat(), "came": came.isoformat(), "pair": draw.choice("xxy")}
        record |= {"price": draw.choice([9.5, 10.25, 11.0, None]), "qty": draw.randrange(6)}
        lines.append(json.dumps(record | {"side": draw.choice(["buy", "sell", "swap"])}) + "\n")
    (folder / "in" / "1.json").write_text("".join(lines))
    items = ",\n".join(f"    {text} AS {name}" for name, (text, _) in FORMS.items())
    tail = f"\n  {SOURCE}\n  WHERE qty > 0\n  GROUP BY window_start, window_end, pair\n"
    (folder / "trades.yaml").write_text(f"{STREAMS}{items}{tail}")
    return folder


def answers(query) -> list[tuple]:
    rows = query.results().arrow().to_pylist()
    names = ("pair", "window_start", *FORMS, "tuples")
    return sorted(tuple(row[name] for name in names) for row in rows)


def assert_equal(found: list[tuple], right: list[tuple]) -> None:
    assert len(found) == len(right) > 30
    for row, other in zip(found, right, strict=True):
        assert row[0] == other[0]
        assert row[1].replace(tzinfo=None) == other[1]
        for name, one, two in zip((*FORMS, "tuples"), row[2:], other[2:], strict=True):
            assert (one if one is None else float(one)) == (two if two is None else pytest.approx(float(two))), name


def test_corrected_and_rebuilt_answers_are_duckdbs_and_have_no_further_column(place, tailrace):
    query, warehouse = place / "trades.yaml", place / "warehouse"
    items = ", ".join(text for _, text in FORMS.values())
    right = duckdb.sql(TRUTH.format(files=place / "in" / "1.json", items=items)).fetchall()
    done = package.load(query).run(warehouse, engine="local")
    early = answers(done)
    assert sum(row[-1] for row in early) < sum(row[-1] for row in right), "some came late"
    done.correct(engine="local")
    assert_equal(answers(done), right)

    names = ["key", "pair", "window_start", "window_end", *FORMS, "tuples"]
    tables = Tables(Layout.for_query(warehouse, "trades"))
    for table in ("results", "corrections"):
        assert [name for name in tables.schema(table).names if name in names or name.startswith("_")] == names
    measured = tailrace("quality", query, "--warehouse", warehouse, "--format", "jsonl").stdout.splitlines()
    assert [*dict.fromkeys(json.loads(line)["answer"] for line in measured)] == [*FORMS]
    printed = tailrace("results", query, "--warehouse", warehouse, "--format", "csv").stdout.splitlines()
    columns = next(csv.reader(printed))
    assert [name for name in columns if name in FORMS or name.startswith("_")] == [*FORMS]
    tailrace("plot", query, "--warehouse", warehouse, "--output", place / "trades.svg")

    wider = place / "wider.yaml"
    wider.write_text(query.read_text().replace("AS share", "AS share,\n    min(qty) + sum(qty) AS more"))
    tailrace("rebuild", wider, "--warehouse", warehouse, "--engine", "local")
    again = package.load(wider).run(warehouse, engine="local")
    again.correct(engine="local")
    assert_equal(answers(again), right)


def test_an_explanation_has_the_aggregates_by_their_expressions(place, tailrace):
    query = load(place / "trades.yaml")
    printed = tailrace("explain", place / "trades.yaml").stdout
    assert "round(avg(price), 2)" in printed
    assert "avg in mean" in printed
    assert "_1" not in printed
    assert query.aggregate.expressions["share"] == "buys / count(*) + buys * 0"
