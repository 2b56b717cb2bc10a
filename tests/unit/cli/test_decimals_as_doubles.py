"""Decimals become the nearest doubles: in functions, in the short form, and as coordinates; streamed and corrected."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.api.declaration import load

NAMED = """\
  m: {function: median, column: v}
  p: {function: quantile, q: 0.9, column: v}
  a: {function: avg, column: v}
  s: {function: stddev_pop, column: v}
  x: {function: max, column: v}
"""
SHORT = "  {function: %s, column: v}\n"
PRICE, START = Decimal("99.99"), 1_700_000_000_000
LATE_MS = 90_000


def run(folder: Path, aggregate: str, dtype: pa.DataType) -> tuple[list[dict], list[dict]]:
    """Answer three times one value, a later window, and one that is late for the first; streamed and corrected."""
    arrived = [START + 10, START + 20, START + 30, START + LATE_MS, START + LATE_MS + 1000]
    event = [START, START + 1, START + 2, START + LATE_MS, START + 3]
    times = {name: pa.array(ms, pa.timestamp("ms", "UTC")) for name, ms in (("ts", event), ("at", arrived))}
    values = pa.array([PRICE] * len(event), dtype)
    (folder / "in").mkdir()
    pq.write_table(pa.table({"id": list(range(len(event))), **times, "v": values}), folder / "in" / "a.parquet")
    (folder / "query.yaml").write_text(
        "name: q\nkind: aggregate\nstreams:\n"
        "  s: {source: {format: parquet, path: in}, event_time: ts, arrival_time: at, id: id}\n"
        f"window: 1 min\naggregate:\n{aggregate}disorder: {{policy: k_slack, k: 0 s}}\n"
    )
    done = load(folder / "query.yaml").run(folder / "warehouse", engine="local")
    streamed = done.results(as_of="stream").dicts()
    done.correct(engine="local")
    return streamed, done.results().dicts()


@pytest.mark.parametrize("dtype", [pa.decimal128(10, 2), pa.decimal128(38, 18), pa.decimal128(38, 30)])
def test_functions(tmp_path, dtype):
    streamed, corrected = run(tmp_path, NAMED, dtype)
    assert [row["tuples"] for row in streamed] == [3, 1]
    assert [row["tuples"] for row in corrected] == [4, 1]
    expected = {"m": 99.99, "p": 99.99, "a": 99.99, "s": 0.0, "x": PRICE}
    for row in streamed + corrected:
        assert {name: row[name] for name in ("m", "p", "a", "s", "x")} == expected


@pytest.mark.parametrize("function", ["max", "median"])
def test_the_short_form(tmp_path, function):
    streamed, corrected = run(tmp_path, SHORT % function, pa.decimal128(10, 2))
    assert [row["value"] for row in streamed + corrected] == [99.99] * 4


def test_decimal_coordinates_meet_their_equals(tmp_path):
    """The double 4.35 is on both sides: once as a decimal, once as it is."""
    for side, dtype in (("left", pa.decimal128(10, 2)), ("right", pa.float64())):
        times = {name: pa.array([START, START + 1], pa.timestamp("ms", "UTC")) for name in ("ts", "at")}
        number = Decimal if side == "left" else float
        x, y = (list(map(number, texts)) for texts in (("4.35", "1"), ("0.07", "2")))
        columns = {"id": [1, 2], **times, "x": pa.array(x, dtype), "y": pa.array(y, dtype)}
        pq.write_table(pa.table(columns), tmp_path / f"{side}.parquet")
    stream = "{source: {format: parquet, path: %s.parquet}, event_time: ts, arrival_time: at, id: id}"
    (tmp_path / "query.yaml").write_text(
        f"name: q\nkind: spatial_join\nstreams:\n  left: {stream % 'left'}\n  right: {stream % 'right'}\n"
        "spatial_join:\n  join: interval\n  interval: {lower: -1 s, upper: 1 s}\n"
        "  crs: planar\n  extent: [0, 0, 10, 10]\n"
        "  geometry: {left: {x: x, y: y}, right: {x: x, y: y}}\n  relation: equals\n"
        "disorder: {policy: k_slack, k: 0 s}\n"
    )
    done = load(tmp_path / "query.yaml").run(tmp_path / "warehouse", engine="local")
    streamed = done.results(as_of="stream").dicts()
    done.correct(engine="local")
    for rows in (streamed, done.results().dicts()):
        assert [(row["left_id"], row["right_id"]) for row in rows] == [(1, 1), (2, 2)]
