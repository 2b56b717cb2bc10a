"""The state of a stream in a word, from what its driver host and its driver's last report say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.launch import CRASH_LOOP
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.words import counted
from tailrace.storage.status import Status

Tone = Literal["good", "warn", "bad", "idle"]

_SILENT_MS = 60_000  # without a report, as long as a watch waits by default
_SLOWER = 5  # times the longest of the newest batches


@dataclass(frozen=True)
class StreamState:
    """The state of a stream.

    Attributes
    ----------
    word : str
        What people call it, as `running` or `crash loop`.
    tone : str
        `bad`: somebody must act; `warn`: somebody should look; `idle`: nothing runs, as asked for.
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
        return StreamState("stopping", "idle", "it ends after its batch")
    if driver.alive:
        return _alive(status, reported)
    return _without_driver(status, reported, is_begun)


def _without_driver(status: DriverStatus, reported: Status | None, is_begun: bool) -> StreamState:
    if not is_begun or reported is None:
        return StreamState("not deployed", "idle", "nothing has run yet")
    if reported.state in ("drained", "ended"):
        at = format_time(reported.at_ms)
        return StreamState(reported.state, "idle", f"since {at}; what came later is unread until it is deployed")
    if (status.silent_ms or 0) < _SILENT_MS:
        return _alive(status, reported)  # it runs in somebody's shell
    if status.driver.state == "ended":
        return StreamState("stopped", "idle", status.driver.detail or "by request")
    since = format_time(reported.at_ms)
    return StreamState("stopped", "bad", f"no driver runs it, and its last report, of {since}, says {reported.state}")


def _alive(status: DriverStatus, reported: Status | None) -> StreamState:
    if reported is None or reported.state == "starting":
        problem = None if reported is None else reported.problem
        return StreamState("starting", "bad" if problem else "warn", problem or "it reads and answers nothing yet")
    if (status.silent_ms or 0) >= _SILENT_MS:
        return StreamState("hung", "bad", f"its driver has said nothing for {format_duration(status.silent_ms or 0)}")
    busy_ms = reported.busy_ms or 0
    if busy_ms >= max(_SILENT_MS, _SLOWER * reported.batch_ms):
        rows = counted(reported.busy_rows, "row")
        return StreamState("hung", "bad", f"its batch of {rows} has not ended for {format_duration(busy_ms)}")
    if reported.problem is not None:
        why = f"{reported.problem}{_end_of(reported)}"
        return StreamState(*(("waiting", "warn") if reported.is_awaiting else ("broken", "bad")), why=why)
    return _at_work(reported)


def _end_of(reported: Status) -> str:
    """Return when the driver ends, as a further line; nothing where it tries as long as it takes."""
    if reported.gives_up_ms is None:
        return ""
    return f"\nunless that is over by {format_time(reported.gives_up_ms)}, its driver ends then"


def _at_work(reported: Status) -> StreamState:
    """Return the state of a stream without a problem of its own: its records may have some."""
    word = {"streaming": "running"}.get(reported.state, reported.state)
    if reported.quarantined and not reported.rows:
        return StreamState("broken", "bad", f"it has rejected every record: {reported.rejected}")
    if reported.quarantined > reported.rows:
        return StreamState(word, "warn", f"most records were rejected: {reported.rejected}")
    if reported.filtered and not reported.rows:
        return StreamState(word, "warn", "`where` has left out every record")
    if reported.ahead is not None:
        return StreamState(word, "warn", reported.ahead)
    why = {"waiting": "there is nothing to read", "quiet": "nothing came for so long that its windows are closed"}
    return StreamState(word, "good", why.get(reported.state))
