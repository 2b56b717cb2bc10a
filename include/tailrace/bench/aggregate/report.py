"""docs/results/002.md and its plots: the experiments of paper 002 as they were measured, by one command."""

from __future__ import annotations

from pathlib import Path

from tailrace.aggregate.simulation import simulate as simulate_promises
from tailrace.bench import side_by_side
from tailrace.bench.aggregate import figures, games
from tailrace.bench.aggregate.accumulated import accumulated
from tailrace.bench.aggregate.games import ERROR, GAP_MS, RATE, RISK, SECONDS, SEED, SENSORS
from tailrace.bench.aggregate.scaling import scaling
from tailrace.bench.page import Effort, write
from tailrace.bench.progress import Row, Tell
from tailrace.bench.simulate import Simulated
from tailrace.bench.workloads import CASES
from tailrace.windows.sliding import Sliding

_WINDOWS = Sliding(500, 100)
_PROMISE_WINDOWS = 2_000


def report(directory: Path, effort: Effort, tell: Tell) -> Path:
    """Measure all of it, and write `002.md`, `002.json` and the plots."""
    directory.mkdir(parents=True, exist_ok=True)
    found = games.games(tell)
    figures.buffer_sizes(found, directory / "002-buffer.png")
    figures.latencies(found, directory / "002-latency.png")
    figures.accuracies(found, _WINDOWS, directory / "002-accuracy.png")
    promises = simulate_promises(_PROMISE_WINDOWS, SEED)
    tables = {
        "policies": _policies(found),
        "kept": games.kept(tell),
        "functions": games.by_function(tell),
        "promises": _worst(promises),
        "every promise": promises,
        "scaling": scaling(effort.rows // 4, effort.rounds, tell),
    }
    figures.throughputs(tables["scaling"], directory / "002-throughput.png")
    passes = side_by_side.bench(effort.rows, effort.files, effort.rounds, CASES["aggregate"][:1], tell, effort.flink)
    tables["dense"] = side_by_side.summary(passes)
    settings = {
        "tuples": RATE * SECONDS,
        "rate": RATE,
        "seed": SEED,
        "error": ERROR,
        "risk": RISK,
        "gap": GAP_MS // 1000,
        "sensors": SENSORS,
        "promise_windows": _PROMISE_WINDOWS,
    }
    return write(directory / "002.md", Path(__file__).with_name("002.md"), "aggregate", effort, settings, tables)


def _policies(found: dict[str, dict[str, Simulated]]) -> list[Row]:
    rows = []
    for game, runs in found.items():
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
    """Of each function and promise the row with the most windows off, and the mean of all."""
    rows = []
    for asked in dict.fromkeys((row["function"], row["error"], row["risk"]) for row in promises):
        mine = [row for row in promises if (row["function"], row["error"], row["risk"]) == asked]
        worst = max(mine, key=lambda row: row["off"])
        mean = sum(row["off"] for row in mine) / len(mine)
        names = ("distribution", "tuples", "threshold")
        head = dict(zip(("function", "error", "risk"), asked, strict=True))
        rows.append(head | {"off, mean": mean, "off, worst": worst["off"]} | {name: worst[name] for name in names})
    return rows
