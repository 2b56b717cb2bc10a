"""Early answers scaled by expected coverage: as the oracle computes them from the log, however the log is cut."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import tailrace
from bench.aggregate.games import ERROR, PROMISE, RATE, RISK, SENSORS, run
from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from generators.delays import MODELS
from generators.replay import generate
from properties.estimate_oracle import Answer, Estimator, Row
from tailrace.disorder.policies import settings_of
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.next_facts import DECLARED
from tailrace.ground.facts import stamp
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.testing import assert_answers_equal, batch_answers

START, SIZE, MANY = 1_700_000_000_000, 500, 3_000
SUM = {"value": {"function": "sum", "column": "v", "estimate": True}}
COUNT = {"n": {"function": "count", "estimate": True}}


def log(seed: int, keys: str = "ab") -> list[Row]:
    """Tuples of 10 s, of which most are late by up to a second; one is twenty years old, and the first key rare."""
    draw, rows = random.Random(seed), []
    for number in range(MANY):
        event = START + number * 10_000 // MANY
        delay = draw.expovariate(1 / 150) if draw.random() < 0.6 else 0
        key = keys[0] if draw.random() < 0.05 else keys[-1]
        rows.append(Row(event, event + int(min(delay, 1000)), key, round(draw.lognormvariate(0, 0.5), 3)))
    rows.append(Row(START - 20 * 365 * 86_400_000, START + 5_000, keys[-1], 1e9))
    return sorted(rows, key=lambda row: row.arrival)


def table_of(rows: list[Row]) -> pa.Table:
    times = {name: pa.array([getattr(row, name) for row in rows], pa.timestamp("ms")) for name in ("event", "arrival")}
    rest = {"id": range(len(rows)), "key": [row.key for row in rows], "v": [row.value for row in rows]}
    return pa.table(times | rest)


def query(aggregate: dict[str, Any], k_ms: int, **fields: Any) -> Query:
    stream = {"source": {"format": "parquet", "path": "in"}, "event_time": "event", "arrival_time": "arrival"}
    stream |= {"id": "id", "key": "key"}
    disorder = {"policy": "k_slack", "k": f"{k_ms} ms", "tick": "100 ms"}
    said = {"name": "scaled", "kind": "aggregate", "streams": {"rows": stream}, "window": {"size": f"{SIZE} ms"}}
    return declared_query(said | {"disorder": disorder, "aggregate": aggregate} | fields)


def streamed(declared: Query, rows: list[Row], cuts: list[int], tasks: int = 1) -> list[dict[str, Any]]:
    """The early answers of a query that is cut into batches and restarted between them, without an end."""
    memory = MemoryFormat({"in": table_of(rows)})
    engine = LocalEngine(replace(pipeline_in_memory(declared, {"rows": memory}), tasks=tasks))
    facts, answers = stamp((), "settings", settings_of(declared.policy), 0, DECLARED), []
    for number, segment in enumerate(memory.segments("rows", cuts)):
        tables = engine.run(BatchHeader(number, facts), [segment])
        answers += tables["results"].to_pylist() if "results" in tables else []
    return sorted(answers, key=lambda row: (row["window_end"], row["key"]))


def assert_equal(row: dict[str, Any], name: str, answer: Answer) -> None:
    near = {"rel_tol": 1e-9, "abs_tol": 1e-9}
    integer = isinstance(row[f"{name}_raw"], int)
    assert math.isclose(row[f"{name}_raw"], answer.raw, **near)
    assert math.isclose(row[name], round(answer.value) if integer else answer.value, **near)
    for end, bound in (("low", answer.low), ("high", answer.high)):
        assert (row[f"{name}_{end}"] is None) == (bound is None), (row, answer)
        assert bound is None or math.isclose(row[f"{name}_{end}"], bound, **near)


@pytest.mark.parametrize(("seed", "k_ms", "aggregate"), [(1, 0, SUM), (2, 0, COUNT), (3, 100, SUM)])
def test_early_answers_are_the_oracles_however_the_log_is_cut(seed: int, k_ms: int, aggregate: dict[str, Any]) -> None:
    rows, (name,) = log(seed), aggregate
    declared, draw = query(aggregate, k_ms), random.Random(seed)
    expected = Estimator(SIZE, k_ms, counts=name == "n").answers(rows)
    whole = streamed(declared, rows, [])
    cut = streamed(declared, rows, draw.sample(range(1, len(rows)), 12), tasks=3)
    assert len(whole) == len(cut) > 20
    for row in whole + cut:
        assert_equal(row, name, expected[row["key"], row["window_end"]])
        if row[f"{name}_low"] is not None:
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    scaled = {key: [row for row in whole if row["key"] == key and row[f"{name}_low"] is not None] for key in "ab"}
    assert len(scaled["b"]) > 5, "with many tuples answers are scaled once eight windows were whole"
    assert not scaled["a"], "a key of few tuples gains nothing"


def in_memory(rows: list[Row], aggregate: dict[str, Any]) -> tailrace.Query:
    stream = tailrace.Stream(table_of(rows), event_time="event", arrival_time="arrival", id="id", key="key")
    disorder = {"policy": "none", "tick": "100 ms"}
    return tailrace.query(
        "aggregate", name="scaled", streams={"rows": stream}, window="500 ms", aggregate=aggregate, disorder=disorder
    )


def test_corrected_answers_are_those_of_the_batch_and_have_no_interval(tmp_path: Any) -> None:
    declared = in_memory(log(4), SUM | COUNT | {"mean": {"expression": "value / n"}})
    done = declared.run(tmp_path, engine="local")
    early = done.results(as_of="stream").arrow().to_pylist()
    scaled = [row for row in early if row["value_low"] is not None]
    assert len(scaled) > 5
    assert all(row["n"] > row["n_raw"] for row in early if row["n_low"] is not None)
    done.correct()
    assert_answers_equal(done.results(), batch_answers(declared))
    final = done.results().arrow().to_pylist()
    assert {(row["value_low"], row["n_high"]) for row in final} == {(None, None)}
    assert all(row["value"] == row["value_raw"] for row in final)


@pytest.mark.needs("long")
@pytest.mark.parametrize("aggregate", [SUM, COUNT, {"function": "sum", "column": "v", "estimate": True}])
def test_a_correction_of_arrivals_replaces_estimates_where_nothing_came_late(
    tmp_path: Any, aggregate: dict[str, Any]
) -> None:
    calm = START + 7_000
    rows = [replace(row, arrival=row.event) if row.event >= calm else row for row in log(5)]
    declared = in_memory(sorted(rows, key=lambda row: row.arrival), aggregate)
    name = next(iter(aggregate)) if "function" not in aggregate else "value"
    done = declared.run(tmp_path, engine="local")
    early = done.results(as_of="stream").arrow().to_pylist()
    whole = [row for row in early if row[f"{name}_low"] is not None and row["coverage"] == 1.0]
    assert whole, "coverage is still expected to be as before, and all tuples were there"
    end = max(row["window_end"] for row in early)
    last = [row[f"{name}_low"] for row in early if row["window_end"] == end]
    assert last == [None] * len(last), "at the end of a run nothing is expected to be missing"
    until = max(row.arrival for row in rows) // 100 * 100 + 100
    middle = (START + 5_000, START + 8_000)
    for low, high in ((middle[1], until), middle, (START - 1_000, middle[0])):
        done.correct(arrived_from=low, arrived_to=high)
    assert_answers_equal(done.results(), batch_answers(declared))


def test_an_estimate_within_an_expression_is_early_as_one_with_a_name_and_is_corrected_where_nothing_came_late(
    tmp_path: Any,
) -> None:
    calm = START + 7_000
    rows = [replace(row, arrival=row.event) if row.event >= calm else row for row in log(5)]
    rows.sort(key=lambda row: row.arrival)
    hidden = in_memory(rows, {"value": {"expression": "estimate_sum(v) + 0"}})
    done = hidden.run(tmp_path / "hidden", engine="local")
    named = in_memory(rows, SUM).run(tmp_path / "named", engine="local")
    early, same = (each.results(as_of="stream").arrow().to_pylist() for each in (done, named))
    assert [row["value"] for row in early] == [row["value"] for row in same]
    assert [row for row in same if row["value_low"] is not None and row["coverage"] == 1.0]
    assert not [name for name in early[0] if "_low" in name]
    done.correct(arrived_from=START + 8_000, arrived_to=max(row.arrival for row in rows) // 100 * 100 + 100)
    done.correct(arrived_from=START - 1_000, arrived_to=START + 8_000)
    assert_answers_equal(done.results(), batch_answers(hidden))


def test_policy_quantile_waits_as_long_as_scaled_answers_need() -> None:
    table = generate(RATE * 60, RATE, SENSORS, MODELS["game2"].build(""), 1)
    found = run(table, "quantile", PROMISE, estimate=True)
    assert found.off(ERROR) <= RISK
    assert (found.frontier.k_ms[-20:] == 0).all(), "raw answers need 100 ms"
