"""The benchmark `tools/dev.py bench`: ours on both engines, Spark's own windows, a pass-through, Flink's windows.

Protocol: contestants are interleaved round by round, each in its own process and JVM: ours as its users have it,
Spark's own and Flink with their defaults. The first round is dropped; the result is the median of the ratios round by
round. The JVMs' starts are not counted. In the dropped round each answer of Spark, of Flink and of our local engine is
looked up among ours on Spark. Warm means after a contestant's start: for ours and Spark's own after the first batch;
for Flink the time of its job, without planning and the start of its cluster.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from deltalake import DeltaTable

from bench.contestants import SPARKS_OWN, Pass, PassTimes, run_in, tailrace, tailrace_local
from bench.flink import Flink, answers
from bench.flink_environment import FlinkEnvironment
from bench.meter import Cost, Meter
from bench.progress import Echo, Row
from bench.spark_peer import SparkPeer
from bench.workloads import Case, Workload, make_files
from tailrace.answers.identity import WINDOW
from tailrace.spark.session import session

PARALLELISM = 2

LOCAL = "local"
"""Our local engine."""

BASES = ("native", "flink")
"""Contestants relative to which ratios are computed, if they take part."""


class Contestant(NamedTuple):
    """Function that runs a pass, and factory of its meter, which excludes the processes of other contestants."""

    run: Pass
    meter: Callable[[], Meter]


def bench(
    rows: int, files: int, rounds: int, cases: list[Case], echo: Echo, flink_home: Path | None = None
) -> list[Row]:
    """Run all passes, and return a row for each; each is reported as it ends.

    Parameters
    ----------
    rows, files : int
        Rows and files of the dense cases; a file is a batch, for ours an upper bound of one.
    rounds : int
        Rounds that count, beside the dropped one.
    cases : list of Case
        Cases; consecutive ones that differ only in the windows or in the question are measured on the same files.
    flink_home : Path, optional
        Directory of Flink's environment, installed if missing; without it Flink takes no part.
    """
    results: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name,
        _flink(flink_home, Path(name) / "flink", echo) as flink,
        _sparks_own(Path(name) / "spark", echo) as sparks_own,
        session("tailrace bench", PARALLELISM) as spark,
    ):
        contestants = _contestants(sparks_own, flink)
        for (sensors, rate, part), group in groupby(cases, lambda case: (case.sensors, case.rate, case.part)):
            group_cases: list[Case] = list(group)
            row_count, file_count = rows // part, max(files // part, 2)
            paths, bound = make_files(Path(name) / f"{sensors}-{rate}-{part}", group_cases[0], row_count, file_count)
            if flink is not None:
                flink.lay_out(paths, PARALLELISM)
            for case in group_cases:
                workload = Workload(case, row_count, paths, bound)
                echo(f"{case.name}: {row_count:,} rows, {sensors:,} sensors, {file_count} batches, slack {bound} ms")
                for number in range(rounds + 1):
                    out = Path(name) / f"{cases.index(case)}-{number}"  # a new one: Spark may still write to an old one
                    for contestant, (run, meter) in contestants.items():
                        with meter() as pass_meter:
                            pace = run(spark, workload, out / contestant, PARALLELISM)
                        results.append(_row(workload, contestant, number, pace, pass_meter.cost, echo))
                    if number == 0:
                        _compare(out, echo)
                    shutil.rmtree(out, ignore_errors=True)
    return results


@contextmanager
def _flink(home: Path | None, directory: Path, echo: Echo) -> Iterator[Flink | None]:
    if home is None:
        yield None
        return
    environment = FlinkEnvironment(home)
    environment.make(echo)
    with Flink(environment, directory) as flink:
        yield flink


@contextmanager
def _sparks_own(directory: Path, echo: Echo) -> Iterator[dict[str, SparkPeer]]:
    """Start a process for each of Spark's own contestants, and report the options of its JVM."""
    with ExitStack() as running:
        peers = {name: running.enter_context(SparkPeer(name, directory, PARALLELISM)) for name in SPARKS_OWN}
        for name, peer in peers.items():
            echo(f"{name}: a JVM of its own, {' '.join(peer.jvm_options)}")
        yield peers


def _contestants(sparks_own: Mapping[str, SparkPeer], flink: Flink | None) -> dict[str, Contestant]:
    others = [peer.pid for peer in (*sparks_own.values(), flink) if peer is not None]
    contestants = {
        name: Contestant(partial(run_in, peer, name), partial(Meter, of=peer.pid)) for name, peer in sparks_own.items()
    }
    for name, run in (("tailrace", tailrace), (LOCAL, tailrace_local)):
        contestants[name] = Contestant(run, partial(Meter, without=others))
    return contestants | ({} if flink is None else {"flink": Contestant(flink.run, partial(Meter, of=flink.pid))})


