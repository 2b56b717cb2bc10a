"""Experiments of paper 002 (section 2): game 1 and game 2 under every policy, in one run on the same tuples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.progress import Echo, Row
from bench.simulate import RecordedStream, Simulated, simulate
from generators.delays import MODELS, DelayModel, epoch_ms
from generators.replay import TIME, disorder, generate
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

RATE, SECONDS, SEED = 1000, 540, 1
"""Tuples a second and seconds: 540,000 tuples, as game 1 has 544,223."""

SEEDS = range(1, 11)
"""The seeds of what is measured with a range."""

ERROR, RISK = 0.05, 0.05
GAP_MS = 5_000
PROMISE = {"error": ERROR, "risk": RISK}
POLICIES: dict[str, dict[str, Any]] = {
    "none": {},
    "mp_k_slack": {},
    "aq_k_slack": PROMISE,
    "hybrid": PROMISE,
    "quantile": PROMISE,
}
GAMES = ("game1", "game2")
CASES = ("as they are", "bursts", "one tuple 10 min late", "bursts, one tuple 10 min late")
SENSORS = 16
FUNCTIONS = ("sum", "count", "avg", "min", "max", "median", "quantile")

_HUGE_MS = 600_000
_BURST_EVERY_MS, _BURST_MS, _BURST_LEAST_MS = 60_000, 3_000, 1_000


@dataclass(frozen=True)
class GameCase:
    """A game unchanged, or made worse by bursts or by a tuple that is 10 min late."""

    game: str
    bursts: bool = False
    huge: bool = False
    keyed: bool = False
    seed: int = SEED

    @property
    def name(self) -> str:
        return CASES[self.bursts + 2 * self.huge] + (", by sensor" if self.keyed else "")

    @property
    def declared(self) -> dict[str, Any]:
        """The fields of its query beside the paper's."""
        return {"key": "sensor"} if self.keyed else {}

    def table(self) -> pa.Table:
        """Generate the tuples, in order of arrival.

        In a burst, which lasts 3 s of each minute of event time, every delay is ten times as long and at least 1 s.
        A tuple that is 10 min late comes after a third of the others.
        """
        model = MODELS[self.game].build("")
        base_table = generate(RATE * SECONDS, RATE, SENSORS, model, self.seed)
        table = base_table
        if self.bursts:
            table = disorder(base_table.sort_by("id"), "event_time", _Bursts(model), self.seed)
        if not self.huge:
            return table
        event = epoch_ms(table["event_time"])
        late = table.num_rows // 3
        event[late] = epoch_ms(table["arrival_time"])[late] - _HUGE_MS
        return table.set_column(1, "event_time", pa.array(event, TIME))


def delays() -> list[Row]:
    """Measure the delays of both games over ten seeds: the columns of the paper's Table 1."""
    rows = list[Row]()
    for game, seed in product(GAMES, SEEDS):
        table = GameCase(game, seed=seed).table()
        delay = epoch_ms(table["arrival_time"]) - epoch_ms(table["event_time"])
        row = {"game": game, "seed": seed, "tuples": len(delay), "share late": float(np.mean(delay > 0))}
        rows.append(row | {"mean ms": float(delay.mean()), "largest s": float(delay.max() / 1000)})
    return rows


@dataclass(frozen=True)
class _Bursts:
    """Delay model of evenly spaced tuples: another model's delays, with bursts."""

    model: DelayModel

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        delays, event_ms = self.model.sample(n, rng), np.arange(n) * 1000 // RATE
        is_burst = event_ms % _BURST_EVERY_MS >= _BURST_EVERY_MS - _BURST_MS
        return np.where(is_burst, np.maximum(10 * delays, _BURST_LEAST_MS), delays)


