"""The state of a stream, and its start, from the driver host and the driver's last report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.launch import CRASH_LOOP, earlier_restarts_file, starts_file
from tailrace.drivers.liveness import START_S, longest_batch_s
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.files.object_path import Location
from tailrace.ground.words import counted
from tailrace.storage.layout import Layout
from tailrace.storage.status import CUT_SHORT, ENDINGS, OVER, SILENT_MS, Status, wall_ms

Tone = Literal["good", "warn", "bad", "idle"]

_AHEAD_MS = 60_000  # by which a report may be ahead of this clock, as clocks of two machines differ
_START_MS = round(START_S * 1000)
_STOPPING_MS = 120_000  # longer than a drain waits for a batch
_GONE = ", and the warehouse has no stream of it"
_UNREAD = "what came later is unread until it is deployed"
_WHY = {"idle": "there is nothing to read", "held": "it reads nothing until a place has its answers"}


@dataclass(frozen=True)
class Observation:
    """The observed facts of a stream at one moment.

    Attributes
    ----------
    driver : Driver or None
        The driver host's view of its driver; None where the host does not answer.
    reported : Status or None
        The last report of a driver, also after its end; None without a readable one.
    now_ms : int
        Wall-clock time of this observation.
    is_begun, has_run : bool
        Whether the warehouse has a directory of the stream, which a deployment creates; and whether a driver has worked
        there.
    deploying_ms : int or None
        Wall-clock time of the request for a deployment that has no driver yet; None without one.
    is_draining : bool
        Whether a drain is requested.
    drain_ms : int or None
        Wall-clock time of that request; None if it is unknown.
    restarts_s : sequence of float or None
        The recorded times of restarts since the deployment, in s since the epoch, oldest first; None without a readable
        record.
    earlier_restarts_s : sequence of float or None
        The times of restarts before the deployment, likewise; None if they can't be read.
    """

    driver: Driver | None
    reported: Status | None
    now_ms: int
    is_begun: bool = True
    has_run: bool = True
    deploying_ms: int | None = None
    is_draining: bool = False
    drain_ms: int | None = None
    restarts_s: Sequence[float] | None = None
    earlier_restarts_s: Sequence[float] | None = ()

    @staticmethod
    def read(layout: Layout, driver: Driver | None, reported: Status | None, deploying_ms: int | None) -> Observation:
        """Read the other facts of a stream, from the files that can matter.

        Call it after the driver and the report were read: a deployment makes the stream's directory before its driver,
        so whoever has seen the driver sees the directory.
        """
        is_begun = layout.stream.is_dir()
        has_run = is_begun and (reported is not None or layout.status.exists() or layout.manifest_file.exists())
        may_run = (driver is not None and driver.alive) or (reported is not None and reported.state not in OVER)
        is_draining = is_begun and may_run and layout.drain.exists()
        return Observation(
            driver,
            reported,
            wall_ms(),
            is_begun,
            has_run,
            deploying_ms,
            is_draining,
            layout.drain_requested_ms() if is_draining else None,
            _restarts_s(starts_file(layout.home), None) if is_begun else None,
            _restarts_s(earlier_restarts_file(layout.home), []) if is_begun else (),
        )

    @property
    def all_restarts_s(self) -> Sequence[float] | None:
        """The recorded restarts, including earlier deployments; None if some are unknown."""
        if self.restarts_s is None or self.earlier_restarts_s is None:
            return None
        return sorted({*self.earlier_restarts_s, *self.restarts_s})

    @property
    def silent_ms(self) -> int:
        """Milliseconds since the last report; 0 without one."""
        return 0 if self.reported is None else max(self.now_ms - self.reported.at_ms, 0)


@dataclass(frozen=True)
class StreamState:
    """The state of a stream.

    Attributes
    ----------
    word : str
        The state for people, such as `running` or `given up`.
    tone : str
        `bad`: somebody must act; `warn`: somebody should look; `idle`: nothing runs, as requested, or not yet.
    why : str or None
        The reason, in a sentence.
    since_ms : int or None
        Wall-clock time at which it began; None if that is unknown.
    """

    word: str
    tone: Tone
    why: str | None = None
    since_ms: int | None = None


def _restarts_s(file: Location, without: list[float] | None) -> list[float] | None:
    """Return the times in a file of restarts; `without` if there is no file, None if it can't be read."""
    try:
        restarts = [float(at) for at in json.loads(file.read_text())["restarts"]]
        return [at for at in restarts if math.isfinite(at)]
    except FileNotFoundError:
        return without
    except (OSError, ValueError, KeyError, TypeError):
        return None


def state_of(seen: Observation) -> StreamState:
    """Return the state of a stream; the worst true one takes precedence."""
    state = _state_of(seen)
    if state.since_ms is None:
        return state
    return replace(state, since_ms=min(state.since_ms, seen.now_ms))  # another machine's clock may be ahead


