"""Promises of several answers in an engine: K depends on no cut of the stream, whatever a query promises in turn."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from tailrace.disorder.quantile.policy import Quantile
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import Facts
from tailrace.query.declared import declared_query
from tailrace.sources.segments import Segment

COUNT = 3000
START = 1_700_000_000_000
AGGREGATES = {
    "total": {"function": "sum", "column": "money"},
    "failures": {"function": "count", "where": "code >= 500"},
    "middle": {"function": "median", "column": "code"},
    "users": {"function": "count_distinct", "column": "user", "approximate": True},
    "newest": {"function": "last", "column": "user"},
    "letters": {"expression": "length(newest)"},
    "rate": {"expression": "failures / tuples"},
}
PROMISES = [("total",), None, ("rate", "middle"), ("letters", "users")]


def policy(of: tuple[str, ...] | None) -> Quantile:
    return Quantile(policy="quantile", error=0.1, risk=0.1, of=of)


@pytest.fixture(scope="module")
def pipeline():
    stream = {"source": {"format": "parquet", "path": "in"}, "event_time": "event", "arrival_time": "arrival"}
    query = declared_query(
        {
            "name": "q",
            "kind": "aggregate",
            "streams": {"events": stream | {"id": "id", "key": "key"}},
            "window": {"size": "400 ms", "slide": "100 ms"},
            "aggregate": AGGREGATES,
            "disorder": {"policy": "quantile", "error": 0.1, "risk": 0.1, "tick": "20 ms"},
        }
    )
    rng = np.random.default_rng(5)
    arrival = START + 4 * np.arange(COUNT)
    event = arrival - (rng.exponential(150, COUNT) * (rng.random(COUNT) < 0.4)).astype(np.int64)
    user = [None if rng.random() < 0.1 else "u" * int(rng.integers(1, 30)) for _ in range(COUNT)]
    columns = {"id": pa.array([f"t{i}" for i in range(COUNT)]), "key": pa.array([f"k{i % 3}" for i in range(COUNT)])}
    columns |= {
        name: pa.array(times).cast(pa.timestamp("ms", "UTC"))
        for name, times in {"event": event, "arrival": arrival}.items()
    }
    money = [None if i % 11 == 0 else Decimal(int(rng.integers(1, 10**6))) / 100 for i in range(COUNT)]
    columns |= {"money": pa.array(money, pa.decimal128(18, 2)), "user": pa.array(user, pa.string())}
    columns |= {"code": pa.array(rng.choice([200, 404, 500, 503], COUNT))}
    memory = MemoryFormat({"events": pa.table(columns)})
    return pipeline_in_memory(query, {"events": memory}), memory


def answers(engine: LocalEngine) -> list[dict]:
    return [row for batch in engine.newest for row in batch.step.answers.to_pylist()]


def in_batches(pipeline, segments: list[Segment]) -> tuple[list[int], Facts, list[dict]]:
    """K at each tick, all facts, and the answers, with a restart after each of some batches, and four promises."""
    engine, k_ms, facts, rows = LocalEngine(pipeline), [], {}, []
    for number, segment in enumerate(segments):
        in_force = policy(PROMISES[number * len(PROMISES) // len(segments)])
        is_last = number == len(segments) - 1
        engine.batch(in_force, [segment], closes=is_last, ends=is_last)
        k_ms += engine.frontier.k_ms.tolist()
        facts |= {fact.version: fact for fact in engine.facts}
        rows += answers(engine)
    return k_ms, tuple(facts.values()), rows


def test_k_depends_on_no_cut_of_the_stream_while_a_query_changes_what_it_promises(pipeline) -> None:
    cut, memory = pipeline
    changes = [COUNT // 4, COUNT // 2, 3 * COUNT // 4]
    k_ms, facts, rows = in_batches(cut, memory.segments("events", changes))
    assert [fact.value["of"] for fact in facts] == [["total"], None, ["rate", "middle"], ["letters", "users"]]
    assert len(set(k_ms)) > 20
    whole = LocalEngine(cut, restarts=False)
    whole.run(BatchHeader(0, facts, closes=True, ends=True), memory.segments("events"))
    assert whole.frontier.k_ms.tolist() == k_ms
    key = ("key", "window_start")
    assert sorted(rows, key=lambda row: [row[name] for name in key]) == sorted(
        answers(whole), key=lambda row: [row[name] for name in key]
    )
    assert {row["rate"] is None for row in rows} == {False}


def test_only_what_is_promised_is_in_the_sample(pipeline) -> None:
    cut, memory = pipeline
    engine = LocalEngine(cut)
    (segment,) = memory.segments("events")
    prepared = {}
    for of in (("total", "failures"), None):
        facts = engine.next_facts(policy(of))
        prepared[of] = engine.prepare(BatchHeader(0, facts), [segment])[0].statistics["sample"]
    assert prepared[None].num_rows == COUNT
    assert prepared["total", "failures"].num_rows < COUNT, "tuples are combined by key, pane and tick"
    assert prepared[None].schema == prepared["total", "failures"].schema
