"""Parts of a whole platform are away for a while, one after the other, beside a live stream; then an oracle judges it.

    python tools/chaos/outages.py --seconds 120 --parts postgres,kafka --how stop

Each part is stopped (SIGSTOP, then SIGCONT) or killed (SIGKILL, then started again) with all its processes. Services
that end meanwhile are started again, as docker-compose.yaml asks for. Exit code 1 if anything is lost, doubled or
wrong, if there were ever two drivers, if a stream that must go on did not, or if stream and supervision were not back
120 s after the part was. Ctrl-C, while nothing is away, ends the outages early.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
from choices import chosen
from comparison import Tally
from faults import correct
from judgement import judge
from live_driver import END_S, MOST_S, TooLong, finish
from parts import PARTS, Part, Platform, platform
from platform_watch import PlatformWatch
from workloads import NAME

from tailrace.cli.leaving import leave

HOWS = ("stop", "kill")
_LONGEST_PAUSE_S = 60.0
"""The longest time without a commit of a stream that goes on: a busy machine may take long for a batch."""

_GIVE_UP_S = 600.0
_LOOK_AGAIN_S = 0.5


def main(arguments: list[str]) -> int:
    """Let the parts be away, print what came of each and the tally, and return the exit code."""
    parser = argparse.ArgumentParser("python tools/chaos/outages.py", description=__doc__.partition("\n")[0])
    names = [part.service for part in PARTS]
    parser.add_argument("--seconds", type=float, default=120, help="how long each part is away")
    parser.add_argument("--parts", default=",".join(names), help=f"of {', '.join(names)}")
    parser.add_argument("--how", default=",".join(HOWS), help="stop, kill or both")
    parser.add_argument("--seed", type=int, default=1, help="decides the rows")
    options = parser.parse_args(arguments)
    hows = chosen(parser, "--how", options.how, {how: how for how in HOWS})
    parts = chosen(parser, "--parts", options.parts, {part.service: part for part in PARTS})
    told = f"SECONDS={options.seconds:g} PARTS={options.parts} HOW={options.how} SEED={options.seed}"
    print(f"outages: {told}", flush=True)
    directory, tally = Path(tempfile.mkdtemp(prefix="outages-")), Tally()
    try:
        with platform(directory, options.seed) as found:
            _live(found, parts, hows, options.seconds, tally)
    except TooLong as error:
        tally.blame(f"it did not recover: {error}")
    return tally.finish(directory, told)


def _live(found: Platform, parts: list[Part], hows: list[str], seconds: float, tally: Tally) -> None:
    """All outages, the end of the stream, and the judgement; adds to the tally."""
    watch = PlatformWatch(found.driver)
    watch.start()
    try:
        with suppress(KeyboardInterrupt):
            for how in hows:
                for part in parts:
                    _outage(found, watch, part, how, seconds, tally)
        found.drain()
    finally:
        watch.stop()
        found.feeder.stop()
    for problem in found.feeder.problems:
        tally.blame(problem)
    if watch.most_drivers != 1:
        tally.blame(f"{watch.most_drivers} drivers lived at one time")
    finish(found.driver)
    problem = correct(found.driver, END_S)
    if problem is not None:
        tally.blame(problem)
    streams = {NAME: found.feeder.stream}
    judged = judge("aggregate", found.driver.file, found.driver.warehouse, streams)
    rows = len(found.feeder.stream.rows)
    print(
        f"{rows:,} rows read in {found.driver.commits:,} batches by {len(watch.pids)} drivers, one at a time; "
        f"{judged.compared:,} rows of tables compared",
        flush=True,
    )
    tally.lost, tally.doubled = judged.lost, judged.doubled
    tally.wrong += judged.wrong
    tally.examples += judged.examples


def _outage(found: Platform, watch: PlatformWatch, part: Part, how: str, seconds: float, tally: Tally) -> None:
    """Let one part be away; print what came of it, and add what is wrong."""
    pids, struck_s = list(watch.pids), time.monotonic()
    found.keeper.away.add(part.service)
    processes = found.processes(part.service)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend() if how == "stop" else process.kill()
    time.sleep(seconds)
    if how == "stop":
        for process in reversed(processes):
            with suppress(psutil.NoSuchProcess):
                process.resume()
    else:
        psutil.wait_procs(processes, MOST_S)
        found.start(part.service)
    found.keeper.away.clear()
    back_s, back_wall_s, due_ms = time.monotonic(), time.time(), found.feeder.arrival_ms
    stream_s = _recovery_s(lambda: _has_caught_up(found, due_ms), back_s)
    watched_s = _recovery_s(lambda: found.is_supervised_since(back_wall_s), back_s)
    commits, pause_s = watch.commits_between(struck_s, back_s), watch.longest_pause_s(struck_s, back_s)
    is_same = watch.pids == pids
    print(
        f"{part.service}, {how}: {len(processes)} processes away for {back_s - struck_s:.0f} s, {commits} commits "
        f"meanwhile, {pause_s:.0f} s without one at most; then the stream caught up after {stream_s:.0f} s and was "
        f"watched after {watched_s:.0f} s, by {'the same driver' if is_same else 'another driver'}",
        flush=True,
    )
    for at_s, service in found.keeper.restarts:
        if at_s >= struck_s:
            print(f"    {at_s - struck_s:.0f} s: {service} had ended, and was started again", flush=True)
    for at_s, problem in watch.problems:
        if at_s >= struck_s:
            print(f"    {at_s - struck_s:.0f} s: {problem[:200]}", flush=True)
    what = f"{part.service}, {how}"
    if max(stream_s, watched_s) > MOST_S:
        tally.blame(f"{what}: it was not back after {MOST_S:g} s")
    if (part.on_stop if how == "stop" else part.on_kill) and not (is_same and pause_s < _LONGEST_PAUSE_S):
        tally.blame(f"{what}: the stream did not go on")


def _has_caught_up(found: Platform, due_ms: int) -> bool:
    """True once all that was sent up to an arrival time is committed, and the driver tells of no problem."""
    status = found.status
    if status is None or status.problem is not None or status.committed is None:
        return False
    return status.committed_at_ms is not None and status.committed >= due_ms - due_ms % 500


def _recovery_s(condition: Callable[[], bool], since_s: float) -> float:
    """Wait for a condition; returns how long it took since a time.

    Raises
    ------
    TooLong
        When it does not hold after ten minutes.
    """
    while not condition():
        if time.monotonic() - since_s > _GIVE_UP_S:
            raise TooLong(f"it has not come about in {_GIVE_UP_S:g} s")
        time.sleep(_LOOK_AGAIN_S)
    return time.monotonic() - since_s


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