def _state_of(seen: Observation) -> StreamState:
    if seen.driver is not None and seen.driver.alive:
        return _with_driver(seen, seen.driver)
    if seen.reported is not None and _runs_elsewhere(seen, seen.reported):
        return _draining(seen) if seen.is_draining else _alive(seen, seen.reported)
    if seen.deploying_ms is not None:
        is_long = seen.now_ms - seen.deploying_ms >= _START_MS
        late = f", and has not done so for {format_duration(_START_MS)}" if is_long else ""
        why = f"a run in Airflow is to start its driver{late}"
        return StreamState("deploying", "warn" if is_long else "idle", why, seen.deploying_ms)
    return _without_driver(seen)


def _runs_elsewhere(seen: Observation, reported: Status) -> bool:
    """Test whether a driver outside the host reports now: in somebody's shell, or while the host is down."""
    if reported.state in OVER or seen.silent_ms >= SILENT_MS:
        return False
    if seen.driver is None or seen.driver.state == "absent":
        return True
    return seen.driver.stopped_ms is not None and reported.started_ms >= seen.driver.stopped_ms


def _with_driver(seen: Observation, driver: Driver) -> StreamState:
    if driver.state == "stopping":
        return StreamState("stopping", *_ending(seen), seen.drain_ms)
    if not seen.is_begun:
        return StreamState("broken", "bad", f"its driver runs{_GONE}")
    if seen.is_draining:
        return _draining(seen)
    reported = seen.reported
    if reported is None or not _is_of_process(reported, driver):
        return _starting(seen, None)
    return _over(reported) if reported.state in OVER else _alive(seen, reported)


def _over(reported: Status) -> StreamState:
    """Return the state of a stream whose driver has reported its end, but still has a process."""
    if reported.state in CUT_SHORT:
        return StreamState("restarting", "warn", f"its driver {ENDINGS[reported.state]}, and ends", reported.at_ms)
    return StreamState(reported.state, "idle", _UNREAD, reported.at_ms)


def _is_of_process(reported: Status, driver: Driver) -> bool:
    """Test whether a report is from a driver's present process, and not from one that died or was deployed before.

    Pids do not decide it: a driver that the host starts by spark-submit reports under another pid. The clock of a
    driver in a cluster may be behind the host's, so a report long after the process's start counts as well.
    """
    if driver.state == "starting":
        return False
    if driver.started_ms is None:
        return reported.state not in OVER
    return reported.started_ms >= driver.started_ms or reported.at_ms >= driver.started_ms + _AHEAD_MS


def _starting(seen: Observation, reported: Status | None) -> StreamState:
    """Return the state of a stream whose driver answers nothing yet; `reported` is None before its first report."""
    driver = seen.driver
    started_ms = None if driver is None else driver.started_ms
    if started_ms is None and reported is not None:
        started_ms = reported.started_ms
    died_ms = _died_ms(seen)
    state = StreamState("starting", "idle", "it reads and answers nothing yet", started_ms)
    if died_ms is not None:
        before = "" if seen.reported is None or seen.reported.problem is None else f"; {seen.reported.problem}"
        state = StreamState("restarting", "warn", f"its driver died, and its host starts it again{before}", died_ms)
    if reported is not None and reported.problem is not None:
        return replace(state, tone="bad", why=reported.problem)
    waits_from_ms = max(started_ms or 0, died_ms or 0) if reported is None else reported.at_ms
    if waits_from_ms and seen.now_ms - waits_from_ms >= _START_MS:
        return replace(state, tone="bad", why=f"its driver has said nothing since {format_time(waits_from_ms)}")
    return state


def _died_ms(seen: Observation) -> int | None:
    """Return when the host's previous process died; None for the first process of a deployment."""
    driver = seen.driver
    if driver is None or not driver.alive:
        return None
    if driver.stopped_ms is not None or not seen.restarts_s:
        return driver.stopped_ms
    restarted_ms = round(seen.restarts_s[-1] * 1000)  # the host was restarted, and knows of no death
    return max(restarted_ms, driver.started_ms or restarted_ms)


def _draining(seen: Observation) -> StreamState:
    return StreamState("draining", *_ending(seen), seen.drain_ms)


def _ending(seen: Observation) -> tuple[Tone, str]:
    """Return the tone and the reason of a driver that was asked to end, with what keeps it from that."""
    driver, reported = seen.driver, seen.reported
    if reported is not None and driver is not None and driver.alive and not _is_of_process(reported, driver):
        reported = None  # the report is of an earlier driver
    if reported is not None:
        hung = _hung(seen, reported)
        if reported.problem is not None or hung is not None:
            return "bad", f"it is to end after its batch; {reported.problem if hung is None else hung.why}"
    began_ms = None if driver is None else driver.started_ms
    known = (seen.drain_ms, began_ms, None if reported is None else reported.at_ms)
    waits_from_ms = max((ms for ms in known if ms is not None), default=None)
    if waits_from_ms is None or seen.now_ms - waits_from_ms < _STOPPING_MS:
        is_long = seen.drain_ms is not None and seen.now_ms - seen.drain_ms >= _STOPPING_MS
        return "warn" if is_long else "idle", "it ends after its batch"
    return "bad", f"it is to end after its batch; its driver has said nothing since {format_time(waits_from_ms)}"