def query(policy: str, settings: dict[str, Any], function: str = "sum", **declared: Any) -> Query:
    """Return the paper's query: a function over windows of 500 ms that slide by 100 ms, over all sensors.

    `declared` has other fields of the query, the stream's `path` and `key`, and the function's `estimate`.
    """
    columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    columns |= {"key": declared.pop("key")} if "key" in declared else {}
    source = {"format": "parquet", "path": str(declared.pop("path", "readings"))}
    aggregate = {"function": function, "column": "value", "estimate": declared.pop("estimate", False)}
    return declared_query(
        {
            "name": "game",
            "kind": "aggregate",
            "streams": {"readings": {"source": source} | columns},
            "window": {"size": "500 ms", "slide": "100 ms"},
            "disorder": {"policy": policy} | settings,
            "aggregate": aggregate | ({"q": 0.9} if function == "quantile" else {}),
        }
        | declared
    )


def run(table: pa.Table, policy: str, settings: dict[str, Any], function: str = "sum", **declared: Any) -> Simulated:
    game_query = query(policy, settings, function, **declared)
    return simulate(game_query, RecordedStream.read(game_query, table))


def fixed(table: pa.Table, k_ms: int, function: str = "sum", **declared: Any) -> Simulated:
    """Run the query with a constant slack K (allowed lateness)."""
    return run(table, "k_slack", {"k": f"{k_ms} ms"}, function, **declared)


def smallest_fixed(table: pa.Table, function: str = "sum", **declared: Any) -> Simulated:
    """Run the query with the smallest constant K, in whole ms, that keeps (ERROR, RISK): by bisection, in hindsight."""
    low, high = -1, 1
    while fixed(table, high, function, **declared).off(ERROR) > RISK:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = fixed(table, middle, function, **declared).off(ERROR) <= RISK
        low, high = (low, middle) if is_enough else (middle, high)
    return fixed(table, high, function, **declared)


def games(echo: Echo) -> dict[str, dict[str, Simulated]]:
    """Run each game under each policy."""
    runs: dict[str, dict[str, Simulated]] = {}
    for game in GAMES:
        table = GameCase(game).table()
        runs[game] = {}
        for policy, settings in POLICIES.items():
            runs[game][policy] = result = run(table, policy, settings)
            echo(f"{game} {policy:<12} mean K {result.mean_k_ms:,.0f} ms, {result.off(ERROR):.2%} of windows off")
    return runs


def kept(echo: Echo, function: str = "sum") -> list[Row]:
    """Compare `quantile` with the smallest constant K that keeps the promise, on every case of both games."""
    rows, flags = [], (False, True)
    cases = [GameCase(game, *changes) for game in GAMES for changes in product(flags, flags)]
    for case in cases + [GameCase(game, bursts, keyed=True) for game in GAMES for bursts in flags]:
        comparison = _compare_with_fixed(case.table(), function, **case.declared)
        rows.append({"game": case.game, "case": case.name} | comparison)
        echo("  ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in rows[-1].values()))
    return rows


def by_function(echo: Echo) -> list[Row]:
    """Compare `quantile` with the smallest constant K on game 2, for each function."""
    table, rows = GameCase("game2").table(), []
    for function in FUNCTIONS:
        rows.append({"function": function} | _compare_with_fixed(table, function))
        echo(f"quantile, {function}: {rows[-1]['off']:.2%} of windows off, mean K {rows[-1]['mean K ms']:,.0f} ms")
    return rows


def _compare_with_fixed(table: pa.Table, function: str, **declared: Any) -> Row:
    quantile_run = run(table, "quantile", PROMISE, function, **declared)
    fixed_run = smallest_fixed(table, function, **declared)
    k_ms = fixed_run.mean_k_ms
    return {
        "windows": len(quantile_run.windows),
        "off": quantile_run.off(ERROR),
        "mean K ms": quantile_run.mean_k_ms,
        "smallest K ms": k_ms,
        "off with it": fixed_run.off(ERROR),
        "ratio": quantile_run.mean_k_ms / k_ms if k_ms else None,
    }
