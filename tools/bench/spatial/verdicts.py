"""The claims of paper 003, and how the tables of its page judge them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from bench.spatial.same_twice import spread
from bench.verdicts import Claim, Outcome, Tables, Verdict, column, one, outcome_of, select, unmeasured

_RATE, _GAIN, _LATENCY_S, _LATENCY_GAIN_S = 60_000, 9, 0.09, 0.02
_LEVEL, _NOISY = 0.1, 0.25
"""Throughputs within this share of each other, or the spread of a method that ran twice, count as level.

With a wider spread than the second share nothing can be called level.
"""

_RISE = 1.5
"""Up to this factor throughput rises a little."""

_ALONE = "no method ran twice beside it, so a difference may be chance"

_JOINS = ("interval", "window")
_INTERVAL_S = 300


def _table_rate(tables: Tables) -> Verdict:
    rate = {name: one(tables["table"], method=name)["points/s"] for name in ("raster", "edges")}
    here = f"one core, in process: the paper's method {rate['edges']:,.0f}/s, raster {rate['raster']:,.0f}/s"
    return Verdict(here, outcome_of(rate["edges"] > _RATE))


def _table_gain(tables: Tables) -> Verdict:
    gain = {name: one(tables["table"], method=name)["× native"] for name in ("raster", "edges")}
    spark = one(tables["spark_table"], contestant="indexed")["warm × native"]
    here = f"the paper's method × {gain['edges']:.1f}, raster × {gain['raster']:.0f}; raster on Spark × {spark:.1f}"
    return Verdict(here, outcome_of(gain["edges"] >= _GAIN, gain["raster"] >= _GAIN), "native here is GEOS in columns")


def _by_level(tables: Tables, part: str, here: str, why: str, judge: Callable[[float], Iterable[bool]]) -> Verdict:
    """Judge by what counts as level in a part, if the same method twice is nearly level there."""
    beside = spread(tables, f"{part}_twice")
    if beside > _NOISY:
        return Verdict(here, Outcome.NOT_MEASURABLE, f"the same method twice differs by up to {beside:.0%}")
    level = max(_LEVEL, beside)
    return Verdict(here, outcome_of(*judge(level)), f"within {level:.0%} counts as level; {why}")


def _hardly_matters(
    tables: Tables, part: str, here: str, why: str, judge: Callable[[float], Iterable[bool]]
) -> Verdict:
    """Judge that something hardly matters: a difference beyond the spread of the same method twice contradicts it."""
    beside = spread(tables, f"{part}_twice")
    if beside > _NOISY and not all(judge(beside)):
        return Verdict(here, Outcome.CONTRADICTED, f"the same method twice differs by {beside:.0%} at most; {why}")
    return _by_level(tables, part, here, why, judge)


def _table_latency(tables: Tables) -> Verdict:
    names = ("join with a table", "join with a table, native", "pass-through")
    p50 = {row["contestant"]: row["p50 s"] for row in tables["latency"]}
    ours, native, spark = (p50[name] for name in names)
    here = f"to the commit of the row on disk: p50 {ours:.2f} s, native {native:.2f} s, Spark's stream without state"
    holds = ours <= _LATENCY_S, native - ours >= max(_LATENCY_GAIN_S, ours * spread(tables, "latency_twice"))
    return Verdict(f"{here} {spark:.2f} s", outcome_of(*holds), "what counts is the batch that is committed to Delta")


def _shapes(tables: Tables) -> Verdict:
    ours = select(tables["shapes"], method="edges near")
    gains: dict[str, list[float]] = {"topology": [], "distance": []}
    holds = []
    for gain, shapes, relation in zip(*(column(ours, name) for name in ("× GEOS", "shapes", "relation")), strict=True):
        gains["distance" if relation == "dwithin" else "topology"].append(gain)
        holds.append(gain > 1 + spread(tables, "shapes_twice", shapes=shapes, relation=relation))
    ranges = ", ".join(f"{name} × {min(each):.1f} to × {max(each):.1f}" for name, each in gains.items())
    why = f"{sum(holds)} of {len(holds)} gains exceed the spread of the same method twice"
    return Verdict(f"lines and polygons beside an R-tree and GEOS: {ranges}", outcome_of(*holds), why)


def _batches(tables: Tables) -> Verdict:
    """Judge by Apache Sedona, which GeoSpark has become."""
    ours, sedona = (one(tables["spark_table"], contestant=name) for name in ("indexed", "sedona"))
    p50 = one(tables["latency"], contestant="join with a table")["p50 s"]
    whole = ours.get("× Sedona") or ours["points/s"] / sedona["points/s"]
    here = (
        f"Sedona: a job of {sedona['points']:,} fixes in {sedona['s']:.1f} s; ours, with the start of the stream, "
        f"× {whole:.2f} its throughput, warm × {ours['warm × Sedona']:.2f}, a live row after {p50:.2f} s"
    )
    if not tables.get("spark_table_twice"):
        return Verdict(here, Outcome.NOT_MEASURABLE, _ALONE)
    beside = spread(tables, "spark_table_twice", measure="points/s")
    return Verdict(here, outcome_of(p50 < sedona["s"], whole > 1 - beside), "beside a job over all fixes")


def _gain(tables: Tables, join: str) -> float:
    """Return what a second task gains on Spark, as a share."""
    rows = select(tables["spark_cpu"], join=join)
    rates = column(rows, "warm tuples/s")
    return float(rows[-1].get("warm × one task") or rates[-1] / rates[0]) - 1


def _parallelism(tables: Tables) -> Verdict:
    gains = {join: _gain(tables, join) for join in _JOINS}
    here = f"1 to 2 tasks on two cores, Spark: {', '.join(f'{join} {gains[join]:+.0%}' for join in _JOINS)}"
    if not tables.get("spark_cpu_twice"):
        return Verdict(here, Outcome.NOT_MEASURABLE, _ALONE)
    why = "driver and tasks share the two cores"
    return _by_level(tables, "spark_cpu", here, why, lambda level: [gain > level for gain in gains.values()])


def _tasks(tables: Tables) -> Verdict:
    beside, shown, holds = spread(tables, "tasks_twice"), list[str](), list[bool]()
    for join in _JOINS:
        rates = column(select(tables["tasks"], join=join), "tuples/s")
        shown.append(f"{join} {', '.join(f'{rate / 1000:.0f} k/s' for rate in rates)}")
        holds += [after / before > 1 + beside for before, after in pairwise(rates)]
    tasks = dict.fromkeys(column(tables["tasks"], "tasks"))
    here = f"{', '.join(map(str, tasks))} tasks one after the other, the busiest one's CPU: {'; '.join(shown)}"
    return Verdict(here, outcome_of(*holds), f"not each step exceeds the spread of the same run twice, {beside:.0%}")


def _interval_more(tables: Tables) -> Verdict:
    gain = {join: column(select(tables["spark"], join=join, method="indexed"), "warm × native") for join in _JOINS}
    shown = ", ".join(f"{join} {', '.join(f'× {each:.1f}' for each in gain[join])}" for join in _JOINS)
    here = f"over native, on Spark at 1 and 2 tasks: {shown}"
    if not tables.get("spark_twice"):
        return Verdict(here, Outcome.NOT_MEASURABLE, _ALONE)
    beside = spread(tables, "spark_twice")
    ratios = [left / right for left, right in zip(gain["interval"], gain["window"], strict=True)]
    if all(1 / (1 + beside) <= ratio <= 1 + beside for ratio in ratios):
        return Verdict(here, Outcome.NOT_MEASURABLE, f"the same method twice differs by up to {beside:.0%}")
    holds = [ratio > 1 + beside for ratio in ratios]
    return Verdict(here, outcome_of(*holds), "what waits here is stream time, which costs no throughput")


def _length_rates(tables: Tables) -> Verdict:
    shown, ratios = [], []
    for join in _JOINS:
        rates = column(select(tables["lengths"], join=join, method="indexed"), "tuples/s")
        shown.append(f"{join} {', '.join(f'{rate / 1000:.0f} k/s' for rate in rates)}")
        ratios.append(rates[-1] / rates[0])
    minutes = dict.fromkeys(column(tables["lengths"], "minutes"))
    here = f"{', '.join(f'{each:g}' for each in minutes)} min: {'; '.join(shown)}"
    why = "each tuple has as many more partners, and all pairs are answered"

    def judge(level: float) -> Iterator[bool]:
        yield from (1 - level <= ratio <= max(_RISE, 1 + level) for ratio in ratios)

    return _hardly_matters(tables, "lengths", here, why, judge)


def _length_latency(tables: Tables) -> Verdict:
    waits = {join: column(select(tables["lengths"], join=join, method="indexed"), "wait s") for join in _JOINS}
    window, interval = waits["window"], waits["interval"]
    here = f"in stream time: window {window[0]:.0f} to {window[-1]:.0f} s, interval {interval[0]:g} s"
    return Verdict(here, outcome_of(window[-1] > window[0], window[0] > interval[0]))


def _live_lengths(tables: Tables) -> Verdict:
    shown, p50 = [], {}
    for join in _JOINS:
        rows = select(tables["latency_joins"], join=join, method="indexed", grid=None)
        p50[join] = column(rows, "p50 s")
        shown.append(f"{join} {', '.join(f'{each:.2f} s' for each in p50[join])}")
    lengths = dict.fromkeys(column(tables["latency_joins"], "s long"))
    window, interval = p50["window"], p50["interval"]
    here = f"p50 of {', '.join(f'{each:g}' for each in lengths)} s, live: {'; '.join(shown)}"
    beside = spread(tables, "latency_joins_twice")
    return Verdict(here, outcome_of(window[-1] > window[0] * (1 + beside), window[-1] > interval[-1] * (1 + beside)))


def _live_native(tables: Tables) -> Verdict:
    beside, gain, shown = spread(tables, "latency_joins_twice"), [], []
    for join in _JOINS:
        rows = {method: _beside_native(tables, join, method) for method in ("indexed", "native")}
        p50, p95 = ({method: row[name] for method, row in rows.items()} for name in ("p50 s", "p95 s"))
        gain.append(p50["native"] / p50["indexed"] - 1)
        both = ", ".join(f"{method} {p50[method]:.2f} and {p95[method]:.2f} s" for method in rows)
        shown.append(f"{join} {both}")
    here = f"p50 and p95 live: {'; '.join(shown)}"
    return Verdict(here, outcome_of(*(each > beside for each in gain)), "at this rate both wait for ticks and commits")


def _beside_native(tables: Tables, join: str, method: str) -> dict[str, Any]:
    """Return the row of a method at the length at which `native` takes part."""
    native = one(tables["latency_joins"], join=join, method="native")
    return one(tables["latency_joins"], join=join, method=method, grid=None, **{"s long": native["s long"]})


def _grid(tables: Tables) -> Verdict:
    shown, ratios = [], []
    for join in _JOINS:
        rates = column(select(tables["grids"], join=join), "tuples/s")
        shown.append(f"{join} {min(rates) / 1000:.0f} to {max(rates) / 1000:.0f} k/s")
        ratios.append(max(rates) / min(rates))
    here, why = f"1 × 1 to 256 × 256 cells: {'; '.join(shown)}", "the cause of larger differences was not measured"
    return _hardly_matters(tables, "grids", here, why, lambda level: [ratio - 1 <= level for ratio in ratios])


def _live_grid(tables: Tables) -> Verdict:
    rows = [row for row in tables["latency_joins"] if row["grid"] is not None]
    p50 = dict(zip(column(rows, "grid"), column(rows, "p50 s"), strict=True))
    here = f"p50 live: {', '.join(f'{grid} × {grid} cells {each:.2f} s' for grid, each in p50.items())}"
    beside = spread(tables, "latency_joins_twice")
    holds = p50[max(p50)] > p50[min(p50)] * (1 + beside)
    return Verdict(here, outcome_of(holds), "two tasks on one machine copy few tuples, and send none over a network")


def _bins(tables: Tables) -> Verdict:
    rates = {row["bin"]: row["tuples/s"] for row in tables["bins"]}
    is_long = {row["bin"]: int(row["bin"].split()[0]) >= _INTERVAL_S for row in tables["bins"]}
    short = [rate for name, rate in rates.items() if not is_long[name]]
    long = column([row for row in tables["bins"] if is_long[row["bin"]]], "tuples/s")
    here = f"interval of 5 min: {', '.join(f'{name} {rate / 1000:.0f} k/s' for name, rate in rates.items())}"

    def judge(level: float) -> Iterator[bool]:
        yield all(after >= before * (1 - level) for before, after in pairwise(short)) and short[-1] > short[0]
        yield max(long) / min(long) - 1 <= level

    return _by_level(tables, "bins", here, "bins are indexed batch by batch", judge)


CLAIMS = (
    Claim("Fig. 11", "a table join of over 60,000 tuples a second at one task", _table_rate),
    Claim("Fig. 11", "9 times the throughput of native", _table_gain),
    Claim("Fig. 11", "a latency of 90 ms, 20 ms less than native's", _table_latency),
    Claim("Section 2.2", "common topological relations are optimised, points in polygons for example", _shapes),
    Claim("Introduction", "engines for batches, as GeoSpark, pay for throughput with latency", _batches),
    Claim("Fig. 12", "throughput rises steadily with the tasks", _parallelism),
    Claim("Fig. 12", "throughput rises steadily up to many tasks", _tasks),
    Claim("Fig. 12", "the interval join gains more over native than the window join", _interval_more),
    Claim("Fig. 13", "the length hardly matters to throughput, which rises a little", _length_rates),
    Claim("Fig. 13", "the window join's latency rises with its length, far above the interval join's", _length_latency),
    Claim("Fig. 13", "by the wall clock: a longer window waits longer, and longer than an interval", _live_lengths),
    Claim("Fig. 12", "both joins improve on native, in latency as well", _live_native),
    Claim("Fig. 14", "the grid hardly matters to throughput", _grid),
    Claim("Fig. 14 a", "with many cells latency rises", _live_grid),
    Claim("Fig. 15", "larger bins are faster up to the interval's length, and no further", _bins),
    Claim("Section 3.1", "Shenzhen: 425 million fixes", unmeasured("the data are not published; two cores")),
)
