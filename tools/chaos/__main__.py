"""Random faults on a live stream until a time is over; then what it has answered is held against an oracle.

    python tools/chaos --seconds 1200 --seed 1 --kind aggregate

Files keep coming, with rows that are late, repeated or to be rejected; corrections run beside. Each fault strikes after
a number of commits that the seed gives. In the end the stream is drained and ended, and all of it corrected. Exit code
1 if anything is lost, doubled or wrong, if a second driver was not refused, or if a recovery took more than 120 s.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from comparison import Tally
from faults import FAULTS, Fault, correct
from feeder import Feeder
from judgement import judge
from live_driver import END_S, MOST_S, LiveDriver, TooLong, finish
from workloads import GAP_MS, WORKLOADS, drawn_streams

from tailrace.cli.leaving import leave
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.ground.words import counted

_MOST_COMMITS = 3
_BATCH_ROWS = 200
_LINE = "{:>6}  {:>10}  {}"
_CORRECTION_EVERY = 4
"""Of so many faults, one is followed by a correction that nobody kills."""


def main(arguments: list[str]) -> int:
    """Run the faults, print each and the tally, and return the exit code."""
    parser = argparse.ArgumentParser("python tools/chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=150, help="how long faults strike")
    parser.add_argument("--seed", type=int, default=1, help="decides the rows, the faults and their places")
    parser.add_argument("--kind", choices=sorted(WORKLOADS), default="aggregate", help="the kind of query")
    options = parser.parse_args(arguments)
    print(f"chaos: SECONDS={options.seconds:g} SEED={options.seed} KIND={options.kind}", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="chaos-"))
    faults: list[Fault] = []
    tally = Tally()
    try:
        _live(options.kind, options.seconds, options.seed, directory, faults, tally)
    except TooLong as error:
        tally.blame(f"it did not recover: {error}")
    for example in tally.examples:
        print(example)
    longest = max((fault.recovery_s for fault in faults if fault.recovery_s is not None), default=0.0)
    kills = sum(fault.kills for fault in faults)
    print(
        f"{counted(kills, 'kill')}, {tally.lost:,} lost, {tally.doubled:,} doubled, {tally.wrong:,} wrong; "
        f"longest recovery {longest:.1f} s"
    )
    if not tally.is_clean or longest > MOST_S:
        print(f"what it has left: {directory}; SECONDS={options.seconds:g} SEED={options.seed} KIND={options.kind}")
        return 1
    shutil.rmtree(directory)
    return 0


def _live(kind: str, seconds: float, seed: int, directory: Path, faults: list[Fault], tally: Tally) -> None:
    """One stream's life: faults, its end, and the judgement; adds to the faults and to the tally."""
    workload, streams, draw = (
        WORKLOADS[kind],
        drawn_streams(WORKLOADS[kind], seed, GAP_MS),
        random.Random(f"{seed} faults"),
    )
    file, warehouse = directory / "query.yaml", directory / "warehouse"
    file.write_text(json.dumps(workload.query(directory / "in")))
    feeder = Feeder(workload, streams, directory / "in")
    with EmbeddedHost(directory / "host") as host:
        driver = LiveDriver(host.host, file, warehouse)
        driver.deploy(_BATCH_ROWS)
        feeder.start()
        try:
            driver.await_commits(2)
            _strike(driver, draw, seconds, faults, tally)
        finally:
            feeder.stop()
        print("draining", flush=True)
        driver.drain()
    finish(driver)
    problem = correct(driver, END_S)
    if problem is not None:
        tally.blame(problem)
    judged = judge(kind, file, warehouse, streams)
    rows = sum(len(stream.rows) for stream in streams.values())
    batches, compared = counted(driver.commits, "batch", "batches"), counted(judged.compared, "row")
    print(f"{counted(rows, 'row')} read in {batches}, {compared} of tables compared", flush=True)
    tally.lost, tally.doubled = judged.lost, judged.doubled
    tally.wrong += judged.wrong
    tally.examples += judged.examples


def _strike(driver: LiveDriver, draw: random.Random, seconds: float, faults: list[Fault], tally: Tally) -> None:
    """Let faults strike until the time is over."""
    started = time.monotonic()
    print(_LINE.format("at s", "recovery s", "fault"), flush=True)
    kinds: list[Callable[[LiveDriver, random.Random], Fault]] = list(FAULTS)
    while time.monotonic() - started < seconds:
        commits = draw.randint(1, _MOST_COMMITS)
        strike = draw.choices(kinds, list(FAULTS.values()))[0]
        driver.await_commits(driver.commits + commits)
        fault = strike(driver, draw)
        faults.append(fault)
        recovery = "–" if fault.recovery_s is None else f"{fault.recovery_s:.1f}"
        print(_LINE.format(f"{time.monotonic() - started:.0f}", recovery, fault.what), flush=True)
        problems = [fault.wrong, correct(driver) if len(faults) % _CORRECTION_EVERY == 0 else None]
        for problem in problems:
            if problem is not None:
                tally.blame(problem)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
