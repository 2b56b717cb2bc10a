"""Report of the experiments of paper 002: docs/results/002.md, its tables and plots."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import side_by_side
from bench.aggregate import bursts, estimates, figures, games
from bench.aggregate.accumulated import accumulated
from bench.aggregate.games import ERROR, GAP_MS, RATE, RISK, SECONDS, SEED, SEEDS, SENSORS
from bench.aggregate.over_seeds import over_seeds
from bench.aggregate.scaling import scaling
from bench.aggregate.verdicts import CLAIMS
from bench.progress import Echo, Row
from bench.report import Effort, Measured, Plot, Report
from bench.simulate import Simulated
from bench.workloads import CASES
from tailrace.aggregate.simulation import simulate as simulate_promises
from tailrace.windows.sliding import Sliding

_WINDOWS = Sliding(500, 100)
_PROMISE_WINDOWS = 2_000


def _delays(effort: Effort, echo: Echo) -> Measured:
    return Measured({"delays": games.delays()})


def _policies(effort: Effort, echo: Echo) -> Measured:
    runs = games.games(echo)
    settings = {"tuples": RATE * SECONDS, "rate": RATE, "seed": SEED, "error": ERROR, "risk": RISK}
    plots = {
        "buffer": partial(figures.buffer_sizes, runs),
        "latency": partial(figures.latencies, runs),
        "accuracy": partial(figures.accuracies, runs, _WINDOWS),
    }
    return Measured({"policies": _by_policy(runs)}, settings | {"gap": GAP_MS // 1000}, plots)


def _kept(effort: Effort, echo: Echo) -> Measured:
    return Measured({"kept": games.kept(echo)}, {"sensors": SENSORS})


def _bursts(effort: Effort, echo: Echo) -> Measured:
    runs = bursts.bursts(echo)
    tables = {"bursts": over_seeds(runs, ("game", "policy"), ("off", "mean K s")), "every burst": runs}
    return Measured(tables, {"seeds": len(SEEDS)})


def _estimates(effort: Effort, echo: Echo) -> Measured:
    runs = estimates.estimates(echo)
    ranged = ("off, plain", "off, scaled", "mean K ms, scaled")
    return Measured({"estimates": over_seeds(runs, ("case", "policy"), ranged), "every estimate": runs})


def _functions(effort: Effort, echo: Echo) -> Measured:
    return Measured({"functions": games.by_function(echo)})


def _promises(effort: Effort, echo: Echo) -> Measured:
    promises = simulate_promises(_PROMISE_WINDOWS, SEED)
    tables = {"promises": _worst(promises), "every promise": promises}
    return Measured(tables, {"promise_windows": _PROMISE_WINDOWS})


def _scaling(effort: Effort, echo: Echo) -> Measured:
    return Measured({"scaling": scaling(effort.rows // 4, effort.rounds, echo)})


def _dense(effort: Effort, echo: Echo) -> Measured:
    cases = CASES["aggregate"][:1]
    passes = side_by_side.bench(effort.rows, effort.files, effort.rounds, cases, echo, effort.flink)
    return Measured({"dense": side_by_side.summary(passes)})


def _by_policy(runs_by_game: dict[str, dict[str, Simulated]]) -> list[Row]:
    rows = []
    for game, runs in runs_by_game.items():
        slowest = runs["mp_k_slack"].latency_ms
        for policy, run in runs.items():
            last = run.frontier.end[-1:]
            rows.append(
                {
                    "game": game,
                    "policy": policy,
                    "mean K s": run.mean_k_ms / 1000,
                    "largest K s": run.frontier.k_ms.max() / 1000,
                    "last K s": run.frontier.k_ms[-1] / 1000,
                    "mean latency s": run.latency_ms / 1000,
                    "to mp_k_slack": run.latency_ms / slowest,
                    "windows off ≥ 5 %": run.off(ERROR),
                    "late tuples": int(run.late["tuples"].sum()),
                    "accuracy": float(accumulated(run, _WINDOWS, last, None)[0]),
                    "corrected": float(accumulated(run, _WINDOWS, last, GAP_MS)[0]),
                }
            )
    return rows


def _worst(promises: list[Row]) -> list[Row]:
    """Return, for each function and promise, the row with the most windows off, and the mean of all rows."""
    rows = []
    for promise in dict.fromkeys((row["function"], row["error"], row["risk"]) for row in promises):
        promise_rows = [row for row in promises if (row["function"], row["error"], row["risk"]) == promise]
        worst = max(promise_rows, key=lambda row: row["off"])
        mean = sum(row["off"] for row in promise_rows) / len(promise_rows)
        names = ("distribution", "tuples", "threshold")
        head = dict(zip(("function", "error", "risk"), promise, strict=True))
        rows.append(head | {"off, mean": mean, "off, worst": worst["off"]} | {name: worst[name] for name in names})
    return rows


REPORT = Report(
    "002",
    "aggregate",
    Path(__file__).with_name("002.md"),
    {
        "delays": _delays,
        "policies": _policies,
        "kept": _kept,
        "bursts": _bursts,
        "estimates": _estimates,
        "functions": _functions,
        "promises": _promises,
        "scaling": _scaling,
        "dense": _dense,
    },
    [Plot("throughput", ["scaling"], figures.throughputs)],
    CLAIMS,
    {
        "burst_conclusion": bursts.conclusion,
        "estimate_conclusion": estimates.conclusion,
    },
)
