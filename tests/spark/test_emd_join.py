"""`emd_join` on Spark: as streamed, killed and gone on, and corrected, the pairs are those of the oracle."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import wasserstein_distance

from kit.oracles.pair_oracle import Item, Join, Pair, Read, batch_pairs, joined
from kit.runs.kill_points import arm, leave
from kit.runs.warehouse import EPOCH, TIME
from tailrace.correction.correction_range import CorrectionRange
from tailrace.emd_join import methods
from tailrace.emd_join.methods import EmdDdsj
from tailrace.ground.errors import Damaged
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import run as locally
from tailrace.stream.run_options import RunOptions

BINS, SHAPES, THRESHOLD = 12, 15, 0.35
BATCH_ROWS = 400
STREAMS = ("left", "right")
HISTOGRAMS = np.random.default_rng(3).multinomial(40, np.ones(BINS) / BINS, SHAPES).astype(float)
"""By the number that a tuple has as its value; masses, not shares."""
CUT = 12_000
"""Event time, ms from the start, at which all histograms become others; batch 3 is the first one behind it."""
POINTS = [(point, 3) for point in ("K2", "K4")]


@cache
def are_alike(a: str, b: str) -> bool:
    places, (p, q) = range(BINS), (HISTOGRAMS[int(value)] for value in (a, b))
    return wasserstein_distance(places, places, p, q) <= THRESHOLD + 1e-9


JOIN = Join(reach=300, tick=100, k=100, alike=are_alike)


@cache
def streams() -> list[list[Item]]:
    """Two streams in order of arrival, whose histograms drift and jump at a film cut, some of them far too late."""
    draw, made = random.Random(11), []
    for side, speed in enumerate((20, 35)):
        items = []
        for number in range(24_000 // speed):
            event = EPOCH + number * speed
            delay = draw.randrange(150) + (draw.randrange(3000) if draw.random() < 0.05 else 0)
            after_cut = 7 * (number * speed >= CUT)
            value = str((number * speed // 4_000 + draw.randrange(6) + after_cut) % SHAPES)
            items.append(Item(event, event + delay, f"{'lr'[side]}{number}", value))
        made.append(sorted(items, key=lambda item: item.arrival_time))
    return made


LOG = [Read(side, item) for side, items in enumerate(streams()) for item in items]


def write_streams(directory: Path) -> None:
    for name, items in zip(STREAMS, streams(), strict=True):
        (directory / name).mkdir(parents=True)
        times = {
            part: pa.array([getattr(item, part) for item in items], pa.int64()).cast(TIME) for part in Item._fields[:2]
        }
        masses = [HISTOGRAMS[int(item.value)].tolist() for item in items]
        pq.write_table(
            pa.table(times | {"id": [item.id for item in items], "hist": masses}), directory / name / "0.parquet"
        )


def make_query(directory: Path, method: str = "emd_ddsj", **more: object) -> Query:
    columns = {name: name for name in ("event_time", "arrival_time", "id")}
    declared = {name: {"source": {"format": "parquet", "path": str(directory / name)}} | columns for name in STREAMS}
    section = {"threshold": THRESHOLD, "histogram": "hist", "bins": BINS, "method": method} | more
    section |= {"span": 0.5, "feedback": "1 s"} if method == "emd_ddsj" else {}
    return declared_query(
        {
            "name": "similar",
            "kind": "emd_join",
            "streams": declared,
            "window": {"size": f"{JOIN.reach} ms"},
            "emd_join": section,
            "disorder": {"policy": "k_slack", "k": f"{JOIN.k} ms", "tick": f"{JOIN.tick} ms"},
        }
    )


def assert_streamed(warehouse: Path) -> Tables:
    """Assert that the answers are the oracle's, each once, and that every tuple was taken in once."""
    tables = Tables(Layout.for_query(warehouse, "similar"))
    rows, expected = tables.read("results").to_pylist(), joined(LOG, JOIN)
    found = {(row["left_id"], row["right_id"]): Pair(*(row[name] for name in Pair._fields)) for row in rows}
    assert len(found) == len(rows), "a pair was answered twice"
    assert found == expected.pairs
    late = tables.read("late").to_pylist()
    assert {(STREAMS.index(row["stream"]), row["id"]): row["frontier"] for row in late} == expected.late
    assert sum(tables.read("metrics")["rows"].to_pylist()) == len(LOG)
    return tables


_next_plan = EmdDdsj.next_plan


def plan_by_solves(method, plan, loads, tasks):
    """Balance numbers of exact distances, which are the same in every run, in place of measured time."""
    solves = loads["load"]
    return _next_plan(method, plan, {**loads, "filter_ms": solves, "solve_ms": 0 * solves}, tasks)


