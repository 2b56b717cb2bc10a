"""Report of the experiments of paper 002: measures them and writes docs/results/002.md with its plots."""

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
    """Run all experiments and write `002.md`, `002.json` and the plots; return the page's path."""
    directory.mkdir(parents=True, exist_ok=True)
    runs = games.games(tell)
    figures.buffer_sizes(runs, directory / "002-buffer.png")
    figures.latencies(runs, directory / "002-latency.png")
    figures.accuracies(runs, _WINDOWS, directory / "002-accuracy.png")
    promises = simulate_promises(_PROMISE_WINDOWS, SEED)
    tables = {
        "policies": _policies(runs),
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


def _policies(runs_by_game: dict[str, dict[str, Simulated]]) -> list[Row]:
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
    """Return for each function and promise the row with the most windows off, and the mean of all rows."""
    rows = []
    for promise in dict.fromkeys((row["function"], row["error"], row["risk"]) for row in promises):
        promise_rows = [row for row in promises if (row["function"], row["error"], row["risk"]) == promise]
        worst = max(promise_rows, key=lambda row: row["off"])
        mean = sum(row["off"] for row in promise_rows) / len(promise_rows)
        names = ("distribution", "tuples", "threshold")
        head = dict(zip(("function", "error", "risk"), promise, strict=True))
        rows.append(head | {"off, mean": mean, "off, worst": worst["off"]} | {name: worst[name] for name in names})
    return rows
