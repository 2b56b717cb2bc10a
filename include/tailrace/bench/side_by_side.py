"""`tailrace bench`: ours beside Spark's own windows, a pass-through that keeps no state, and Flink's windows.

Protocol: contestants interleaved round by round in one Spark session and one JVM of Flink's, the first round dropped,
the median of the ratios round by round. The JVMs' starts are not counted. In the round that is dropped every answer of
Spark and of Flink is looked up among ours. Warm is what comes after a contestant's start: for those on Spark after the
first batch, for Flink the time for which its job ran, without planning and the start of its cluster.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from deltalake import DeltaTable
from rich.table import Table

from tailrace.bench.contestants import CONTESTANTS, Pace, Pass
from tailrace.bench.flink import Flink, answers
from tailrace.bench.flink_environment import FlinkEnvironment
from tailrace.bench.meter import Cost, Meter
from tailrace.bench.progress import Row, Tell
from tailrace.bench.workloads import Case, Workload, make_files
from tailrace.spark.session import session

PARALLELISM = 2

BASES = ("native", "flink")
"""Ratios are to these, where they take part."""


class Contestant(NamedTuple):
    """How a pass is made, and what measures it: no JVM counts for another's contestant."""

    run: Pass
    meter: Callable[[], Meter]


def bench(
    rows: int, files: int, rounds: int, cases: list[Case], tell: Tell, flink_home: Path | None = None
) -> list[Row]:
    """Measure; every pass is told as it ends.

    Parameters
    ----------
    rows, files : int
        Of the dense cases; a file is a batch, for ours at most.
    rounds : int
        Those that count, beside the one that is dropped.
    cases : list of Case
        Those that differ in the windows or in the question alone are measured on the same files.
    flink_home : Path, optional
        Where Flink's environment is, or is made; without it Flink takes no part.
    """
    found: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name,
        _flink(flink_home, Path(name) / "flink", tell) as flink,
        session("tailrace bench", PARALLELISM) as spark,
    ):
        contestants = _contestants(flink)
        for (sensors, rate, part), alike in groupby(cases, lambda case: (case.sensors, case.rate, case.part)):
            mine: list[Case] = list(alike)
            many, cut = rows // part, max(files // part, 2)
            paths, bound = make_files(Path(name) / f"{sensors}-{rate}-{part}", mine[0], many, cut)
            if flink is not None:
                flink.lay_out(paths, PARALLELISM)
            for case in mine:
                workload = Workload(case, many, paths, bound)
                tell(f"{case.name}: {many:,} rows, {sensors:,} sensors, {cut} batches, slack {bound} ms")
                for number in range(rounds + 1):
                    out = Path(name) / f"{cases.index(case)}-{number}"  # anew: Spark may write on where one was
                    for contestant, (run, meter) in contestants.items():
                        with meter() as measured:
                            pace = run(spark, workload, out / contestant, PARALLELISM)
                        found.append(_row(workload, contestant, number, pace, measured.cost, tell))
                    if number == 0:
                        _compare(out, tell)
                    shutil.rmtree(out, ignore_errors=True)
    return found


@contextmanager
def _flink(home: Path | None, directory: Path, tell: Tell) -> Iterator[Flink | None]:
    if home is None:
        yield None
        return
    environment = FlinkEnvironment(home)
    environment.make(tell)
    with Flink(environment, directory) as flink:
        yield flink


def _contestants(flink: Flink | None) -> dict[str, Contestant]:
    if flink is None:
        return {name: Contestant(run, Meter) for name, run in CONTESTANTS.items()}
    beside = {name: Contestant(run, partial(Meter, without=flink.pid)) for name, run in CONTESTANTS.items()}
    return beside | {"flink": Contestant(flink.run, partial(Meter, of=flink.pid))}


def _row(workload: Workload, contestant: str, number: int, pace: Pace, cost: Cost, tell: Tell) -> Row:
    row = {"case": workload.case.name, "contestant": contestant, "round": number, "rows": workload.rows} | asdict(cost)
    row |= {"whole_rows_s": workload.rows / cost.seconds, "warm_rows_s": pace.warm_rows / pace.warm_s}
    row |= {"cpu_us_a_row": 1e6 * cost.cpu_s / workload.rows, "batch_s": [round(took, 3) for took in pace.batch_s]}
    batches = f"  batches {min(pace.batch_s):.2f}…{max(pace.batch_s):.2f} s" if pace.batch_s else ""
    tell(
        f"  round {number}{' (dropped)' if not number else ''} {contestant:<12} {row['whole_rows_s']:>10,.0f} rows/s"
        f"  warm {row['warm_rows_s']:>10,.0f}  CPU {row['cpu_us_a_row']:.2f} µs a row{batches}"
    )
    return row


