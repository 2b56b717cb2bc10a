"""`tailrace.testing`: the oracle agrees with the engine over disordered rows, and says where answers are wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tailrace
from tailrace import testing

START = 1_577_836_800_000  # 2020-01-01T00:00:00Z


def rows_of(seed: int, rows: int = 300) -> pa.Table:
    """Rows that are late, some twice; one of them twenty years old, some without a value."""
    draws = np.random.default_rng(seed)
    at = START + np.sort(draws.integers(0, 60_000, rows))
    at[rows // 2] = 946_684_800_000
    speed = [None if each < 0.05 else round(each * 100, 3) for each in draws.random(rows).tolist()]
    table = pa.table(
        {
            "at": pa.array(at).cast(pa.timestamp("ms", "UTC")),
            "id": range(rows),
            "city": draws.choice(["Köln", "Rom", "a'b"], rows).tolist(),
            "lane": draws.integers(0, 3, rows),
            "speed": speed,
            "cars": draws.integers(-5, 100, rows),
            "toll": [Decimal(int(each)) / 100 for each in draws.integers(0, 1000, rows)],
        }
    )
    came = testing.late(table, event_time="at", share=0.4, delay="20 s", seed=seed)
    return testing.repeated(came, share=0.2, delay="15 s", seed=seed)


def stream_of(seed: int, **fields: object) -> tailrace.Stream:
    return tailrace.Stream(rows_of(seed), event_time="at", arrival_time="arrival_time", id="id", **fields)


FUNCTIONS = {
    "n": {"function": "count"},
    "cars": {"function": "sum", "column": "cars"},
    "tolls": {"function": "sum", "column": "toll"},
    "speed": {"function": "avg", "column": "speed"},
    "p90": {"function": "quantile", "q": 0.9, "column": "speed"},
    "spread": {"function": "stddev", "column": "speed"},
    "least": {"function": "min", "column": "toll"},
    "last": {"function": "last", "column": "lane"},
    "lanes": {"function": "count_distinct", "column": "lane"},
    "dearest": {"function": "max_by", "column": "speed", "by": "toll"},
    "cheapest": {"function": "min_by", "column": "id", "by": "toll", "where": "doubled > 120"},
    "p90_disc": {"function": "quantile_disc", "q": 0.9, "column": "toll"},
    "lane_list": {"function": "collect_list", "limit": 3, "column": "lane"},
    "tolls_paid": {"function": "collect_set", "limit": 1000, "column": "toll"},
    "fit": {"function": "corr", "column": "speed", "other": "toll"},
    "both": {"function": "covar_pop", "column": "speed", "other": "cars", "where": "doubled > 120"},
    "tolls_once": {"function": "sum_distinct", "column": "toll"},
    "lane_once": {"function": "avg_distinct", "column": "lane"},
    "dear": {"function": "bool_or", "column": "is_dear"},
    "any": {"function": "any_value", "column": "lane"},
    "fast": {"function": "count", "where": "doubled > 120"},
    "share": {"expression": "fast / n"},
}


def aggregate(seed: int, **fields: object) -> tailrace.Query:
    section = {
        "columns": {"doubled": "speed * 2", "is_dear": "toll > 9"},
        "where": "cars >= 0",
        "key": ["city", "lane"],
    }
    declared = {"window": {"size": "7 s", "slide": "3 s"}, "aggregate": FUNCTIONS} | fields
    return tailrace.query("aggregate", streams={"rows": stream_of(seed, **section)}, **declared)


@pytest.mark.parametrize("seed", range(3))
def test_aggregates_are_right_after_a_correction(seed):
    run = testing.assert_right(aggregate(seed))
    assert run.summary.late > 50
    assert run.summary.filtered > 5
    assert len(run.results("stream")) > 50


def test_windows_of_a_calendar_are_right_where_clocks_change():
    days = {"size": "1 d", "timezone": "Europe/Berlin", "offset": "6 h"}
    times = [datetime(2024, 3, 30, hour, 30, tzinfo=UTC) for hour in range(24)]
    times += [datetime(2024, 3, 31, hour, 30, tzinfo=UTC) for hour in range(24)]
    rows = tailrace.Stream({"at": times, "id": range(48)}, event_time="at", id="id")
    query = tailrace.query("aggregate", streams={"rows": rows}, window=days, aggregate={"function": "count"})
    run = testing.assert_right(query)
    assert [row["value"] for row in run.results()] == [5.0, 23.0, 20.0]


@pytest.mark.parametrize("seed", range(2))
def test_sessions_are_right_after_a_correction(seed):
    query = aggregate(seed, window={"session": "1500 ms"}, disorder={"policy": "k_slack", "k": "1 s"})
    run = testing.assert_right(query)
    assert run.summary.late > 5
    assert len(run.results()) > 30


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_rankings_are_right_after_a_correction(order):
    section = {"k": 3, "score": "toll", "order": order, "select": ["lane", "speed"]}
    query = tailrace.query("topk", streams={"rows": stream_of(5, key="city")}, window="5 s", topk=section)
    assert testing.assert_right(query).summary.late


def test_a_short_form_and_a_query_without_a_key_are_right():
    query = tailrace.query(
        "aggregate", streams={"rows": stream_of(7)}, window="5 s", aggregate={"function": "sum", "column": "cars"}
    )
    testing.assert_right(query)


def test_the_same_query_is_right_over_other_rows():
    query = aggregate(1, disorder={"policy": "k_slack", "k": "5 s"})
    run = testing.assert_right(query, rows=rows_of(2))
    assert 0 < run.summary.late < testing.assert_right(query.over(rows=rows_of(3)), engine="local").summary.read


def test_expressions_read_rows_of_all_types_that_a_query_reads():
    rows = rows_of(6)
    for name, dtype in (("at", pa.timestamp("ns", "UTC")), ("lane", pa.uint8()), ("city", pa.large_string())):
        rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(dtype))
    columns = {"hour": "hour(at)", "square": "(lane + 254) * lane", "town": "upper(city)"}
    stream = tailrace.Stream(rows, event_time="at", arrival_time="arrival_time", id="id", key="town", columns=columns)
    each = {name: {"function": "sum", "column": name} for name in ("hour", "square")}
    testing.assert_right(tailrace.query("aggregate", streams={"rows": stream}, window="10 s", aggregate=each))


def test_wrong_answers_are_shown():
    query = tailrace.query("aggregate", streams={"rows": stream_of(7)}, window="60 s", aggregate={"function": "count"})
    right = testing.batch_answers(query)
    testing.assert_right(query, expected=right)
    wrong = [*right[:-1], right[-1] | {"value": right[-1]["value"] * (1 + 1e-6)}]
    with pytest.raises(AssertionError, match=r"1 answer is missing:\n.*\n1 answer is not expected"):
        testing.assert_right(query, expected=wrong)
    with pytest.raises(AssertionError, match=r"1 answer is not expected"):
        testing.assert_right(query, expected=right[:-1])
    with pytest.raises(AssertionError, match=r"1 answer is missing"):
        testing.assert_right(query, expected=[*right, right[0]])


def test_answers_in_any_order_are_equal_and_those_that_come_twice_are_not():
    a, b = {"key": "a", "value": 1.0}, {"key": "b", "value": None}
    testing.assert_answers_equal([a, b], [b, a])
    testing.assert_answers_equal([a | {"more": 1}], [a])
    testing.assert_answers_equal([a], [{"key": "a", "value": 2.0}], columns=["key"])
    with pytest.raises(AssertionError):
        testing.assert_answers_equal([a, a], [a])
    with pytest.raises(AssertionError):
        testing.assert_answers_equal([b], [{"key": "b", "value": 0.0}])


def test_what_the_oracle_does_not_compute_is_refused():
    with pytest.raises(tailrace.Refused, match=r"departures is not in memory\n.*query.over\(departures=rows\)"):
        testing.batch_answers(tailrace.load(Path(tailrace.__file__).parents[1] / "queries" / "flights.yaml"))


def test_disorder_is_the_same_by_the_same_seed_and_in_order_of_arrival():
    rows = {"event_time": [START + 1000 * n for n in range(50)]}
    first, again, other = (testing.late(rows, share=0.5, seed=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    arrivals, events = first["arrival_time"].to_pylist(), first["event_time"].to_pylist()
    assert arrivals == sorted(arrivals)
    assert events != sorted(events)
    assert all(0 <= a.timestamp() * 1000 - e <= 10_000 for a, e in zip(arrivals, events, strict=True))
    twice = testing.repeated(first, share=0.5, seed=1)
    assert 50 < twice.num_rows < 100
    assert testing.late(rows, share=0, latency="2 s")["arrival_time"][0].as_py().timestamp() * 1000 == START + 2000


def test_a_clock_stands_still_until_it_is_moved():
    clock = testing.Clock("2024-05-01T00:00:00+02:00")
    assert clock.now == clock.now == datetime(2024, 4, 30, 22, tzinfo=UTC)
    assert clock.advance("2 s") == clock.now == datetime(2024, 4, 30, 22, 0, 2, tzinfo=UTC)


def test_the_first_value_is_the_first_by_microseconds():
    at = [datetime(2026, 1, 1, 0, 0, 0, micros, tzinfo=UTC) for micros in (1700, 1300, 1500)]
    rows = tailrace.Stream({"at": at, "id": [1, 2, 3], "v": [1, 2, 3]}, event_time="at", id="id")
    each = {name: {"function": name, "column": "v"} for name in ("first", "last")}
    query = tailrace.query("aggregate", streams={"rows": rows}, window="1 s", aggregate=each)
    (answer,) = testing.batch_answers(query)
    assert (answer["first"], answer["last"]) == (2, 1)


@pytest.mark.parametrize("disordered", [testing.late, testing.repeated])
@pytest.mark.parametrize("share", [2, -0.1, float("nan")])
def test_what_is_no_share_is_refused(disordered, share):
    with pytest.raises(tailrace.Refused, match=r"share \S+: it is no share of the rows\n.*from 0 to 1"):
        disordered([{"event_time": 0, "arrival_time": 0, "id": 1}], share=share)


@pytest.mark.parametrize("disordered", [testing.late, testing.repeated])
def test_rows_without_the_column_of_times_are_refused(disordered):
    with pytest.raises(tailrace.Refused, match=r"rows: there is no column \w+_time\n.*one of at, id"):
        disordered([{"at": 0, "id": 1}])
