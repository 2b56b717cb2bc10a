"""The verdicts on paper 003 follow from the tables of the live joins, the shapes, the tasks and Sedona."""

from __future__ import annotations

import pytest

from bench.spatial.pair_latency import settings
from bench.spatial.verdicts import CLAIMS
from bench.verdicts import Outcome, Verdict


def verdict(beginning: str, **tables) -> Verdict:
    """Judge a claim by tables, each with a method that was equal twice unless another is given."""
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith(beginning)]
    return claim.judge({f"{name}_twice": twice(0.0) for name in tables} | tables)


def twice(deviation: float) -> list[dict]:
    return [{"lowest ×": 1 - deviation, "highest ×": 1 + deviation / 2}]


def live(window=0.5, native=2.0, grid=0.0) -> list[dict]:
    """Latencies that rise by the length of a window, and of `native`, and by the cells."""
    rows = []
    for row in settings():
        p50 = 1 + window * row["s long"] * (row["join"] == "window") + grid * (row["grid"] or 0)
        p50 *= native if row["method"] == "native" else 1
        rows.append(row | {"p50 s": p50, "p95 s": 2 * p50})
    return rows


def test_a_longer_window_waits_longer_by_the_wall_clock():
    claim = "by the wall clock"
    judged = verdict(claim, latency_joins=live())
    assert judged.outcome == Outcome.CONFIRMED
    assert judged.here == "p50 of 3, 6, 12 s, live: interval 1.00 s, 1.00 s, 1.00 s; window 2.50 s, 4.00 s, 7.00 s"
    assert verdict(claim, latency_joins=live(window=0.0)).outcome == Outcome.CONTRADICTED
    assert verdict(claim, latency_joins=live(0.01), latency_joins_twice=twice(0.5)).outcome == Outcome.CONTRADICTED


def test_native_is_later_beyond_the_spread_of_the_same_twice():
    claim = "both joins improve on native"
    assert verdict(claim, latency_joins=live()).outcome == Outcome.CONFIRMED
    assert verdict(claim, latency_joins=live(native=1.1), latency_joins_twice=twice(0.2)).outcome == (
        Outcome.CONTRADICTED
    )
    assert "interval indexed 1.00 and 2.00 s, native 2.00 and 4.00 s" in verdict(claim, latency_joins=live()).here


@pytest.mark.parametrize(("rise", "outcome"), [(0.01, Outcome.CONFIRMED), (0.0, Outcome.CONTRADICTED)])
def test_latency_by_the_grid(rise, outcome):
    judged = verdict("with many cells latency rises", latency_joins=live(grid=rise))
    assert judged.outcome == outcome
    assert judged.here.startswith("p50 live: 1 × 1 cells")


def test_a_gain_of_shapes_counts_beyond_the_spread():
    claim = "common topological relations"
    gains = [("within", 4.0), ("crosses", 1.3), ("dwithin", 3.0)]
    setting = [{"shapes": "lines", "relation": name} for name, _ in gains]
    rows = [each | {"method": "edges near", "× GEOS": gain} for each, (_, gain) in zip(setting, gains, strict=True)]
    rows.append({"shapes": "lines", "method": "GEOS", "relation": "within", "× GEOS": 1.0})
    quiet, noisy = ([each | twice(by)[0] for each in setting] for by in (0.1, 0.9))
    assert verdict(claim, shapes=rows, shapes_twice=quiet).outcome == Outcome.CONFIRMED
    judged = verdict(claim, shapes=rows, shapes_twice=noisy)
    assert judged.outcome == Outcome.PARTLY
    assert judged.why.startswith("2 of 3 gains")
    assert judged.here.endswith("topology × 1.3 to × 4.0, distance × 3.0 to × 3.0")


def test_each_step_of_tasks_counts_beyond_the_spread():
    claim = "throughput rises steadily up to many tasks"
    rows = [
        {"join": join, "tasks": tasks, "tuples/s": 1000.0 * rate}
        for join in ("interval", "window")
        for tasks, rate in ((1, 50), (2, 60), (4, 80))
    ]
    assert verdict(claim, tasks=rows, tasks_twice=twice(0.1)).outcome == Outcome.CONFIRMED
    judged = verdict(claim, tasks=rows, tasks_twice=twice(0.25))
    assert judged.outcome == Outcome.PARTLY
    assert "interval 50 k/s, 60 k/s, 80 k/s" in judged.here


