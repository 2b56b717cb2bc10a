"""The parts of paper 000's page about Spark: their joins, the figures of a run, rounds, and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bench.emd import live, spark_chain, spark_speed
from bench.emd.comparison import Comparison, compete
from bench.emd.contestants import query_of, streams_of
from bench.emd.films import scenes_copy
from bench.emd.regime_cases import AGAIN, NEAR, OURS, SHUFFLE
from bench.emd.verdicts import AT_ONCE_S, CLAIMS
from bench.progress import Row
from bench.verdicts import Outcome, Tables, verdicts
from tailrace.query.joins import EmdJoinQuery
from tailrace.query.query import Query
from tailrace.stream.run import OnBatch
from tailrace.stream.run_options import RunOptions

LOADS = ("span", "load", "tuples", "filter_ms", "solve_ms")


def join_of(query: Query) -> EmdJoinQuery:
    assert isinstance(query, EmdJoinQuery)
    return query


def test_the_joins_on_spark_go_by_the_chain_on_every_ground_distance() -> None:
    joins = spark_chain.spark_cases()
    assert [len(join.thresholds) for join in joins] == [2, 1, 1]
    for join in joins:
        query = join_of(query_of(join, OURS, join.thresholds[0], tasks=spark_chain.TASKS))
        assert query.parallelism == 2
        assert query.emd_join.search == ("filter_chain" if "line" in join.name else None)
        assert join.frames >= 2 * join.rate * join.batch_ms / 1000  # so that some batches count
    assert ["line" in join.name for join in joins] == [True, False, False]


def test_the_live_joins_are_in_closed_form_and_by_the_chain() -> None:
    line, grid = live.live_cases()
    assert join_of(query_of(line, OURS, 0.5)).emd_join.search is None  # the default on a line is the closed form
    assert join_of(query_of(grid, OURS, 0.5)).emd_join.ground_distance.grid == (6, 6, 6)
    assert (line.rate, grid.rate) == (100, 40)


def test_contestants_differ_by_method_and_the_second_shuffle_by_its_ids() -> None:
    join = spark_chain.spark_cases()[0]
    sections = {name: join_of(query_of(join, name, 0.3)).emd_join for name in NEAR}
    assert {name: section.method for name, section in sections.items()} == {
        OURS: "emd_ddsj",
        SHUFFLE: "shuffle",
        AGAIN: "shuffle",
    }
    assert sections[OURS].feedback is not None
    ours, shuffle, again = (streams_of(scenes_copy(10), 10, name) for name in NEAR)
    assert ours["left"] == shuffle["left"]
    assert again["left"]["hist"] == shuffle["left"]["hist"]
    assert not set(again["left"]["id"].to_pylist()) & set(shuffle["left"]["id"].to_pylist())


def metrics_of(*tasks: tuple[int, list[float], list[float], list[float]]) -> pa.Table:
    """A batch of the table `metrics`: of each task its answers, and its exact distances and times by span."""
    loads = [
        list(zip(LOADS, [[0.0] * len(exact), exact, [1.0] * len(exact), filter_ms, solve_ms], strict=True))
        for _, exact, filter_ms, solve_ms in tasks
    ]
    return pa.table(
        {
            "task": list(range(len(tasks)))[::-1],
            "answers": [task[0] for task in tasks],
            "loads": pa.array(loads, pa.map_(pa.string(), pa.list_(pa.float64()))),
        }
    )


def test_figures_are_those_of_the_batches_with_tuples_after_the_first() -> None:
    first = metrics_of((100, [50.0], [500.0], [500.0]), (0, [50.0], [500.0], [500.0]))
    second = metrics_of((2, [3.0, 1.0], [10.0, 10.0], [30.0, 10.0]), (1, [0.0], [10.0], [0.0]))
    third = metrics_of((0, [], [], []), (5, [2.0], [20.0], [30.0])).sort_by("task")  # in another order
    end = metrics_of((0, [], [], []), (0, [], [], []))
    row = spark_chain.figures_of([10.0, 11.0, 12.0, 99.0], [80, 40, 0, 0], [first, second, third, end])
    assert row == {
        "pairs": 108,
        "exact": 6,
        "work ms": 120.0,
        "share solving": pytest.approx(70 / 120),
        "R-tuples/s": 20.0,  # 40 of either stream in 2 s
        "imbalance of work": 0.0,
    }
    with pytest.raises(RuntimeError, match="at least 3"):
        spark_chain.figures_of([10.0, 11.0], [40, 0], [first, second])


def test_the_pairs_in_closed_form_are_those_of_all_batches_and_the_speed_is_without_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([10.0, 12.0, 14.0])
    monkeypatch.setattr(spark_speed.time, "perf_counter", lambda: next(clock))

    def run(query: Query, directory: Path, options: RunOptions, on_batch: OnBatch, spark: object) -> int:
        for batch, (rows_left, answers) in enumerate([(80, [1, 2]), (40, [0, 20]), (0, [30, 7])]):
            on_batch(batch, rows_left, {"metrics": pa.table({"answers": answers})})
        return 3

    monkeypatch.setattr(spark_speed.app, "run", run)
    query = query_of(spark_chain.spark_cases()[0], OURS, 0.3)
    row = spark_speed._pass(cast(SparkSession, None), query, Path("somewhere"), 60)
    assert row == {"pairs a tuple": 1.0, "R-tuples/s": 10.0}  # 40 of either stream in 4 s


def test_contestants_take_turns_and_another_one_begins_each_round() -> None:
    turns: list[tuple[int, str]] = []

    def start_round(number: int) -> Callable[[str], Row]:
        def run(name: str) -> Row:
            turns.append((number, name))
            return {"pairs": number, "p50 s": float(number)}

        return run

    runs = compete({}, NEAR, 2, start_round, "p50 s", lambda line: None)
    assert [number for number, _ in turns] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [name for _, name in turns[::3]] == list(NEAR)
    assert all({name for _, name in turns[at : at + 3]} == set(NEAR) for at in (0, 3, 6))
    assert {name: [row["pairs"] for row in rows] for name, rows in runs.rows.items()} == {name: [1, 2] for name in NEAR}


def test_methods_that_find_other_pairs_are_no_comparison_but_for_live_runs() -> None:
    def start_round(number: int) -> Callable[[str], Row]:
        return lambda name: {"pairs": len(name), "p50 s": 1.0}

    with pytest.raises(RuntimeError, match="do not find the same pairs"):
        compete({}, NEAR, 1, start_round, "p50 s", lambda line: None)
    runs = compete({}, NEAR, 1, start_round, "p50 s", lambda line: None, same_pairs=False)
    assert runs.rows[OURS][0]["pairs"] == len(OURS)


def test_a_row_of_a_contestant_has_medians_and_the_range_of_its_first_measure() -> None:
    rows = {name: [{"p50 s": at, "p95 s": 2 * at} for at in (1.0, 3.0, 2.5)] for name in NEAR}
    runs = Comparison({"case": "a"}, rows)
    ours, shuffle = runs.by_contestant("p50 s", "p95 s")
    assert ours == {"case": "a", "method": OURS, "rounds": 3, "p50 s": 2.5, "least": 1, "greatest": 3, "p95 s": 5}
    assert shuffle["method"] == SHUFFLE
    assert [row["gain"] for row in runs.gains()] == ["less latency, p50", "less latency, p95"]  # what was measured


def outcome(tables: Tables, claim: str) -> Row:
    return next(row for row in verdicts(CLAIMS, tables) if row["its claim"].startswith(claim))


def chain(case: str, rate: float, **other: Any) -> Row:
    row: Row = {"case": case, "method": OURS, "tasks": 2, "W s": 1.0, "tuples/s": 100, "R-tuples/s": rate}
    return row | {"pairs a tuple": 5.0} | other


def test_small_windows_contradict_the_papers_throughput_but_do_not_confirm_it() -> None:
    grid = chain("shots S ⋈ SS, grid of 216", 1000.0)
    slow, fast = ([chain("shots S ⋈ SS, line of 256", rate), grid] for rate in (200.0, 300.0))
    contradicted = outcome({"spark_chain": slow}, "two tasks process")
    assert Outcome.CONTRADICTED in contradicted["verdict"]
    assert contradicted["here"] == "on Spark, on the line: 200 /s with 5 pairs a tuple"
    assert Outcome.NOT_MEASURABLE in outcome({"spark_chain": fast}, "two tasks process")["verdict"]


def test_live_joins_are_fast_enough_if_their_95_percent_are() -> None:
    def row(rate: int, late_s: float) -> Row:
        return {"case": "a, b", "method": OURS, "W s": 1.0, "tuples/s": rate, "p95 s": late_s}

    def verdict(*rows: Row) -> str:
        judged = outcome({"live": rows}, "so video streams")
        assert "|" not in judged["here"]  # it is a cell of a table
        return str(judged["verdict"])

    assert Outcome.CONFIRMED + "**" in verdict(row(50, AT_ONCE_S), row(100, 1.0))
    assert Outcome.PARTLY in verdict(row(50, AT_ONCE_S + 0.1), row(100, 1.0))
    assert Outcome.CONTRADICTED in verdict(row(50, AT_ONCE_S + 0.1), row(10, 1.0))  # a video has 40 a second