def _compare(out: Path, tell: Tell) -> None:
    """Look the others' answers up among ours.

    Raises
    ------
    RuntimeError
        When one of them is not ours, or there are none.
    """
    ours, native = (_read(out / mine / "results") for mine in ("tailrace/bench", "native"))
    theirs = {"Spark": native} | ({"Flink": answers(out / "flink").to_pandas()} if (out / "flink").exists() else {})
    for whose, found in theirs.items():
        if found.empty:
            raise RuntimeError(f"{whose}'s windows answered nothing: --rows are too few for one of them to close")
        wrong = unlike(found, ours)
        if wrong:
            raise RuntimeError(f"{wrong} of {len(found)} answers of {whose}'s windows are not ours")
        tell(f"  {len(found):,} answers of {whose}'s were looked up among our {len(ours):,}")


def _read(path: Path) -> pd.DataFrame:
    """A table; nothing where no window was closed."""
    return DeltaTable(path).to_pandas() if DeltaTable.is_deltatable(str(path)) else pd.DataFrame()


def unlike(theirs: pd.DataFrame, ours: pd.DataFrame) -> int:
    """How many of their answers are not among ours, or are there with another value."""
    which = ["key", "window_start", "window_end", *({"rank"} & set(theirs))]
    both = theirs.merge(ours, on=which, how="left", suffixes=("", "_ours"))
    same = np.ones(len(both), bool)
    for name in theirs.columns.difference(which):
        same &= np.isclose(both[name], both[f"{name}_ours"], rtol=1e-9, atol=1e-9)
    return int((~same).sum())


def summary(found: list[Row]) -> list[Row]:
    """Medians over the rounds that count, and the medians of the ratios to each of `BASES` round by round."""
    rows: list[Row] = []
    measures = ("whole_rows_s", "warm_rows_s", "cpu_us_a_row", "driver_mib", "jvm_mib", "workers_mib")
    for case in dict.fromkeys(row["case"] for row in found):
        mine = [row for row in found if row["case"] == case and row["round"]]
        rounds = {(row["contestant"], row["round"]): row for row in mine}
        for contestant in dict.fromkeys(row["contestant"] for row in mine):
            passes = [row for row in mine if row["contestant"] == contestant]
            medians = {name: statistics.median(row[name] for row in passes) for name in measures}
            ratios = {
                f"{name}_to_{base}": statistics.median(
                    row[f"{name}_rows_s"] / rounds[base, row["round"]][f"{name}_rows_s"] for row in passes
                )
                for base in BASES
                for name in ("whole", "warm")
                if (base, passes[0]["round"]) in rounds
            }
            rows.append({"case": case, "contestant": contestant, "rounds": len(passes)} | medians | ratios)
    return rows


def table(rows: list[Row]) -> Table:
    """The summary for the terminal."""
    bases = [base for base in BASES if any(f"whole_to_{base}" in row for row in rows)]
    ratios = [(f"{name}_to_{base}", f"{name} × {base}") for base in bases for name in ("whole", "warm")]
    heads = ("rows/s", "warm rows/s", *(head for _, head in ratios), "CPU µs/row", "MiB driver+JVM+workers")
    shown = Table("case", "contestant", *heads)
    for row in rows:
        memory = "+".join(f"{row[name]:.0f}" for name in ("driver_mib", "jvm_mib", "workers_mib"))
        rates = (f"{row[name]:,.0f}" for name in ("whole_rows_s", "warm_rows_s"))
        shares = (f"{row[name]:.2f}" for name in (*(name for name, _ in ratios), "cpu_us_a_row"))
        shown.add_row(row["case"], row["contestant"], *rates, *shares, memory)
    return shown


def as_json(found: list[Row]) -> str:
    """All passes and the summary."""
    return json.dumps({"passes": found, "summary": summary(found)}, indent=1)