def test_sedona_stands_whole_and_warm():
    claim = "engines for batches"
    sedona = {"contestant": "sedona", "points": 1000, "points/s": 10.0, "s": 2.0}
    ours = {"contestant": "indexed", "points/s": 11.0, "× Sedona": 1.1, "warm × Sedona": 3.0}
    live_join = [{"contestant": "join with a table", "p50 s": 0.5}]
    again = [{"measure": "points/s", **twice(0.1)[0]}, {"measure": "warm points/s", **twice(0.9)[0]}]
    judged = verdict(claim, spark_table=[sedona, ours], latency=live_join, spark_table_twice=again)
    assert judged.outcome == Outcome.CONFIRMED
    assert "× 1.10 its throughput, warm × 3.00, a live row after 0.50 s" in judged.here
    slower = ours | {"× Sedona": 0.8}
    judged = verdict(claim, spark_table=[sedona, slower], latency=live_join, spark_table_twice=again)
    assert judged.outcome == Outcome.PARTLY


@pytest.mark.parametrize(
    ("ours", "native", "twice_by", "outcome"),
    [(0.05, 0.08, 0.0, "confirmed"), (0.5, 0.6, 0.0, "confirmed in part"), (0.5, 0.6, 0.3, "contradicted")],
)
def test_the_latency_of_a_table_join_counts_beyond_the_spread(ours, native, twice_by, outcome):
    p50 = {"join with a table": ours, "join with a table, native": native, "pass-through": 0.1}
    rows = [{"contestant": name, "p50 s": each} for name, each in p50.items()]
    judged = verdict("a latency of 90 ms", latency=rows, latency_twice=twice(twice_by))
    assert judged.outcome == outcome


@pytest.mark.parametrize(
    ("interval", "twice_by", "outcome"),
    [
        (9, 0.1, "confirmed"),
        (6.2, 0.1, "not measurable here"),
        (3, 0.1, "contradicted"),
        (9, 0.9, "not measurable here"),
    ],
)
def test_the_gains_of_two_joins_differ_beyond_the_spread(interval, twice_by, outcome):
    gains = {"interval": interval, "window": 6}
    rows = [{"join": join, "method": "indexed", "warm × native": gain} for join, gain in gains.items()]
    assert verdict("the interval join gains more", spark=rows, spark_twice=twice(twice_by)).outcome == outcome


def rates(**by_join: list[float]) -> list[dict]:
    return [
        {"join": join, "method": "indexed", "minutes": place, "grid": place, "tuples/s": 1000 * rate}
        for join, mine in by_join.items()
        for place, rate in enumerate(mine)
    ]


@pytest.mark.parametrize(
    ("window", "twice_by", "outcome"),
    [
        (52, 0.0, "confirmed"),
        (80, 0.0, "confirmed in part"),
        (58, 0.2, "confirmed"),
        (58, 0.3, "not measurable here"),
        (80, 0.3, "contradicted"),
    ],
)
def test_what_hardly_matters_is_within_a_level_that_noise_does_not_widen_for_ever(window, twice_by, outcome):
    rows = rates(interval=[50, 51], window=[50, window])
    assert verdict("the grid hardly matters", grids=rows, grids_twice=twice(twice_by)).outcome == outcome


@pytest.mark.parametrize(("last", "outcome"), [(60, "confirmed"), (30, "contradicted"), (250, "contradicted")])
def test_a_length_hardly_matters_where_throughput_neither_falls_nor_soars(last, outcome):
    rows = rates(interval=[50, last], window=[50, last])
    assert verdict("the length hardly matters", lengths=rows).outcome == outcome


def test_a_gain_without_a_method_that_ran_twice_is_not_measurable():
    rows = [{"join": join, "warm tuples/s": rate} for join in ("interval", "window") for rate in (10.0, 15.0)]
    claim = "throughput rises steadily with the tasks"
    assert verdict(claim, spark_cpu=rows).outcome == Outcome.CONFIRMED
    assert verdict(claim, spark_cpu=rows, spark_cpu_twice=[]).outcome == Outcome.NOT_MEASURABLE


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if not claim.figure.startswith("Section 3")])
def test_a_table_without_rows_is_none(claim):
    names = ("table", "shapes", "spark_table", "latency", "latency_joins", "spark", "parallelism", "tasks")
    with pytest.raises(LookupError):
        claim.judge({name: [] for name in (*names, "lengths", "grids", "bins")})
