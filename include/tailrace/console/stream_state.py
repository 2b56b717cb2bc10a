"""The state of a stream in a word, from its driver host and its driver's last report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.launch import CRASH_LOOP
from tailrace.drivers.liveness import START_S, longest_batch_s
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.words import counted
from tailrace.storage.status import OVER, Status

Tone = Literal["good", "warn", "bad", "idle"]

_SILENT_MS = 60_000  # without a report, as long as a watch waits by default
_AHEAD_MS = 60_000  # of a report before this clock, as clocks of two machines differ
_BETWEEN_MS = 10_000  # after a commit, during which a stream that reads every few seconds is not waiting
_GONE = ", and the warehouse has no stream of it"
_STOPPING_MS = 120_000  # longer than a drain waits for a batch


@dataclass(frozen=True)
class StreamState:
    """The state of a stream.

    Attributes
    ----------
    word : str
        The state for people, such as `running` or `crash loop`.
    tone : str
        `bad`: somebody must act; `warn`: somebody should look; `idle`: nothing runs, as requested.
    why : str or None
        The reason, in a sentence.
    """

    word: str
    tone: Tone
    why: str | None = None


def state_of(status: DriverStatus, is_begun: bool) -> StreamState:
    """Return the state of a stream; the worst that is true comes first.

    Parameters
    ----------
    is_begun : bool
        Whether the warehouse has the stream.
    """
    driver, reported = status.driver, status.reported
    if driver.state == "failed":
        last = f"; {reported.problem}" if reported is not None and reported.problem else ""
        word = "crash loop" if driver.exit_code == CRASH_LOOP else "broken"
        return StreamState(word, "bad", f"its driver has given up: {driver.detail}{last}")
    if driver.state == "stopping":
        tone: Tone = "idle" if (status.silent_ms or 0) < _STOPPING_MS else "bad"
        return StreamState("stopping", tone, f"it ends after its batch{_silence(status, _STOPPING_MS)}")
    if driver.alive and not is_begun:
        return StreamState("broken", "bad", f"its driver runs{_GONE}")
    if driver.alive:
        return _with_driver(status, reported)
    return _without_driver(status, reported, is_begun)


def _with_driver(status: DriverStatus, reported: Status | None) -> StreamState:
    is_older = reported is None or reported.state in OVER  # its report is from the driver before
    if status.driver.state == "starting" or is_older:
        why = status.driver.detail if reported is not None else "nothing is reported yet"
        return StreamState("starting", "warn", why or "it reads and answers nothing yet")
    assert reported is not None
    return _alive(status, reported)


def _without_driver(status: DriverStatus, reported: Status | None, is_begun: bool) -> StreamState:
    if not is_begun:
        is_gone = status.driver.state == "ended"
        never = StreamState("not deployed", "idle", "nothing has run yet")
        return StreamState("stopped", "idle", f"its driver is over{_GONE}") if is_gone else never
    if reported is None:
        return StreamState("unknown", "bad", "no driver runs it, and its last report can't be read")
    if reported.state in ("drained", "ended"):
        why = f"since {format_time(reported.at_ms)}; what came later is unread until it is deployed"
        has_rejected_all = reported.quarantined and not reported.rows
        faults = _faults_of_records(status, reported, reported.state) if has_rejected_all else iter(())
        return next(faults, StreamState(reported.state, "idle", why))
    if (status.silent_ms or 0) < _SILENT_MS and reported.state != "stopped":
        return _alive(status, reported)  # it runs in somebody's shell
    if status.driver.state == "ended":
        return StreamState("stopped", "idle", status.driver.detail or "by request")
    said = "that it was interrupted, or failed" if reported.state == "stopped" else reported.state
    since = format_time(reported.at_ms)
    last = f"; {reported.problem}" if reported.problem else ""
    return StreamState("stopped", "bad", f"no driver runs it, and its last report, of {since}, says {said}{last}")


def _alive(status: DriverStatus, reported: Status) -> StreamState:
    silent_ms = status.silent_ms or 0
    if reported.state == "starting":
        if reported.problem is not None or silent_ms >= START_S * 1000:
            return StreamState("starting", "bad", reported.problem or f"for too long{_silence(status, 0)}")
        return StreamState("starting", "warn", "it reads and answers nothing yet")
    if silent_ms >= _SILENT_MS:
        return StreamState("hung", "bad", f"its driver has said nothing for {format_duration(silent_ms)}")
    busy_ms = reported.busy_ms or 0
    if busy_ms >= max(_SILENT_MS, longest_batch_s(reported) * 1000):
        rows = counted(reported.busy_rows, "row")
        return StreamState("hung", "bad", f"its batch of {rows} has not ended for {format_duration(busy_ms)}")
    if reported.problem is not None:
        why = f"{reported.problem}{_end_of(reported)}"
        word = "held" if reported.state == "held" else "broken"
        return StreamState(*(("waiting", "warn") if reported.is_awaiting else (word, "bad")), why=why)
    return _at_work(status, reported)


def _end_of(reported: Status) -> str:
    """Return when the driver gives up, as a further line; empty where it retries for ever."""
    if reported.gives_up_ms is None:
        return ""
    return f"\nunless that is over by {format_time(reported.gives_up_ms)}, its driver ends then"


def _at_work(status: DriverStatus, reported: Status) -> StreamState:
    """Return the state of a stream without a problem of its own; its records may have problems."""
    age_ms = status.commit_age_ms
    is_between = reported.state == "waiting" and age_ms is not None and age_ms < _BETWEEN_MS
    word = "running" if reported.state == "streaming" or is_between else reported.state
    why = {"waiting": "there is nothing to read", "quiet": "nothing came for so long that its windows are closed"}
    return next(_faults_of_records(status, reported, word), StreamState(word, "good", why.get(word)))


def _faults_of_records(status: DriverStatus, reported: Status, word: str) -> Iterator[StreamState]:
    """Yield the problems of a stream's records, the worst first.

    No reason quotes a record, as users who may see a stream may not be allowed to see its records.
    """
    reasons = reported.rejected_for or "see Quarantine"
    if reported.quarantined and not reported.rows:
        yield StreamState("broken", "bad", f"it has rejected every record: {reasons}")
    if reported.recent_quarantined and not reported.recent_rows:
        yield StreamState("broken", "bad", f"it rejects every record now: {reasons}")
    if reported.quarantined > reported.rows or reported.recent_quarantined > reported.recent_rows:
        yield StreamState(word, "warn", f"most records are rejected: {reasons}")
    if reported.filtered and not reported.rows:
        is_unmatched = reported.unmatched == reported.filtered
        fault = "no record has met a row of a lookup" if is_unmatched else "`where` has left out every record"
        yield StreamState(word, "warn", fault)
    if reported.ahead is not None:
        yield StreamState(word, "warn", "an event time is far ahead of its arrival")
    ahead_ms = reported.at_ms - status.now_ms
    if ahead_ms >= _AHEAD_MS:
        yield StreamState(word, "warn", f"the clock of its driver is {format_duration(ahead_ms)} ahead of this one")


def _silence(status: DriverStatus, from_ms: int) -> str:
    """Describe a driver's silence that is too long."""
    silent_ms = status.silent_ms or 0
    return f"; its driver has said nothing for {format_duration(silent_ms)}" if silent_ms >= from_ms else ""
