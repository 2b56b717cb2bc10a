"""The paper's experiments (002, section 2): game 1 and game 2 under every policy, in one run on the same tuples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.bench.progress import Row, Tell
from tailrace.bench.simulate import Simulated, Stream, simulate
from tailrace.generators.delays import MODELS, DelayModel, epoch_ms
from tailrace.generators.replay import TIME, disorder, generate
from tailrace.query.query import Query

RATE, SECONDS, SEED = 1000, 540, 1
"""Tuples a second and seconds: 540,000 tuples, as game 1 has 544,223."""

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
class Case:
    """A game as it is, or made worse."""

    game: str
    bursts: bool = False
    huge: bool = False
    keyed: bool = False

    @property
    def name(self) -> str:
        return CASES[self.bursts + 2 * self.huge] + (", by sensor" if self.keyed else "")

    @property
    def declared(self) -> dict[str, Any]:
        """What its query has beside the paper's."""
        return {"key": "sensor"} if self.keyed else {}

    def table(self) -> pa.Table:
        """The tuples, in order of arrival.

        In a burst, which lasts 3 s of each minute of event time, every delay is ten times as long and at least 1 s.
        A tuple that is 10 min late comes after a third of the others.
        """
        model = MODELS[self.game].build("")
        plain = generate(RATE * SECONDS, RATE, SENSORS, model, SEED)
        table = disorder(plain.sort_by("id"), "event_time", _Bursts(model), SEED) if self.bursts else plain
        if not self.huge:
            return table
        event = epoch_ms(table["event_time"])
        late = table.num_rows // 3
        event[late] = epoch_ms(table["arrival_time"])[late] - _HUGE_MS
        return table.set_column(1, "event_time", pa.array(event, TIME))


@dataclass(frozen=True)
class _Bursts:
    """A model's delays of evenly spaced tuples, with bursts."""

    model: DelayModel

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        delays, at = self.model.sample(n, rng), np.arange(n) * 1000 // RATE
        burst = at % _BURST_EVERY_MS >= _BURST_EVERY_MS - _BURST_MS
        return np.where(burst, np.maximum(10 * delays, _BURST_LEAST_MS), delays)


def query(policy: str, settings: dict[str, Any], function: str = "sum", **declared: Any) -> Query:
    """The paper's query: a function over windows of 500 ms that slide by 100 ms, of all sensors together.

    `declared` are other fields of the query, and of its stream `path` and `key`.
    """
    columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    columns |= {"key": declared.pop("key")} if "key" in declared else {}
    source = {"format": "parquet", "path": str(declared.pop("path", "readings"))}
    return Query.model_validate(
        {
            "name": "game",
            "kind": "aggregate",
            "streams": {"readings": {"source": source} | columns},
            "window": {"size": "500 ms", "slide": "100 ms"},
            "disorder": {"policy": policy} | settings,
            "aggregate": {"function": function, "column": "value"} | ({"q": 0.9} if function == "quantile" else {}),
        }
        | declared
    )


def run(table: pa.Table, policy: str, settings: dict[str, Any], function: str = "sum", **declared: Any) -> Simulated:
    asked = query(policy, settings, function, **declared)
    return simulate(asked, Stream.of(asked, table))


def fixed(table: pa.Table, k_ms: int, function: str = "sum", **declared: Any) -> Simulated:
    """With a constant K."""
    return run(table, "k_slack", {"k": f"{k_ms} ms"}, function, **declared)


def smallest_fixed(table: pa.Table, function: str = "sum", **declared: Any) -> Simulated:
    """With the smallest constant K, in whole ms, that keeps (ERROR, RISK): by bisection, in hindsight."""
    low, high = -1, 1
    while fixed(table, high, function, **declared).off(ERROR) > RISK:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = fixed(table, middle, function, **declared).off(ERROR) <= RISK
        low, high = (low, middle) if enough else (middle, high)
    return fixed(table, high, function, **declared)


def games(tell: Tell) -> dict[str, dict[str, Simulated]]:
    """Each game under each policy."""
    found: dict[str, dict[str, Simulated]] = {}
    for game in GAMES:
        table = Case(game).table()
        found[game] = {}
        for policy, settings in POLICIES.items():
            found[game][policy] = result = run(table, policy, settings)
            tell(f"{game} {policy:<12} mean K {result.mean_k_ms:,.0f} ms, {result.off(ERROR):.2%} of windows off")
    return found


def kept(tell: Tell, function: str = "sum") -> list[Row]:
    """`quantile` beside the smallest constant K that keeps the promise, on every case of both games."""
    rows, both = [], (False, True)
    cases = [Case(game, *worse) for game in GAMES for worse in product(both, both)]
    for case in cases + [Case(game, bursts, keyed=True) for game in GAMES for bursts in both]:
        beside = _beside_fixed(case.table(), function, **case.declared)
        rows.append({"game": case.game, "case": case.name} | beside)
        tell("  ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in rows[-1].values()))
    return rows


def by_function(tell: Tell) -> list[Row]:
    """`quantile` on game 2, for each function."""
    table, rows = Case("game2").table(), []
    for function in FUNCTIONS:
        rows.append({"function": function} | _beside_fixed(table, function))
        tell(f"quantile, {function}: {rows[-1]['off']:.2%} of windows off, mean K {rows[-1]['mean K ms']:,.0f} ms")
    return rows


def _beside_fixed(table: pa.Table, function: str, **declared: Any) -> Row:
    ours = run(table, "quantile", PROMISE, function, **declared)
    least = smallest_fixed(table, function, **declared)
    k_ms = least.mean_k_ms
    return {
        "windows": len(ours.windows),
        "off": ours.off(ERROR),
        "mean K ms": ours.mean_k_ms,
        "smallest K ms": k_ms,
        "off with it": least.off(ERROR),
        "ratio": ours.mean_k_ms / k_ms if k_ms else None,
    }