@pytest.fixture(scope="module")
def left(tmp_path_factory, _spark) -> Path:
    """What a kill leaves at each point, by its name, in a directory each; and the whole run as `end`."""
    home = tmp_path_factory.mktemp("similar")
    write_streams(home / "in")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmdDdsj, "next_plan", plan_by_solves)
        patch.setattr(methods, "WORTH", float("-inf"))  # each new plan is taken
        for point, batch in POINTS:
            arm(patch, point, batch, lambda name=f"{point}-{batch}": leave(home / "wh", home / name))
        run(make_query(home / "in"), home / "wh", RunOptions(BATCH_ROWS), spark=_spark)
    (home / "wh").rename(home / "end")
    return home


@pytest.fixture
def killed(left, tmp_path):
    def make(name: str) -> Path:
        shutil.copytree(left / name, tmp_path / "wh")
        return tmp_path / "wh"

    return make


def test_the_pairs_of_a_run_are_those_of_the_oracle_while_plans_change(left):
    tables = assert_streamed(left / "end")
    plans = [row for row in tables.read("facts").to_pylist() if row["about"] == "plan"]
    assert len(plans) >= 3, "the tasks are balanced again on the way"
    metrics = tables.read("metrics").to_pylist()
    counts = [dict(row["counts"]) for row in metrics if row["counts"]]
    assert sum(each.get("candidates", 0) for each in counts) > sum(each.get("exact", 0) for each in counts) > 0
    assert {row["task"] for row in metrics if row["load"]} == {0, 1}


@pytest.mark.parametrize("method", ["emd_ddsj", "shuffle", "head"])
def test_the_filter_chains_find_the_same_pairs(left, tmp_path, method):
    locally(make_query(left / "in", method, search="filter_chain"), tmp_path / "wh", RunOptions(BATCH_ROWS * 3))
    tables = assert_streamed(tmp_path / "wh")
    counts = [dict(row["counts"]) for row in tables.read("metrics").to_pylist() if row["counts"]]
    filters = {"emd_ddsj": "range", "shuffle": "range", "head": "dual"}
    assert sum(each.get(filters[method], 0) for each in counts) > sum(each.get("exact", 0) for each in counts) > 0


def test_the_chunks_are_those_of_the_last_batches(left):
    batches = max(row["batch"] for row in Tables(Layout.for_query(left / "end", "similar")).read("metrics").to_pylist())
    files = list(Layout.for_query(left / "end", "similar").chunks.glob("*/*.arrow"))
    assert files
    kept = JOIN.reach + JOIN.k + 4000  # ms that a batch of these rows and the delays may reach back
    per_batch = 24_000 / batches
    assert min(int(file.stem.split("-")[0]) for file in files) >= batches - kept / per_batch - 2


def test_chunks_whose_state_was_not_committed_are_written_again(left, killed, spark):
    """The tasks have written their chunks, of another content at that, and no table has the batch."""
    warehouse = killed("K2-3")
    written = list(Layout.for_query(warehouse, "similar").chunks.glob("*/00000003-*.arrow"))
    assert written
    for file in written:
        file.write_bytes(b"half a file")
    run(make_query(left / "in"), warehouse, RunOptions(BATCH_ROWS))
    assert_streamed(warehouse)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:100])])
def test_a_lost_or_damaged_chunk_is_a_loud_stop_that_tells_the_repair(left, killed, spark, damage):
    warehouse = killed("K4-3")
    files = list(Layout.for_query(warehouse, "similar").chunks.glob("*/*.arrow"))
    assert files
    for file in files:
        damage(file)
    with pytest.raises(Damaged, match="a part of the state") as stop:
        run(make_query(left / "in"), warehouse, RunOptions(BATCH_ROWS))
    assert "mv " in stop.value.problems[0].remedy


def test_corrections_in_any_order_and_twice_give_all_pairs(left, killed):
    warehouse, query = killed("end"), make_query(left / "in")
    true = batch_pairs(LOG, JOIN)
    intervals = [(EPOCH + start, EPOCH + start + 9_000) for start in (18_000, 0, 9_000, 18_000)]
    for interval in intervals:
        correct(query, warehouse, CorrectionRange(*interval, arrival=True))
    answers, columns = read_answers(query, warehouse, streamed=False)
    found = [(row["left_id"], row["right_id"]) for row in answers.to_pylist()]
    assert len(found) == len(set(found))
    assert set(found) == true
    streamed = read_answers(query, warehouse, streamed=True)[0].num_rows
    assert streamed < len(true), "nothing was missed, so there was nothing to correct"
    assert columns[:5] == ["left_id", "right_id", "left_time", "right_time", "distance"]
