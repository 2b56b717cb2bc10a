"""The claims of paper 000, and how the tables of its page judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from bench.emd.balance_verdicts import balance, feedback, span
from bench.progress import Row
from bench.verdicts import Claim, Outcome, Tables, Verdict, column, one, outcome_of, select, unmeasured

PARTS = ("line", "clips", "grid", "matrix", "dense", "head")
"""The parts of the page that compare the methods by θ."""

AT_ONCE_S = 2.0
"""A live join is called fast enough if it commits 95 % of its pairs within this time."""

_NOISE = 0.1
_LINEAR = 0.5
"""The share of the tasks' ratio to which throughput has to rise to be linear."""

_TWICE = 2  # the factor of figure 4


def _rows(tables: Tables, table: str, parts: Sequence[str] = PARTS) -> list[Row]:
    """Return the rows of a table of all parts that were measured."""
    rows = [row for part in parts for row in tables.get(f"{part}_{table}", ())]
    if not rows:
        raise LookupError(f"no part has {table}")
    return rows


def _gain(gain: str, over: str, least: float, most: float) -> Callable[[Tables], Verdict]:
    """Return the judge of a gain over a baseline: the settings in which it counts, beside the paper's range.

    A claim is confirmed in part if more settings gain than lose. Where that fails and most settings allow no
    conclusion, the claim allows none either.
    """

    def judge(tables: Tables) -> Verdict:
        rows = [
            row
            for row in select(_rows(tables, "gains", (*PARTS, "spark_chain")), gain=gain, over=over)
            if row["share median"] is not None
        ]
        medians = column(rows, "share median")
        counts = Counter(row["beyond A/A"] for row in rows)
        reached = sum(row["share median"] >= least for row in rows if row["beyond A/A"] == "yes")
        losses, small = counts["a loss"], counts["yes"] - reached
        unclear = len(rows) - counts["yes"] - losses
        here = f"{min(medians):.0%} to {max(medians):.0%} in the median; of {len(rows)} settings {counts['yes']} gain "
        here += "beyond chance"
        is_weak = over == "head" and max(medians) > most
        reasons = {
            f"a loss beyond A/A in {losses}": losses,
            f"no conclusion in {unclear}": unclear,
            f"less than the paper's in {small}": small,
            "more than the paper's: Head-SJ is weaker here than there": is_weak,
        }
        why = "; ".join(reason for reason, holds in reasons.items() if holds)
        if reached <= losses and 2 * unclear > len(rows):
            return Verdict(here, Outcome.NOT_MEASURABLE, why)
        return Verdict(here, outcome_of(reached == len(rows) and not is_weak, reached > losses), why)

    return judge


def _filters(tables: Tables) -> Verdict:
    rows = _rows(tables, "filters")
    settings = dict.fromkeys((row["case"], row["θ"], row["direction"]) for row in rows)
    more, twice = {"triangle": 0, "feasible": 0}, {"triangle": 0, "feasible": 0}
    for case, threshold, direction in settings:
        place = {"case": case, "θ": threshold, "direction": direction}
        ours, random = (one(rows, method=method, **place) for method in ("emd_ddsj", "shuffle"))
        for name in more:
            share, other = ours[f"share {name}"], random[f"share {name}"]
            more[name] += share > other
            twice[name] += share > other and share >= _TWICE * other
    shown = [f"the {name} filter more in {more[name]}, twice as much in {twice[name]}" for name in more]
    here = f"of {len(settings)} joins and directions: {'; '.join(shown)}"
    why = "ShuffleJ has locality here, too: within a batch it visits its tuples in the order of a tour of their keys"
    return Verdict(here, outcome_of(*(twice[name] == len(settings) for name in twice)), why)


def _rises(tables: Tables) -> Verdict:
    rows = tables["windows_work"]
    latencies, rates = (column(rows, f"{name}, emd_ddsj") for name in ("latency ms", "R-tuples/s"))
    windows = column(rows, "W s")
    shown = f"{windows[0]} to {windows[-1]} s: {latencies[0]:,.0f} to {latencies[-1]:,.0f} ms at the task, "
    holds = latencies[-1] > latencies[0] * (1 + _NOISE), rates[-1] < rates[0] * (1 - _NOISE)
    return Verdict(f"{shown}{rates[0]:,.0f} to {rates[-1]:,.0f} /s", outcome_of(*holds))


