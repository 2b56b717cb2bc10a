"""The comparison of the methods of EMD joins: contestants, gains beside the spread of A/A, and the whole report."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bench.emd import (
    balance,
    case_balance,
    contestants,
    films,
    live,
    methods,
    report,
    spark_chain,
    spark_speed,
    speed,
)
from bench.emd.comparison import Comparison
from bench.emd.contestants import Contest
from bench.emd.films import CASES, UNIT, as_streams, join_query, scenes_copy
from bench.emd.regime_cases import AGAIN, ALL, HEAD, HEAD_FLOW, NEAR, OURS, SHUFFLE, RegimeCase, cases
from bench.emd.simulation import COST, SOLVES, simulate
from bench.report import Effort

pytestmark = pytest.mark.slow


def short(part: str, **changes: Any) -> RegimeCase:
    """The first join of a part at its least θ, shortened."""
    join = cases()[part][0]
    shortened: dict[str, Any] = {"frames": 50, "within": "0.2 s", "seeds": 2, "thresholds": join.thresholds[:1]}
    return replace(join, **shortened | changes)


@pytest.mark.needs("long")
def test_with_locality_fewer_distances_are_exact_in_every_ground_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "TERMS", ("tuples",))  # plans by measured time are other ones in every run
    for part in ("line", "grid"):
        (runs, *_), filters = methods.by_threshold([short(part, contestants=ALL)], lambda line: None)
        totals = {name: sum(row["exact"] for row in rows) for name, rows in runs.rows.items()}
        assert 0 < totals[OURS] < totals[SHUFFLE] < totals[HEAD]
        assert totals[HEAD_FLOW] <= totals[HEAD]
        assert len({tuple(row["pairs"] for row in rows) for rows in runs.rows.values()}) == 1
        assert {row["direction"] for row in filters} == {"R queries S", "S queries R"}
        for row in filters:
            shares = [value for name, value in row.items() if name.startswith("share")]
            assert sum(shares) == pytest.approx(1)


def test_the_same_method_twice_differs_by_its_placement_alone() -> None:
    contest = Contest(short("line"), films.scenes_copy(60), 3)
    one, two, again = (contest.run(name, 0.3) for name in (SHUFFLE, AGAIN, SHUFFLE))
    assert one.pairs.tolist() == two.pairs.tolist()
    assert one.tuples.tolist() == again.tuples.tolist() != two.tuples.tolist()
    assert one.exact.tolist() == again.exact.tolist()


def test_a_batch_without_a_plan_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = Contest(short("line"), films.scenes_copy(60), 3)
    assert contest.run(HEAD, 0.3).plans[contestants.FIRST :].all()
    monkeypatch.setattr(contestants, "FIRST", 1)
    with pytest.raises(RuntimeError, match="head has batches without a plan"):
        contest.run(HEAD, 0.3)


def test_directions_sum_up_to_the_counts() -> None:
    run = Contest(short("line"), films.scenes_copy(60), 3).run(OURS, 0.3)
    by_left, by_right = run.counts_by_direction
    assert by_left + by_right == +run.total_counts
    assert by_left["candidates"] > 0 < by_right["candidates"]
    assert 0 <= run.solving < 1


def test_plans_balance_cost_or_numbers_of_solves() -> None:
    """Neither changes the pairs."""
    query = join_query({"threshold": 0.3, "scale": UNIT, "feedback": "1000 ms"}, "2 s")
    streams = as_streams(scenes_copy(120), 20)
    by_cost, by_solves = (simulate(query, streams, 3, 1000, terms=terms) for terms in (COST, SOLVES))
    assert by_cost.pairs.tolist() == by_solves.pairs.tolist()
    again = simulate(query, streams, 3, 1000, terms=SOLVES)
    assert again.exact.tolist() == by_solves.exact.tolist()  # numbers are the same in every run
    assert (by_cost.solve_ms <= by_cost.work_ms).all()


def runs_of(**exact: list[int]) -> Comparison:
    names = {"ours": OURS, "shuffle": SHUFFLE, "again": AGAIN, "head": HEAD}
    rows = {
        names[name]: [
            {
                "pairs": 7,
                "exact": count,
                "work ms": 10.0 * count,
                "solving": 0.5,
                "R-tuples/s": 1000.0 / max(count, 1),
                "latency ms": 1.0 + count,
                "imbalance of work": 0.1,
            }
            for count in counts
        ]
        for name, counts in exact.items()
    }
    return Comparison({"case": "a", "θ": 0.5}, rows)


def test_a_gain_counts_beyond_the_spread_of_chance_alone() -> None:
    runs = runs_of(ours=[60, 70, 65], shuffle=[100, 100, 100], again=[90, 108, 101], head=[0, 0, 200])
    gains = {(row["gain"], row["over"]): row for row in runs.gains()}
    fewer = gains["fewer exact distances", "shuffle"]
    assert (fewer["share least"], fewer["share median"], fewer["share greatest"]) == pytest.approx((0.3, 0.35, 0.4))
    assert fewer["share A/A"] == pytest.approx(0.1)
    assert fewer["beyond A/A"] == "yes"
    assert gains["fewer exact distances", "head"]["rounds"] == 1  # head had none in two rounds
    assert runs.medians()[OURS] == "65 (60 to 70)"
    within = runs_of(ours=[95], shuffle=[100], again=[90])
    assert next(within.gains())["beyond A/A"] == "no"
    worse = runs_of(ours=[150], shuffle=[100], again=[90])
    assert next(worse.gains())["beyond A/A"] == "a loss"
    certain = next(runs_of(ours=[0, 50], shuffle=[100, 100], again=[0, 100]).gains())
    assert (certain["share greatest"], certain["share A/A"]) == (1, 1)  # a round without any counts as well
    nothing = next(runs_of(ours=[0], shuffle=[0], again=[0]).gains())
    assert nothing["share median"] is None
    assert nothing["beyond A/A"] is None


@pytest.mark.needs("long")
def test_the_report_has_all_experiments_of_the_paper(tmp_path, monkeypatch):
    parts = {part: ALL if part == "head" else NEAR for part in report.COMPARED}
    monkeypatch.setattr(report, "CUT_PERIODS", 4)
    monkeypatch.setattr(report, "SECONDS", 4)
    monkeypatch.setattr(balance, "FIRST", 2)
    monkeypatch.setattr(case_balance, "CASES", CASES[:1])
    monkeypatch.setattr(case_balance, "FRAMES", 200)
    monkeypatch.setattr(report, "ROUNDS", 1)
    monkeypatch.setattr(
        report, "cases", lambda: {part: (short("line", seeds=1, contestants=mine),) for part, mine in parts.items()}
    )
    monkeypatch.setattr(methods, "WINDOWS_S", (0.2, 0.4))
    monkeypatch.setattr(methods, "WINDOW_FRAMES", 60)
    monkeypatch.setattr(methods, "WINDOW_SEEDS", 1)
    monkeypatch.setattr(methods, "TASK_SEEDS", 1)
    monkeypatch.setattr(methods, "TASK_FRAMES", 60)
    monkeypatch.setattr(methods, "PARALLELISM", (2, 3))
    monkeypatch.setattr(methods, "SCALE_FRAMES", 60)
    monkeypatch.setattr(balance, "TASKS", 3)
    monkeypatch.setattr(balance, "PERIODS_MS", (1000, 2500))
    monkeypatch.setattr(balance, "SPANS", (5, 15))
    monkeypatch.setattr(balance, "PARALLELISM", (2, 3))
    monkeypatch.setattr(balance, "RATE", 40)
    monkeypatch.setattr(balance, "CUT_RATE", 20)
    monkeypatch.setattr(speed, "WINDOWS_S", (1, 2))
    monkeypatch.setattr(speed, "WINDOW_S", 1)
    monkeypatch.setattr(speed, "RATE", 50)
    speeds = {**speed.NEAR.row, "tasks": 2, "rounds": 1, "R-tuples/s": 1.0}
    monkeypatch.setattr(spark_speed, "by_threshold", lambda *arguments: [speeds])
    monkeypatch.setattr(spark_speed, "by_window", lambda *arguments: [{"W s": 5, "batch ms": 1.0, "state MB": 1.0}])
    setting = {"case": "S ⋈ SS, line of 256", "θ": 0.5, "W s": 1.0, "tuples/s": 50, "tasks": 2}
    measures = dict.fromkeys((*spark_chain.MEASURES, *live.MEASURES), 1.0)
    on_spark = Comparison(setting, {name: [measures] for name in NEAR})
    monkeypatch.setattr(spark_chain, "by_case", lambda *arguments: [on_spark])
    monkeypatch.setattr(live, "by_case", lambda *arguments: [on_spark])
    page = report.REPORT.write(tmp_path, Effort(10_000, 2, 1), lambda line: None)
    text, tables = page.read_text(), json.loads((tmp_path / "000.json").read_text())
    assert "{" not in text
    assert all(tables.values())
    assert "(not measured)" not in text
    assert "on Spark, on the line: 1 /s" in text
    for name in ("gains", "feedback", "tasks", "cut"):
        assert (tmp_path / f"000-{name}.png").stat().st_size > 10_000
        assert f"(000-{name}.png)" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for before, row in pairwise(rows):  # of a table each row has as many cells as its head
        assert row.count("|") == before.count("|") or "| ---" in rows[rows.index(row) + 1]
