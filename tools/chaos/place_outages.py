"""Places of answers are away for a while, one after the other, beside a live stream; readers poll them all the time.

    python tools/chaos/place_outages.py --seconds 120 --places postgres,kafka,current --how stop,kill

The stream's driver has the local engine and a process of its own; its answers go to all the places. Each place is
stopped (it answers nobody; of `current` another process holds the lock) or killed (it refuses everybody; of `current` a
file stands in its place). A correction is begun while it is away, and another one runs when it is back. Exit code 1
if a reader ever saw an older version after a newer one, if a place does not show what `tailrace results` gives in the
end, if an oracle finds anything lost, doubled or wrong, or if a place or the stream was not back after 120 s.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from answer_place import AnswerPlace, newest_as_of
from choices import chosen
from comparison import Tally
from current_place import CurrentPlace
from faults import correct
from feeder import Feeder
from judgement import judge
from live_driver import END_S, MOST_S, LiveDriver, TooLong, await_, finish
from place_watch import PlaceWatch
from server_places import PostgresPlace, TopicPlace
from workloads import GAP_MS, NAME, TICK_MS, WORKLOADS, drawn_streams

from tailrace.cli.leaving import leave
from tailrace.drivers.embedded import EmbeddedHost
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status

HOWS = ("stop", "kill")
PLACES = {place.name: place.running for place in (PostgresPlace, TopicPlace, CurrentPlace)}
"""What runs a place in a directory, by its name."""

_KIND, _GIVE_UP_S, _LOOK_AGAIN_S = "aggregate", 600.0, 0.2
_EXAMPLES = 3
_COULD_NOT_DELIVER = "all answers are committed, but "
"""What a correction says whose place is away: the stream delivers its answers."""


def main(arguments: list[str]) -> int:
    """Let the places be away, print what came of each and the tally, and return the exit code."""
    parser = argparse.ArgumentParser("python tools/chaos/place_outages.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120, help="how long each place is away")
    parser.add_argument("--places", default=",".join(PLACES), help=f"of {', '.join(PLACES)}")
    parser.add_argument("--how", default=",".join(HOWS), help="stop, kill or both")
    parser.add_argument("--seed", type=int, default=1, help="decides the rows")
    options = parser.parse_args(arguments)
    hows = chosen(parser, "--how", options.how, {how: how for how in HOWS})
    running = chosen(parser, "--places", options.places, PLACES)
    title = f"SECONDS={options.seconds:g} PLACES={options.places} HOW={options.how} SEED={options.seed}"
    print(f"outages of places: {title}", flush=True)
    directory, tally = Path(tempfile.mkdtemp(prefix="place-outages-")), Tally()
    try:
        with ExitStack() as stack:
            places = [stack.enter_context(run(directory)) for run in running]
            _live(directory, places, hows, options.seconds, options.seed, tally)
    except TooLong as error:
        tally.blame(f"it did not recover: {error}")
    for example in tally.examples:
        print(example)
    print(f"{tally.lost} lost, {tally.doubled} doubled, {tally.wrong} wrong")
    if not tally.is_clean:
        print(f"the files of this run: {directory}; {title}")
        return 1
    shutil.rmtree(directory)
    return 0


@dataclass
class Watched:
    """A live stream, and the places of its answers with their readers."""

    driver: LiveDriver
    feeder: Feeder
    watches: list[PlaceWatch]
    tally: Tally
    problems: dict[str, float] = field(default_factory=dict)

    @property
    def status(self) -> Status | None:
        return Status.read(Layout(self.driver.home))

    def has_caught_up(self, due_ms: int) -> bool:
        """True once the stream has committed all up to an arrival time, and reports no problem."""
        status = self.status
        if status is None or status.problem is not None or status.committed is None:
            return False
        return status.committed >= due_ms - due_ms % TICK_MS

    def pass_s(self, seconds: float) -> None:
        """Let time pass; note the problems that the stream reports."""
        began_s = time.monotonic()
        while time.monotonic() - began_s < seconds:
            status = self.status
            for problem in [] if status is None else status.problems:
                self.problems.setdefault(problem, time.monotonic() - began_s)
            time.sleep(_LOOK_AGAIN_S)


def _live(directory: Path, places: list[AnswerPlace], hows: list[str], seconds: float, seed: int, tally: Tally) -> None:
    """All outages, the end of the stream, and the judgement; adds to the tally."""
    workload, streams = WORKLOADS[_KIND], drawn_streams(WORKLOADS[_KIND], seed, GAP_MS)
    answers: dict[str, object] = {}
    environment = {"TAILRACE_ENGINE": "local"}
    for place in places:
        answers |= place.declared
        environment |= place.environment
    file, warehouse = directory / "query.yaml", directory / "warehouse"
    file.write_text(json.dumps(workload.query(directory / "in") | {"answers": answers}))
    feeder, watches = Feeder(workload, streams, directory / "in"), [PlaceWatch(place) for place in places]
    with EmbeddedHost(directory / "host") as host:
        driver = LiveDriver(host.host, file, warehouse, environment, engine="local")
        driver.deploy()
        feeder.start()
        watched = Watched(driver, feeder, watches, tally)
        try:
            driver.await_commits(2)
            pid = driver.pid
            first_ms = newest_as_of(driver.home / "results")
            await_(lambda: all(_looks(watch, first_ms) for watch in watches), MOST_S)
            for watch in watches:
                watch.start()
            for how in hows:
                for watch in watches:
                    _outage(watched, watch, how, seconds)
            if driver.pid != pid:
                tally.blame("the driver was started again")
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
    _compare(driver, watches, tally)


def _looks(watch: PlaceWatch, as_of_ms: int) -> bool:
    """Look at a place that may not have been made yet; returns whether it has the answers up to an `as_of`."""
    watch.look()
    return watch.has(as_of_ms)


def _outage(watched: Watched, watch: PlaceWatch, how: str, seconds: float) -> None:
    """Let one place be away; print what came of it, and add what is wrong."""
    place, driver, tally, what = watch.place, watched.driver, watched.tally, f"{watch.place.name}, {how}"
    commits = driver.commits
    watched.problems.clear()
    (place.stop if how == "stop" else place.kill)()
    watched.pass_s(seconds / 4)
    beside = driver.begin("correct")
    watched.pass_s(seconds * 3 / 4)
    meanwhile = driver.commits - commits
    (place.resume if how == "stop" else place.start)()
    back_s, due_ms = time.monotonic(), watched.feeder.streams[NAME].arrival
    stream_s = _elapsed_s(lambda: watched.has_caught_up(due_ms), back_s)
    newest_ms = newest_as_of(driver.home / "results")
    place_s = _elapsed_s(lambda: watch.has(newest_ms), back_s)
    said, _ = beside.communicate(timeout=_GIVE_UP_S)
    ended = "ended with its answers delivered"
    if beside.returncode:
        ended = "could not deliver"
        if _COULD_NOT_DELIVER not in said:
            tally.blame(f"{what}: a correction beside failed: {said[-300:]}")
    print(
        f"{what}: away for {seconds:g} s, {meanwhile} commits meanwhile; then the stream caught up after "
        f"{stream_s:.0f} s, and the reader had all answers after {place_s:.0f} s; a correction that was begun "
        f"meanwhile {ended}",
        flush=True,
    )
    for problem, at_s in watched.problems.items():
        print(f"    {at_s:.0f} s: {problem[:200]}", flush=True)
    if max(stream_s, place_s) > MOST_S:
        tally.blame(f"{what}: it was not back after {MOST_S:g} s")
    if not meanwhile and not place.holds_the_stream:
        tally.blame(f"{what}: the stream did not go on")
    if (problem := correct(driver, END_S)) is not None:
        tally.blame(f"{what}: {problem}")


def _elapsed_s(condition: Callable[[], bool], since_s: float) -> float:
    """Wait for a condition; returns how long it took since a time.

    Raises
    ------
    TooLong
        When it does not hold after ten minutes.
    """
    await_(condition, _GIVE_UP_S)
    return time.monotonic() - since_s


def _compare(driver: LiveDriver, watches: list[PlaceWatch], tally: Tally) -> None:
    """Compare what readers see with `tailrace results`; print what each has seen."""
    rows, columns = read_answers(load(driver.file), driver.warehouse, streamed=False)
    for watch in watches:
        place, reader = watch.place, watch.place.reader
        if (problem := place.order_problem()) is not None:
            watch.violations.append(problem)
        shown, expected = Counter(place.shown(columns)), Counter(place.expected(rows, columns))
        missing, foreign = expected - shown, shown - expected
        print(
            f"{place.name}: {reader.polls:,} polls, {reader.versions:,} versions of answers seen, "
            f"{len(watch.violations)} older after newer; in the end {shown.total():,} rows, {missing.total()} missing, "
            f"{foreign.total()} that `tailrace results` does not give",
            flush=True,
        )
        for text in [*watch.violations, *list(missing)[:_EXAMPLES], *list(foreign)[:_EXAMPLES]]:
            tally.blame(f"{place.name}: {text}")


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
