"""A live stream at a steady rate: what its processes hold, how far it is behind, and whether either grows.

    python tools/chaos/steady.py --seconds 3600 --rate 1000 --kind aggregate
    python tools/chaos/steady.py --seconds 600 --rate 200 --burst 10 --batch-rows 2000
    python tools/chaos/steady.py --seconds 600 --rate 200 --hot 0.9
    python tools/chaos/steady.py --seconds 60 --rate 20000 --every 0.1 --engine local

It prints how soon answers come: from the plan of a batch, and from the writing of a file, to the commit of `results`.
Exit code 1 if the driver was restarted, if rows are missing in the end, or if it was ever more than a minute behind.
With a burst, which takes the second quarter of the time, it must be less than a minute behind in the end; and with a
burst or a hot key the stream is corrected in the end, and an oracle judges its answers.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from deltalake import DeltaTable
from faults import correct
from judgement import judge
from latencies import Latencies, described
from live_driver import END_S, LiveDriver, finish, is_daemon
from steady_feeder import SteadyFeeder
from workloads import WORKLOADS, drawn_streams

from tailrace.cli.leaving import leave
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.ground.words import counted
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.terminal.plots import Figure, label
from tailrace.terminal.stream_progress import ProgressTable

_SAMPLE_S, _TELL_EVERY = 10.0, 6
_SETTLED = 1 / 3
"""The first share of the time, which no slope counts: Java and Python grow to their size in it."""

_BURST, _SETTLED_AGAIN = (0.25, 0.5), 0.75
"""The part of the time in which a burst comes, and the share of it after which all is settled again."""

_MOST_BEHIND_S = 60.0
_MB = 1e6
_PROCESSES = ("driver", "java", "workers")
_WIDTHS = {"at s": 6, **{f"{name} MB": 7 for name in _PROCESSES}, "behind s": 8, "batches": 8}
_TERMINAL = 80


class Sample(NamedTuple):
    """What was seen at one time: memory of processes and state on disk in MB, and how far the answers are behind."""

    at_s: float
    driver_mb: float
    java_mb: float
    workers_mb: float
    state_mb: float
    behind_s: float


def main(arguments: list[str]) -> int:
    """Run the stream, print what is seen every minute, and return the exit code."""
    parser = argparse.ArgumentParser("python tools/chaos/steady.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600, help="how long the stream lives")
    parser.add_argument("--rate", type=int, default=1000, help="rows a second of each stream")
    parser.add_argument("--kind", choices=sorted(WORKLOADS), default="aggregate", help="the kind of query")
    parser.add_argument("--every", type=float, default=1.0, help="seconds from one file of a stream to the next")
    parser.add_argument("--engine", choices=["spark", "local"], default="spark", help="the driver's engine")
    parser.add_argument("--burst", type=int, default=1, help="a multiple of the rate, in the second quarter")
    parser.add_argument("--hot", type=float, default=0.0, help="the share of the rows that have one key")
    parser.add_argument("--batch-rows", type=int, default=1_000_000, help="at most so many rows make a batch")
    parser.add_argument("--plot", type=Path, help="a file to draw memory and lag over time into")
    options = parser.parse_args(arguments)
    shape = f"BURST={options.burst} HOT={options.hot:g} BATCH_ROWS={options.batch_rows}"
    shape += f" EVERY={options.every:g} ENGINE={options.engine}"
    print(f"steady: SECONDS={options.seconds:g} RATE={options.rate} KIND={options.kind} {shape}", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="steady-"))
    workload = WORKLOADS[options.kind]
    streams = drawn_streams(workload, 1, max(1000 // options.rate, 1))
    file, warehouse = directory / "query.yaml", directory / "warehouse"
    file.write_text(json.dumps(workload.query(directory / "in")))
    for stream in streams.values():
        stream.hot = options.hot
    is_judged = options.burst > 1 or options.hot > 0
    feeder = SteadyFeeder(workload, streams, directory / "in", options.rate, is_judged, options.every)
    samples: list[Sample] = []
    with EmbeddedHost(directory / "host") as host:
        driver = LiveDriver(host.host, file, warehouse, engine=options.engine)
        latencies = Latencies(driver.home)
        driver.deploy(options.batch_rows)
        feeder.start()
        try:
            driver.await_commits(2)
            pid = driver.pid
            began_s = time.time()
            _watch(driver, feeder, latencies, options.seconds, options.burst, samples)
        finally:
            feeder.stop()
        wrong = [] if driver.pid == pid else ["the driver was started again"]
        driver.drain()
        latencies.look()
    wrong += _judge(driver, feeder, samples[-1:] if options.burst > 1 else samples, options.batch_rows)
    wrong += _judge_answers(driver, feeder, options.kind) if is_judged else []
    settled = _SETTLED_AGAIN if options.burst > 1 else _SETTLED
    _report(samples, options.plot, settled)
    settled_s = began_s + options.seconds * settled
    print(described("plan to answer", latencies.of_plans(settled_s)))
    print(described("file to answer", latencies.of_files(feeder.written_s, settled_s)))
    for text in wrong:
        print(text)
    if not wrong:
        shutil.rmtree(directory)
    return 1 if wrong else 0


def _watch(
    driver: LiveDriver,
    feeder: SteadyFeeder,
    latencies: Latencies,
    seconds: float,
    burst: int,
    samples: list[Sample],
) -> None:
    """Look at the processes and the status until the time is over, and add what is seen."""
    began_s, table = time.monotonic(), ProgressTable(_WIDTHS, _TERMINAL)
    while (at_s := time.monotonic() - began_s) < seconds:
        feeder.crowd = burst if _BURST[0] <= at_s / seconds < _BURST[1] else 1
        samples.append(_sample(at_s, driver, feeder))
        latencies.look()
        if len(samples) % _TELL_EVERY == 1:
            seen = samples[-1]
            texts = {
                "at s": f"{seen.at_s:.0f}",
                **{f"{name} MB": f"{getattr(seen, f'{name}_mb'):,.0f}" for name in _PROCESSES},
                "behind s": f"{seen.behind_s:.1f}",
                "batches": f"{driver.commits:,}",
            }
            print(*table.lines(texts), sep="\n", flush=True)
        time.sleep(_SAMPLE_S)


def _sample(at_s: float, driver: LiveDriver, feeder: SteadyFeeder) -> Sample:
    held = {"driver": 0.0, "java": 0.0, "workers": 0.0}
    for process in driver.processes():
        with suppress(psutil.NoSuchProcess):
            kind = "java" if process.name() == "java" else "workers" if is_daemon(process) else "driver"
            held[kind] += process.memory_full_info().pss / _MB  # forked workers share pages
    status = Status.read(Layout(driver.home))
    behind_s = feeder.behind_s(None if status is None else status.committed)
    return Sample(at_s, *held.values(), _state_mb(driver.home), max(behind_s, 0.0))


def _state_mb(home: Path) -> float:
    """Return the size of the tasks' states in MB: of the files of the two newest batches, and of chunks."""
    size, layout = 0, Layout(home)
    for directory in (layout.states, layout.chunks):
        for file in directory.rglob("*"):
            with suppress(FileNotFoundError):  # a later batch removes it meanwhile
                size += file.stat().st_size
    return size / _MB


