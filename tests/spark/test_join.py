"""A join of two streams, on Spark and in process: the toy join, as streamed and corrected, is what the oracle says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import Field

from kit.fakes import toy_join
from kit.fakes.toy_join import ToyJoin
from kit.oracles.pair_oracle import Item, Join, Pair, Read, batch_pairs, joined
from kit.runs.warehouse import EPOCH, TIME
from tailrace.correction import history_scan
from tailrace.kinds import KINDS
from tailrace.query.joins import JoinQuery
from tailrace.spark.app import run as on_spark
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import run as locally
from tailrace.stream.run_options import RunOptions

JOIN = Join(reach=300, tick=100, k=150)
STREAMS = ("left", "right")


class ToyQuery(JoinQuery):
    kind: Literal["toy_join"] = Field(description="the kind of query: toy_join")


def make_streams(n: int, speeds: tuple[int, int]) -> list[list[Item]]:
    """Two streams in order of arrival, whose tuples come every so many ms, some of them far too late."""
    draw, streams = random.Random(7), []
    for side, speed in enumerate(speeds):
        events = [EPOCH + number * speed for number in range(n // speed)]
        delays = [draw.randrange(200) + (draw.randrange(3000) if draw.random() < 0.05 else 0) for _ in events]
        items = (
            Item(event, event + delay, f"{'lr'[side]}{number}", draw.choice("abcd"))
            for number, (event, delay) in enumerate(zip(events, delays, strict=True))
        )
        streams.append(sorted(items, key=lambda item: item.arrival_time))
    return streams


def write(items: list[Item], directory: Path, parts: int) -> None:
    directory.mkdir(parents=True)
    for part in range(parts):
        some = items[len(items) * part // parts : len(items) * (part + 1) // parts]
        table = pa.table({name: [getattr(item, name) for item in some] for name in Item._fields})
        for place, name in enumerate(Item._fields[:2]):
            table = table.set_column(place, name, table.column(name).cast(TIME))
        pq.write_table(table, directory / f"{part}.parquet")


def query_of(directory: Path) -> ToyQuery:
    columns = {name: name for name in ("event_time", "arrival_time", "id")}
    sources = {name: {"format": "parquet", "path": str(directory / name)} for name in STREAMS}
    return ToyQuery.model_validate(
        {
            "name": "toys",
            "kind": "toy_join",
            "streams": {name: {"source": sources[name]} | columns for name in STREAMS},
            "parallelism": 2,
            "disorder": {"policy": "k_slack", "k": f"{JOIN.k} ms", "tick": f"{JOIN.tick} ms"},
        }
    )


@pytest.fixture
def toys(spark, monkeypatch):
    spark.sparkContext.addPyFile(toy_join.__file__)
    monkeypatch.setitem(KINDS, "toy_join", lambda query, names: ToyJoin(JOIN.reach, tuple(names), feedback_ms=1_000))


@pytest.mark.parametrize(("run", "at_once"), [(on_spark, 0), (locally, 10**6)], ids=["on Spark", "in process"])
@pytest.mark.usefixtures("toys")
def test_a_join_as_streamed_and_as_corrected(tmp_path, monkeypatch, run, at_once) -> None:
    streams = make_streams(20_000, (20, 45))
    for name, items in zip(STREAMS, streams, strict=True):
        write(items, tmp_path / name, 3)
    query, log = query_of(tmp_path), [Read(side, item) for side, items in enumerate(streams) for item in items]
    run(query, tmp_path / "wh", RunOptions(400))
    tables = Tables(Layout.for_query(tmp_path / "wh", query.name))
    rows = tables.read("results").to_pylist()
    found = {(row["left_id"], row["right_id"]): Pair(*(row[name] for name in Pair._fields)) for row in rows}
    expected = joined(log, JOIN)
    assert len(found) == len(rows)
    assert found == expected.pairs
    plans = [row for row in tables.read("facts").sort_by("version").to_pylist() if row["about"] == "plan"]
    assert len(plans) >= 2, "the tasks are balanced again on the way"
    assert [row["version"] for row in plans] == list(range(1, len(plans) + 1))
    segments = tables.read("segments").sort_by("ordinal").to_pylist()
    first_of_batch = {row["batch"]: row["ordinal"] for row in reversed(segments)}
    assert {row["from_segment"] for row in plans} <= set(first_of_batch.values())
    assert sum(row["load"] for row in tables.read("metrics").to_pylist()) >= len(rows)
    late = tables.read("late").to_pylist()
    assert {(STREAMS.index(row["stream"]), row["id"]): row["frontier"] for row in late} == expected.late
    true = batch_pairs(log, JOIN)
    assert true - found.keys(), "nothing was missed, so there is nothing to correct"

    monkeypatch.setattr(history_scan, "AT_ONCE", at_once)
    report = correct(query, tmp_path / "wh")
    assert (report.answers, report.retracted) == (len(true - found.keys()), 0)
    answers, columns = read_answers(query, tmp_path / "wh", streamed=False)
    assert {(row["left_id"], row["right_id"]) for row in answers.to_pylist()} == true
    assert len(answers) == len(true)
    assert columns == ["left_id", "right_id", "left_time", "right_time", "tuples", "coverage", "k_ms", "as_of"]