def _scaling(tables: Tables) -> Verdict:
    rows = tables["chain_work"]
    tasks, rates = column(rows, "tasks"), column(rows, "R-tuples/s, emd_ddsj")
    here = f"by the chain, tasks {', '.join(map(str, tasks))}: {', '.join(f'{rate:,.0f}' for rate in rates)} /s"
    linear = rates[-1] / rates[0] >= _LINEAR * tasks[-1] / tasks[0]
    rises = all(after > before for before, after in pairwise(rates))
    why = "each task looks at all of S, and that does not shrink with the tasks"
    return Verdict(here, outcome_of(linear and rises, rises), why)


def _two_tasks(tables: Tables) -> Verdict:
    """Judge the speed on Spark by the chain on a line, which is the paper's ground distance.

    The windows are smaller than the paper's, so they can contradict the claim but not confirm it.
    """
    rows = [row for row in select(tables["spark_chain"], method="emd_ddsj", tasks=2) if " line " in row["case"]]
    rates = column(rows, "R-tuples/s")
    shown = [f"{row['R-tuples/s']:,.0f} /s with {row['pairs a tuple']:.2g} pairs a tuple" for row in rows]
    size = f"{rows[0]['W s']:g} s at {rows[0]['tuples/s']} a second, the paper's 5 s at 1,000"
    enough = max(rates) >= 235  # noqa: PLR2004 (the paper's)
    why = f"a window has {size}" + ("" if enough else "; Python beside Java, two cores beside a cluster")
    outcome = Outcome.NOT_MEASURABLE if enough else Outcome.CONTRADICTED
    return Verdict(f"on Spark, on the line: {', '.join(shown)}", outcome, why)


def _at_once(tables: Tables) -> Verdict:
    rows = [row for row in select(tables["live"], method="emd_ddsj") if row["tuples/s"] >= 40]  # noqa: PLR2004
    late = column(rows, "p95 s")
    shown = [f"{row['p95 s']:.2g} s at {row['tuples/s']}/s ({row['case'].split(', ', 1)[-1]})" for row in rows]
    here = f"on Spark, W = {rows[0]['W s']:g} s, 95 % of the pairs within {', '.join(shown)}"
    return Verdict(here, outcome_of(*(seconds <= AT_ONCE_S for seconds in late)), "two cores beside a cluster")


CLAIMS = (
    Claim("Fig. 4", "locality lets the triangle and the feasible filter decide at least twice as many pairs", _filters),
    Claim("Fig. 6", "a feedback period of 2.5 s has the least imbalance", feedback),
    Claim("Fig. 7", "a span of 15 has the shortest run", span),
    Claim("Fig. 8", "EMD-DDSJ is slightly less balanced than ShuffleJ, Head-SJ by over 200 % less", balance),
    Claim(
        "Fig. 9",
        "12 to 36 % fewer exact distances than ShuffleJ",
        _gain("fewer exact distances", "shuffle", 0.12, 0.36),
    ),
    Claim("Fig. 9", "15 to 40 % fewer than Head-SJ", _gain("fewer exact distances", "head", 0.15, 0.4)),
    Claim("Fig. 10", "14 to 44 % less latency than ShuffleJ", _gain("less latency", "shuffle", 0.14, 0.44)),
    Claim("Fig. 10", "17 to 58 % less than Head-SJ", _gain("less latency", "head", 0.17, 0.58)),
    Claim("Fig. 11", "6 to 49 % more throughput than ShuffleJ", _gain("more throughput", "shuffle", 0.06, 0.49)),
    Claim("Fig. 11", "11 to 104 % more than Head-SJ", _gain("more throughput", "head", 0.11, 1.04)),
    Claim("Fig. 12, 13", "in longer windows latency rises and throughput falls", _rises),
    Claim(
        "Fig. 13",
        "at 11 s: +140 % throughput over ShuffleJ, +300 % over Head-SJ",
        unmeasured("streams longer than that take hours by the chain in one process"),
    ),
    Claim("Fig. 14", "throughput rises linearly with the tasks", _scaling),
    Claim("Fig. 14", "two tasks process 235 to 395 tuples of R a second by the chain of filters", _two_tasks),
    Claim("Fig. 14", "so video streams, of up to 40 tuples a second, are answered in real time", _at_once),
    Claim(
        "Table 3",
        "a million tuples of each film, on five computers",
        unmeasured("three films that can't be had; two cores"),
    ),
)