def _judge(driver: LiveDriver, feeder: SteadyFeeder, samples: list[Sample], batch_rows: int) -> list[str]:
    """What is wrong in the end: rows that were not read, a batch of too many, and a lag that was too long."""
    finish(driver)
    read = sum(DeltaTable(driver.home / "segments").to_pyarrow_table(columns=["rows"])["rows"].to_pylist())
    metrics = DeltaTable(driver.home / "metrics").to_pyarrow_table(columns=["batch", "rows"])
    largest = max(metrics.group_by("batch").aggregate([("rows", "sum")])["rows_sum"].to_pylist())
    longest_s = max(sample.behind_s for sample in samples)
    batches = counted(driver.commits, "batch", "batches")
    print(f"{feeder.written:,} rows written, {read:,} read, in {batches} of {largest:,} rows at most")
    return [
        *([f"{feeder.written - read:,} rows were not read"] if read != feeder.written else []),
        *([f"a batch had {largest:,} rows"] if largest > batch_rows else []),
        *([f"it was {longest_s:.0f} s behind"] if longest_s > _MOST_BEHIND_S else []),
    ]


def _judge_answers(driver: LiveDriver, feeder: SteadyFeeder, kind: str) -> list[str]:
    """Correct all of the stream, and hold its tables against the oracle; returns what is wrong."""
    problem = correct(driver, END_S)
    tally = judge(kind, driver.file, driver.warehouse, feeder.streams)
    print(f"{tally.compared:,} rows compared: {tally.lost} lost, {tally.doubled} doubled, {tally.wrong} wrong")
    return [*([] if problem is None else [problem]), *tally.examples]


def _report(samples: list[Sample], plot: Path | None, settled: float) -> None:
    """Print how fast memory and state grew after this share of the time, and draw them."""
    at_h = np.array([sample.at_s for sample in samples]) / 3600
    lines = {name: np.array([getattr(sample, f"{name}_mb") for sample in samples]) for name in (*_PROCESSES, "state")}
    for name, values in lines.items():
        slope, most = _slope(at_h, values, settled), values.max()
        print(f"{name}: {values[-1]:,.1f} MB, {most:,.1f} at most, {slope:+,.2f} MB an hour")
    behind = np.array([sample.behind_s for sample in samples])
    print(f"behind: {np.median(behind):.1f} s in the median, {behind.max():.1f} s at most")
    if plot is None:
        return
    with Figure(plot, 3) as (memory, states, lag):
        for name in _PROCESSES:
            memory.plot(at_h * 60, lines[name], label=name)
        memory.set_ylim(bottom=0)
        label(memory, "memory (PSS)", "minutes", "MB")
        states.plot(at_h * 60, lines["state"])
        states.set_ylim(bottom=0)
        label(states, "state on disk", "minutes", "MB")
        lag.plot(at_h * 60, behind)
        lag.set_ylim(bottom=0)
        label(lag, "behind the source", "minutes", "s")
    print(plot)


def _slope(at_h: np.ndarray, values: np.ndarray, settled: float = _SETTLED) -> float:
    """The slope, an hour, of the line through what came after this share of the time."""
    late = at_h >= at_h[-1] * settled
    return float(np.polyfit(at_h[late], values[late], 1)[0])


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
