"""Places of answers are away for a while, one after the other, beside a live stream; readers poll them all the time.

    python tools/chaos/place_outages.py --seconds 120 --places postgres,kafka,current --how stop,kill \\
        --between kill,rebuild,restore

The stream's driver has the local engine and a process of its own; its answers go to all the places. Each place is
stopped (it answers nobody; of `current` another process holds the lock) or killed (it refuses everybody; of `current` a
file stands in its place). A correction is begun while it is away, and another one runs when it is back.

kill     the correction is killed as it delivers to the place that is away, and so is the driver
rebuild  the query is rebuilt while a place is away, for windows twice as far apart, and in the next outage back again
restore  a backup is taken before the outages of a way, and restored after them: of a running stream before the stops,
         and the driver is killed; of a drained one before the kills, and the driver is drained

Exit code 1 if a reader ever saw an older version after a newer one, or answers of another origin though nobody had
rebuilt or restored the query; if a place does not show what `tailrace results` gives in the end, if an oracle finds
anything lost, doubled or wrong, or if a place or the stream was not back after 120 s.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

from answer_place import AnswerPlace, newest_as_of
from between import BETWEEN, Backup, kill_beside, rebuild, slide_of
from choices import chosen
from comparison import Tally
from current_place import CurrentPlace
from faults import correct
from feeder import Feeder
from judgement import judge
from live_driver import END_S, MOST_S, LiveDriver, TooLong, await_, finish
from place_watch import PlaceWatch
from server_places import PostgresPlace, TopicPlace
from watched_stream import COULD_NOT_DELIVER, WatchedStream
from workloads import GAP_MS, SLIDE_MS, WORKLOADS, drawn_streams

from tailrace.cli.leaving import leave
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.query.loading import load
from tailrace.storage.results import read_answers

HOWS = ("stop", "kill")
PLACES = {place.name: place.running for place in (PostgresPlace, TopicPlace, CurrentPlace)}
"""What runs a place in a directory, by its name."""

_KIND, _EXAMPLES = "aggregate", 3


def main(arguments: list[str]) -> int:
    """Let the places be away, print what came of each and the tally, and return the exit code."""
    parser = argparse.ArgumentParser("python tools/chaos/place_outages.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120, help="how long each place is away")
    parser.add_argument("--places", default=",".join(PLACES), help=f"of {', '.join(PLACES)}")
    parser.add_argument("--how", default=",".join(HOWS), help="stop, kill or both")
    parser.add_argument("--between", default=",".join(BETWEEN), help=f"of {', '.join(BETWEEN)}; or none")
    parser.add_argument("--seed", type=int, default=1, help="decides the rows")
    options = parser.parse_args(arguments)
    hows = chosen(parser, "--how", options.how, {how: how for how in HOWS})
    between = chosen(parser, "--between", options.between, {name: name for name in (*BETWEEN, "none")})
    running = chosen(parser, "--places", options.places, PLACES)
    title = (
        f"SECONDS={options.seconds:g} PLACES={options.places} HOW={options.how} BETWEEN={options.between} "
        f"SEED={options.seed}"
    )
    print(f"outages of places: {title}", flush=True)
    directory, tally = Path(tempfile.mkdtemp(prefix="place-outages-")), Tally()
    try:
        with ExitStack() as stack:
            places = [stack.enter_context(run(directory)) for run in running]
            _live(directory, places, Options(options.seconds, hows, between), options.seed, tally)
    except TooLong as error:
        tally.blame(f"it did not recover: {error}")
    return tally.finish(directory, title)


@dataclass(frozen=True)
class Options:
    """How long each place is away, in which ways, and what else happens."""

    seconds: float
    hows: list[str]
    between: list[str]


def _live(directory: Path, places: list[AnswerPlace], options: Options, seed: int, tally: Tally) -> None:
    """All outages, the end of the stream, and the judgement; adds to the tally."""
    workload, streams = WORKLOADS[_KIND], drawn_streams(WORKLOADS[_KIND], seed, GAP_MS)
    answers: dict[str, object] = {}
    environment = {"TAILRACE_ENGINE": "local"}
    for place in places:
        answers |= place.declared
        environment |= place.environment
    file, warehouse = directory / "query.yaml", directory / "warehouse"
    declared = workload.query(directory / "in") | {"answers": answers}
    feeder, watches = Feeder(workload, streams, directory / "in"), [PlaceWatch(place) for place in places]
    with EmbeddedHost(directory / "host") as host:
        driver = LiveDriver(host.host, file, warehouse, environment, engine="local")
        stream = WatchedStream(driver, feeder, watches, tally, declared)
        stream.declare()
        stream.deploy()
        feeder.start()
        try:
            driver.await_commits(2)
            first_ms = newest_as_of(driver.home / "results")
            await_(lambda: all(_looks(watch, first_ms) for watch in watches), MOST_S)
            for watch in watches:
                watch.start()
            for how in options.hows:
                _round(stream, how, options, directory / f"backup-{how}")
            if slide_of(stream) != SLIDE_MS:
                with stream.other_tables("a rebuild"):
                    print(rebuild(stream), flush=True)
                    stream.catch_up_s()
        finally:
            feeder.stop()
        driver.drain()
    finish(driver)
    if (problem := correct(driver, END_S)) is not None:
        tally.blame(problem)
    for watch in watches:
        watch.stop()
        watch.look()
    rows = sum(len(stream.rows) for stream in streams.values())
    judged = judge(_KIND, file, warehouse, streams)
    print(f"{rows:,} rows read in {driver.commits:,} batches; {judged.compared:,} rows of tables compared", flush=True)
    tally.lost, tally.doubled = judged.lost, judged.doubled
    tally.wrong += judged.wrong
    tally.examples += judged.examples
    _compare(driver, watches, tally, "restore" in options.between)


def _looks(watch: PlaceWatch, as_of_ms: int) -> bool:
    """Look at a place that may not have been made yet; returns whether it has the answers up to an `as_of`."""
    watch.look()
    return watch.has(as_of_ms)


def _round(stream: WatchedStream, how: str, options: Options, backup: Path) -> None:
    """Let each place be away, one after the other, in one way; then restore the backup of before."""
    taken = Backup.take(stream, backup, is_drained=how == "kill") if "restore" in options.between else None
    for watch in stream.watches:
        _outage(stream, watch, how, options)
    if taken is not None:
        print(taken.restore(stream), flush=True)


def _outage(stream: WatchedStream, watch: PlaceWatch, how: str, options: Options) -> None:
    """Let one place be away; print what came of it, and add what is wrong."""
    place, driver, tally, what = watch.place, stream.driver, stream.tally, f"{watch.place.name}, {how}"
    began_s, commits, said = time.monotonic(), driver.commits, list[str]()
    stream.begin_outage()
    (place.stop if how == "stop" else place.kill)()
    stream.pass_s(options.seconds / 4)
    beside = driver.begin("correct")
    if "kill" in options.between:
        said.append(f"killed meanwhile: {kill_beside(stream, place.name, beside)}")
    stream.pass_s(options.seconds / 4)
    meanwhile = driver.commits - commits
    is_rebuilt = "rebuild" in options.between
    with ThreadPoolExecutor() as pool, stream.other_tables(what) if is_rebuilt else nullcontext():
        rebuilding = pool.submit(rebuild, stream) if is_rebuilt else None
        stream.pass_s(options.seconds / 2)
        (place.resume if how == "stop" else place.start)()
        away_s = time.monotonic() - began_s
        if rebuilding is not None:
            said.append(f"beside the outage {rebuilding.result()}")
        stream_s = stream.catch_up_s()
        place_s = stream_s + stream.show_s(watch)
        said.append(_end_of_correction(beside, what, tally))
    print(
        f"{what}: away for {away_s:.0f} s, {meanwhile} commits meanwhile; then the stream caught up after "
        f"{stream_s:.0f} s, and the reader had all answers after {place_s:.0f} s",
        flush=True,
    )
    for line in said:
        print(f"    {line}", flush=True)
    for problem, at_s in stream.problems.items():
        print(f"    {at_s:.0f} s: {problem[:200]}", flush=True)
    if max(stream_s, place_s) > MOST_S:
        tally.blame(f"{what}: it was not back after {MOST_S:g} s")
    if not meanwhile and not place.holds_the_stream:
        tally.blame(f"{what}: the stream did not go on")
    if not is_rebuilt:
        stream.settle(what)


def _end_of_correction(beside: subprocess.Popen[str], what: str, tally: Tally) -> str:
    """Wait for a correction that was begun while a place was away; say how it ended, and add what is wrong."""
    said, _ = beside.communicate(timeout=END_S)
    if beside.returncode == -signal.SIGKILL:
        return "the correction that was begun meanwhile was killed"
    if beside.returncode == 0:
        return "a correction that was begun meanwhile ended with its answers delivered"
    if COULD_NOT_DELIVER not in said:
        tally.blame(f"{what}: a correction beside failed: {said[-300:]}")
    return "a correction that was begun meanwhile could not deliver"


def _compare(driver: LiveDriver, watches: list[PlaceWatch], tally: Tally, is_restored: bool) -> None:
    """Compare what readers see with `tailrace results`; print what each has seen."""
    rows, columns = read_answers(load(driver.file), driver.warehouse, streamed=False)
    for watch in watches:
        place, reader = watch.place, watch.place.reader
        if (problem := place.order_problem(is_restored)) is not None:
            watch.violations.append(problem)
        print(
            f"{place.name}: {reader.polls:,} polls, {reader.versions:,} versions of answers seen, of "
            f"{len(watch.origins)} origins; {len(watch.violations)} older after newer",
            flush=True,
        )
        for text in watch.violations:
            tally.blame(f"{place.name}: {text}")
        expected = Counter(place.expected(rows, columns))
        for view, texts in place.views(columns).items():
            shown = Counter(texts)
            missing, foreign = expected - shown, shown - expected
            print(
                f"    {view}: in the end {shown.total():,} rows, {missing.total()} missing, {foreign.total()} that "
                "`tailrace results` does not give",
                flush=True,
            )
            for text in [*list(missing)[:_EXAMPLES], *list(foreign)[:_EXAMPLES]]:
                tally.blame(f"{place.name}, {view}: {text}")


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
