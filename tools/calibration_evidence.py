"""Prints how well calibrations by two time scales determine K, over many seeds, and what they cost.

python tools/calibration_evidence.py [SEEDS] [LAW]…   by default 200 seeds, all laws of rankings, aggregates and
pairs, the jump, the flights, the cost of a calibration, and K by the prices declared, of which it draws a picture
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from bench.progress import Row
from bench.topk import calibration_costs, cost_curve, measured_kinds, two_scales
from bench.topk.flights import prefixes

SEEDS = 200
PICTURE = Path(__file__).resolve().parent.parent / "docs/pictures/calibration-cost.png"


def prices() -> list[Row]:
    """Measure K by the prices declared, and draw it."""
    rows = cost_curve.k_by_prices()
    cost_curve.draw(rows, PICTURE)
    return rows


OTHERS: dict[str, Callable[[], list[Row]]] = {
    "flights": prefixes,
    "cost": lambda: calibration_costs.costs(print),
    "prices": prices,
}
"""What is measured without seeds."""


def rows_of(name: str, seeds: int) -> list[Row]:
    """Measure a law of delays, or what the name says."""
    if name in OTHERS:
        return OTHERS[name]()
    if name == "jump":
        truth = two_scales.Truth.compute(two_scales.JUMP[1])
        return [two_scales.row(name, truth, two_scales.jumps(range(seeds), truth.k_ms))]
    if name in measured_kinds.LAWS:
        law = measured_kinds.LAWS[name]
        measured = measured_kinds.MeasuredTruth.compute(law)
        return [two_scales.row(name, measured, measured_kinds.estimates(law, range(seeds), measured.k_ms))]
    truth = two_scales.Truth.compute(two_scales.LAWS[name])
    return [two_scales.row(name, truth, two_scales.estimates(two_scales.LAWS[name], range(seeds), truth.k_ms))]


if __name__ == "__main__":
    seeds, *names = sys.argv[1:] or [str(SEEDS)]
    for law in names or [*two_scales.LAWS, *measured_kinds.LAWS, "jump", *OTHERS]:
        for row in rows_of(law, int(seeds)):
            texts = (
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
            print("  ".join(texts), flush=True)
