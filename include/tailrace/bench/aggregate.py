"""`tailrace bench aggregate`: ours beside Spark's own windows and a pass-through that keeps no state.

Protocol: contestants interleaved round by round in one Spark session, the first round dropped, the median of the
ratios round by round. The JVM's start is not counted. Every answer of Spark's windows is looked up among ours in the
round that is dropped.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from deltalake import DeltaTable
from rich.table import Table

from tailrace.bench.contestants import CONTESTANTS
from tailrace.bench.meter import Meter
from tailrace.bench.workloads import Workload, make_files
from tailrace.spark.session import session

WINDOWS = {"500/100 ms": (500, 100), "60/5 s": (60_000, 5_000)}
DENSITIES = {"dense": 100, "sparse": 100_000}
SPARSE_PART = 8
"""The sparse workloads have an eighth of the rows: there are more answers in them than rows."""

CASES = [f"{density} {windows}" for density in DENSITIES for windows in WINDOWS]
PARALLELISM = 2

Row = dict[str, Any]


def bench(rows: int, files: int, rounds: int, cases: list[str], tell: Callable[[str], None]) -> list[Row]:
    """Measure; every pass is told as it ends.

    Parameters
    ----------
    rows, files : int
        Of the dense workloads; a file is a batch.
    rounds : int
        Those that count, beside the one that is dropped.
    cases : list of str
        Of `dense 500/100 ms`, `dense 60/5 s`, `sparse 500/100 ms`, `sparse 60/5 s`, by a part of the name.
    """
    found: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", PARALLELISM) as spark:
        for density, keys in DENSITIES.items():
            wanted = {w: lengths for w, lengths in WINDOWS.items() if any(c in f"{density} {w}" for c in cases)}
            if not wanted:
                continue
            part = SPARSE_PART if density == "sparse" else 1
            mine, cut = rows // part, max(files // part, 2)
            paths, bound = make_files(Path(name) / density, keys, mine, cut)
            for windows, (size, slide) in wanted.items():
                workload = Workload(f"{density} {windows}", keys, size, slide, mine, paths, bound)
                tell(f"{workload.name}: {mine:,} rows, {keys:,} keys, {cut} batches, slack {bound} ms")
                for number in range(rounds + 1):
                    for contestant in CONTESTANTS:
                        found.append(_pass(spark, workload, contestant, number, Path(name) / "out", tell))
                    if number == 0:
                        tell(f"  {_compare(Path(name) / 'out'):,} of Spark's answers were looked up among ours")
                    shutil.rmtree(Path(name) / "out")
    return found


def _pass(spark: Any, workload: Workload, contestant: str, number: int, out: Path, tell: Callable[[str], None]) -> Row:
    directory = out / contestant
    with Meter() as meter:
        times = CONTESTANTS[contestant](spark, workload, directory, PARALLELISM)
    batches = np.diff([0.0, *times])[: len(workload.files)]
    warm = workload.rows * (1 - 1 / len(workload.files)) / batches[1:].sum()
    row = {"case": workload.name, "contestant": contestant, "round": number, "rows": workload.rows} | asdict(meter.cost)
    row |= {"whole_rows_s": workload.rows / meter.cost.seconds, "warm_rows_s": float(warm)}
    row |= {"cpu_us_a_row": 1e6 * meter.cost.cpu_s / workload.rows, "batch_s": [round(float(t), 3) for t in batches]}
    tell(
        f"  round {number}{' (dropped)' if not number else ''} {contestant:<12} {row['whole_rows_s']:>10,.0f} rows/s"
        f"  warm {row['warm_rows_s']:>10,.0f}  CPU {row['cpu_us_a_row']:.2f} µs a row"
        f"  batches {min(batches):.2f}…{max(batches):.2f} s"
    )
    return row


def _compare(out: Path) -> int:
    """Hold Spark's answers against ours; how many there were.

    Raises
    ------
    RuntimeError
        When one of them is not ours.
    """
    theirs = DeltaTable(out / "native" / "results").to_pandas().rename(columns={"sensor": "key"})
    ours = DeltaTable(out / "tailrace" / "bench" / "results").to_pandas()
    both = theirs.merge(ours, on=["key", "window_start", "window_end"], how="left", suffixes=("", "_ours"))
    same = (both["tuples"] == both["tuples_ours"]) & np.isclose(both["value"], both["value_ours"], rtol=1e-9, atol=1e-9)
    if not same.all():
        raise RuntimeError(f"{(~same).sum()} of {len(both)} answers of Spark's windows are not ours")
    return len(both)


def summary(found: list[Row]) -> list[Row]:
    """Medians over the rounds that count, and the medians of the ratios to Spark's windows round by round."""
    rows: list[Row] = []
    measures = ("whole_rows_s", "warm_rows_s", "cpu_us_a_row", "driver_mib", "jvm_mib", "workers_mib")
    for case in dict.fromkeys(row["case"] for row in found):
        mine = [row for row in found if row["case"] == case and row["round"]]
        base = {row["round"]: row for row in mine if row["contestant"] == "native"}
        for contestant in CONTESTANTS:
            passes = [row for row in mine if row["contestant"] == contestant]
            medians = {name: statistics.median(row[name] for row in passes) for name in measures}
            ratios = {
                f"{name}_to_native": statistics.median(
                    row[f"{name}_rows_s"] / base[row["round"]][f"{name}_rows_s"] for row in passes
                )
                for name in ("whole", "warm")
            }
            rows.append({"case": case, "contestant": contestant, "rounds": len(passes)} | medians | ratios)
    return rows


def table(rows: list[Row]) -> Table:
    """The summary for the terminal."""
    shown = Table(
        "case",
        "contestant",
        "rows/s",
        "warm rows/s",
        "× native",
        "warm × native",
        "CPU µs/row",
        "MiB driver+JVM+workers",
    )
    for row in rows:
        memory = "+".join(f"{row[name]:.0f}" for name in ("driver_mib", "jvm_mib", "workers_mib"))
        shown.add_row(
            row["case"],
            row["contestant"],
            *(f"{row[name]:,.0f}" for name in ("whole_rows_s", "warm_rows_s")),
            *(f"{row[name]:.2f}" for name in ("whole_to_native", "warm_to_native", "cpu_us_a_row")),
            memory,
        )
    return shown


def as_json(found: list[Row]) -> str:
    """All passes and the summary."""
    return json.dumps({"passes": found, "summary": summary(found)}, indent=1)