def _row(workload: Workload, contestant: str, number: int, pace: PassTimes, cost: Cost, echo: Echo) -> Row:
    row = {"case": workload.case.name, "contestant": contestant, "round": number, "rows": workload.rows} | asdict(cost)
    row |= {"whole_rows_s": workload.rows / cost.seconds, "warm_rows_s": pace.warm_rows / pace.warm_s}
    row |= {
        "cpu_us_a_row": 1e6 * cost.cpu_s / workload.rows,
        "batch_s": [round(seconds, 3) for seconds in pace.batch_s],
    }
    echo(
        f"  {f'round {number}' if number else 'dropped'} {contestant:<12} {row['whole_rows_s']:>10,.0f} rows/s"
        f"  warm {row['warm_rows_s']:>10,.0f}  CPU {row['cpu_us_a_row']:.2f} µs/row"
    )
    return row


def _compare(out: Path, echo: Echo) -> None:
    """Check that each answer of the others is among ours on Spark.

    Raises
    ------
    RuntimeError
        When one of them is not among ours, or there are none.
    """
    ours, native = (_read(out / folder / "results") for folder in ("tailrace/bench", "native"))
    local = _read(out / LOCAL / "bench" / "results").reindex(columns=native.columns)
    theirs = {"Spark": native, "The local engine": local}
    if (out / "flink").exists():
        theirs["Flink"] = answers(out / "flink").to_pandas()
    for name, frame in theirs.items():
        if frame.empty:
            raise RuntimeError(f"{name}'s windows answered nothing: --rows are too few for one of them to close")
        count = unlike(frame, ours)
        if count:
            raise RuntimeError(f"{count} of {len(frame)} answers of {name}'s windows are not ours")
        echo(f"  {len(frame):,} answers of {name}'s were looked up among our {len(ours):,}")


def _read(path: Path) -> pd.DataFrame:
    """Read a Delta table; an empty frame where no window was closed."""
    return DeltaTable(path).to_pandas() if DeltaTable.is_deltatable(str(path)) else pd.DataFrame()


def unlike(theirs: pd.DataFrame, ours: pd.DataFrame) -> int:
    """Count their answers that are not among ours, or have a different value."""
    keys = [*WINDOW.columns, *({"rank"} & set(theirs))]
    merged = theirs.merge(ours, on=keys, how="left", suffixes=("", "_ours"))
    is_same = np.ones(len(merged), bool)
    for name in theirs.columns.difference(keys):
        is_same &= np.isclose(merged[name], merged[f"{name}_ours"], rtol=1e-9, atol=1e-9)
    return int((~is_same).sum())


def summary(results: list[Row]) -> list[Row]:
    """Return medians over the rounds that count, and medians of the ratios to each of `BASES`, round by round."""
    rows: list[Row] = []
    measures = ("whole_rows_s", "warm_rows_s", "cpu_us_a_row", "driver_mib", "jvm_mib", "workers_mib")
    for case in dict.fromkeys(row["case"] for row in results):
        case_rows = [row for row in results if row["case"] == case and row["round"]]
        rounds = {(row["contestant"], row["round"]): row for row in case_rows}
        for contestant in dict.fromkeys(row["contestant"] for row in case_rows):
            passes = [row for row in case_rows if row["contestant"] == contestant]
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


def tables(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the summary's rows by case, under heads for people, one unit a column."""
    bases = [base for base in BASES if any(f"whole_to_{base}" in row for row in rows)]
    heads = {"contestant": "contestant", "whole_rows_s": "rows/s", "warm_rows_s": "warm rows/s"}
    heads |= {f"{name}_to_{base}": f"{name} × {base}" for base in bases for name in ("whole", "warm")}
    heads |= {"cpu_us_a_row": "CPU µs/row", "driver_mib": "driver MiB", "jvm_mib": "JVM MiB"}
    heads |= {"workers_mib": "workers MiB"}
    cases = dict.fromkeys(row["case"] for row in rows)
    return {case: [{heads[name]: row[name] for name in heads} for row in rows if row["case"] == case] for case in cases}


def as_json(results: list[Row]) -> str:
    """Format all passes and the summary as JSON."""
    return json.dumps({"passes": results, "summary": summary(results)}, indent=1)
