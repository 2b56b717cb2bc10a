"""A query by SQL text gives the same tables as by sections, and a stream goes on when a user changes the form."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.runs.local_driver import Driver, correct_here
from tailrace.query.loading import parse
from tailrace.query.query import Query
from tailrace.sql.derived import generated_name
from tailrace.storage.results import read_answers

MINUTE = 60_000
BEGIN = 1_711_670_400_000
HEAD = """
name: sales
streams:
  sales:
    source: {format: parquet, path: in}
    event_time: at
    arrival_time: came
    id: id
"""
NET, NET_2 = generated_name("value / 1.19"), generated_name("net * 2")
TAIL = "disorder: {policy: k_slack, k: 2 min, tick: 10 s}\n"
FORMS = {
    "aggregate": (
        """
    columns: {land: lower(country), NET: value / 1.19}
    where: value > 3 and buyer is not null
    key: [land, code]
kind: aggregate
window: {size: 10 min, slide: 5 min, offset: 1 min}
aggregate:
  revenue: {function: sum, column: NET}
  number: {function: count}
  large: {function: count, where: value >= 50}
  p90: {function: quantile, q: 0.9, column: value}
  buyers: {function: count_distinct, column: buyer}
  mean: {expression: revenue / number}
""",
        """
sql: |
  SELECT lower(country) AS land, code, window.start AS window_start, window.end AS window_end,
    sum(value / 1.19) AS revenue, count(*) AS number, count(*) FILTER (WHERE value >= 50) AS large,
    percentile(value, 0.9) AS p90, count(DISTINCT buyer) AS buyers, revenue / number AS mean
  FROM sales
  WHERE value > 3 and buyer is not null
  GROUP BY window(at, '10 minutes', '5 minutes', '1 minute'), lower(country), code
""",
    ),
    "one aggregate": (
        """
    key: country
kind: aggregate
window: 10 min
aggregate: {function: max, column: value}
""",
        """
sql: SELECT country AS key, max(value) FROM TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' MINUTES)
  GROUP BY window_start, window_end, country
""",
    ),
    "selects on top of each other": (
        """
    columns: {land: lower(country), net: value / 1.19, NET2: net * 2}
    where: (value > 3 or code = 1) and (net > 5)
    key: [land]
kind: aggregate
window: 10 min
aggregate:
  revenue: {function: sum, column: NET2}
  buyers: {function: count_distinct, column: buyer}
""",
        """
sql: |
  WITH large AS (SELECT at, id, buyer, value, lower(country) AS land FROM sales WHERE value > 3 or code = 1),
    netto AS (SELECT *, value / 1.19 AS net FROM large)
  SELECT land, sum(net * 2) AS revenue, count(DISTINCT buyer) AS buyers
  FROM (SELECT * FROM netto WHERE net > 5)
  GROUP BY window(at, '10 minutes'), land
""",
    ),
    "topk": (
        """
    columns: {tenth: value + 0.1, double: (value + 0.1) * 2}
    key: [country]
kind: topk
window: {size: 10 min, slide: 5 min}
topk: {k: 3, score: value, select: [buyer, value, tenth, double]}
""",
        """
sql: |
  SELECT window_start, window_end, country, rank, id, buyer, value, tenth, tenth * 2 AS double FROM (
    SELECT buyer, value, maker, value + 0.1 AS tenth,
      row_number() OVER (PARTITION BY window_start, window_end, country ORDER BY value DESC, id) AS rank
    FROM HOP(TABLE sales, DESCRIPTOR(at), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)
  ) WHERE rank <= 3
""",
    ),
}


def write_records(directory: Path, file: int, count: int = 60) -> None:
    """Records in order of arrival, of which some are late."""
    draw, records = random.Random(file), []
    for number in range(file * count, (file + 1) * count):
        came = BEGIN + number * 20_000
        record = {"at": came - draw.choice([0, 0, MINUTE, 20 * MINUTE]), "came": came, "id": f"t{number}"}
        record |= {"value": float(draw.randrange(100)), "buyer": draw.choice("abcde")}
        records.append(record | {"country": draw.choice(["DE", "FR"]), "code": draw.choice([1, 2])})
    directory.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), directory / f"part-{file}.parquet")


def answers(query: Query, warehouse: Path, streamed: bool = False) -> list[dict[str, Any]]:
    rows, columns = read_answers(query, warehouse, streamed)
    order = [name for name in ("key", "window_start", "rank") if name in rows.column_names]
    return rows.select(columns).sort_by([(name, "ascending") for name in order if name in columns]).to_pylist()


@pytest.mark.needs("long")
@pytest.mark.parametrize("form", FORMS)
def test_a_stream_goes_on_from_sections_to_sql_text_and_gives_the_same_answers(tmp_path: Path, form: str) -> None:
    by_sections, by_sql = (
        parse(tmp_path / "sales.yaml", HEAD.rstrip() + text.replace("NET2", NET_2).replace("NET", NET) + TAIL)
        for text in FORMS[form]
    )
    assert by_sql.structure() == by_sections.structure()
    assert by_sql == by_sections
    drivers = [Driver(by_sections, tmp_path / "one"), Driver(by_sections, tmp_path / "two")]
    for file in range(4):
        write_records(tmp_path / "in", file)
        drivers[0].run(batch_rows=25, flush=file == 3)
        drivers[1].query = by_sections if file < 2 else by_sql
        drivers[1].run(batch_rows=25, flush=file == 3)
    one, two = (answers(driver.query, driver.warehouse, streamed=True) for driver in drivers)
    assert one
    assert two == one
    for driver in drivers:
        assert correct_here(driver.query, driver.warehouse).answers
    corrected = answers(by_sections, tmp_path / "one")
    assert corrected != one
    assert answers(by_sql, tmp_path / "two") == corrected