def _without_driver(seen: Observation) -> StreamState:
    """Return the state of a stream that nothing is known to run."""
    driver, reported = seen.driver, seen.reported
    if driver is not None and driver.state == "failed":
        last = f"; {reported.problem}" if reported is not None and reported.problem else ""
        loop = "crash loop, " if driver.exit_code == CRASH_LOOP else ""
        return StreamState("given up", "bad", f"its driver stays down: {loop}{driver.detail}{last}", driver.stopped_ms)
    if not seen.has_run and (driver is None or driver.state != "ended"):
        return StreamState("not deployed", "idle", "nothing has run yet")
    if reported is not None and reported.state in ("drained", "ended"):
        faults = _faults_of_records(seen, reported) if reported.quarantined and not reported.rows else iter(())
        return next(faults, StreamState(reported.state, "idle", _UNREAD, reported.at_ms))
    return _stopped(seen)


def _stopped(seen: Observation) -> StreamState:
    """Return the state of a stream without a known driver, and without a report of a driver's end."""
    driver, reported = seen.driver, seen.reported
    said = "its last report can't be read"
    if reported is not None:
        what = f"that it {ENDINGS[reported.state]}" if reported.state in CUT_SHORT else reported.phase
        said = f"its last report, of {format_time(reported.at_ms)}, says {what}"
    if driver is None:
        return StreamState("unknown", "idle", f"the driver host does not answer, and {said}")
    if driver.state == "ended":
        why = driver.detail or "by request" if seen.is_begun else f"its driver is over{_GONE}"
        return StreamState("stopped", "idle", why, driver.stopped_ms)
    if reported is None:
        return StreamState("unknown", "bad", f"no driver runs it, and {said}")
    last = f"; {reported.problem}" if reported.problem else ""
    return StreamState("stopped", "bad", f"no driver runs it, and {said}{last}", reported.at_ms)


def _alive(seen: Observation, reported: Status) -> StreamState:
    """Return the state of a stream by the report of its running driver."""
    if reported.state == "starting":
        return _starting(seen, reported)
    if seen.silent_ms >= SILENT_MS:
        return StreamState("hung", "bad", "its driver has said nothing since then", reported.at_ms)
    if (hung := _hung(seen, reported)) is not None:
        return hung
    why = "" if reported.problem is None else f"{reported.problem}{_end_of(reported)}"
    if reported.is_awaiting:
        return StreamState("awaiting its source", "warn", why, reported.since_ms)
    if why:
        return StreamState("held" if reported.state == "held" else "broken", "bad", why, reported.since_ms)
    return next(
        _faults_of_records(seen, reported),
        StreamState(reported.phase, "good", _WHY.get(reported.phase), reported.since_ms),
    )


def _hung(seen: Observation, reported: Status) -> StreamState | None:
    """Return the state of a stream whose batch does not end; None if it may still take this long."""
    busy_ms = reported.busy_ms or 0
    if busy_ms < max(SILENT_MS, longest_batch_s(reported) * 1000):
        return None
    why = f"its batch of {counted(reported.busy_rows, 'row')} does not end"
    return StreamState("hung", "bad", why, reported.at_ms - busy_ms)


def _end_of(reported: Status) -> str:
    """Return a further line on when the driver gives up; an empty text where it retries for ever."""
    if reported.gives_up_ms is None:
        return ""
    return f"\nits driver ends at {format_time(reported.gives_up_ms)} unless that is over by then"


def _faults_of_records(seen: Observation, reported: Status) -> Iterator[StreamState]:
    """Yield the problems of a stream's records, the worst first.

    No reason quotes a record, as users who may see a stream may not be allowed to see its records.
    """
    at_work = StreamState(reported.phase, "warn", None, reported.since_ms)
    reasons = reported.rejected_for or "see Quarantine"
    if reported.quarantined and not reported.rows:
        yield StreamState("broken", "bad", f"it has rejected every record: {reasons}")
    if reported.recent_quarantined and not reported.recent_rows:
        yield StreamState("broken", "bad", f"it rejects every record now: {reasons}")
    if reported.quarantined > reported.rows or reported.recent_quarantined > reported.recent_rows:
        yield replace(at_work, why=f"most records are rejected: {reasons}")
    if reported.filtered and not reported.rows:
        is_unmatched = reported.unmatched == reported.filtered
        fault = "no record has met a row of a lookup" if is_unmatched else "`where` has left out every record"
        yield replace(at_work, why=fault)
    if reported.ahead is not None:
        yield replace(at_work, why="an event time is far ahead of its arrival")
    ahead_ms = reported.at_ms - seen.now_ms
    if ahead_ms >= _AHEAD_MS:
        yield replace(at_work, why=f"the clock of its driver is {format_duration(ahead_ms)} ahead of this one")
