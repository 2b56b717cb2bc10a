"""Requests for corrections: one each time the late tuples have advanced by Γ (paper 002, section 1.4). No Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tailrace.correction.intervals import Interval
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables

PATIENCE_MS = 15 * 60_000  # the correction of an older request has failed or got lost
PAUSE_MS = 10_000  # Airflow may merge events within this time into one run, with only the first range
AT_ONCE = 2  # the most open requests: a running correction, and a waiting one for all that arrives meanwhile


@dataclass(frozen=True)
class GapRule:
    """The gap Γ, and the tick and pane in which it is measured, all in ms."""

    gap_ms: int
    tick_ms: int
    pane_ms: int


@dataclass(frozen=True)
class CorrectionRequest:
    """A request to correct [arrived_from, arrived_to), written at the wall-clock time `at_ms`; all in ms."""

    arrived_from: int
    arrived_to: int
    at_ms: int

    @property
    def interval(self) -> Interval:
        return self.arrived_from, self.arrived_to

    def is_open(self, now_ms: int) -> bool:
        """Return whether its correction may still happen."""
        return abs(now_ms - self.at_ms) < PATIENCE_MS


def due_interval(
    late: Uncorrected, requests: Sequence[CorrectionRequest], gap: GapRule, now_ms: int
) -> Interval | None:
    """Return the interval of arrival for which a correction is due now; None if none is.

    Late tuples of a request count again if their correction has not happened in time.
    """
    requests = [one for one in requests if one.is_open(now_ms)]
    rest = late.excluding([one.interval for one in requests])
    if rest.span_ms(gap.pane_ms) <= gap.gap_ms:
        return None
    unfinished = [one for one in requests if late.within(one.interval).any()]
    if len(unfinished) >= AT_ONCE or any(abs(now_ms - one.at_ms) < PAUSE_MS for one in requests):
        return None
    return rest.interval(gap.tick_ms)


def request_correction(layout: Layout, gap: GapRule, now_ms: int) -> tuple[Interval | None, str]:
    """Request a correction if a query's tables show that one is due; return its interval, and a message about it.

    The request is recorded beside the tables before this returns, so other processes see it.

    Raises
    ------
    Busy
        When another process is writing a request.
    OSError
        When the request can't be written; then no correction may be started.
    """
    late = Uncorrected.read(OpenedTables(layout))
    if late is None:
        return None, f"{layout.home.name} has committed nothing yet"
    if not len(late):
        return None, f"all late tuples of {layout.home.name} are corrected, or none came yet"
    span_ms = late.span_ms(gap.pane_ms)
    line = (
        f"the uncorrected late tuples of {layout.home.name} span {format_duration(span_ms)} of event time, "
        f"and Γ is {format_duration(gap.gap_ms)}"
    )
    if span_ms <= gap.gap_ms:
        return None, line
    with layout.lock("asking"):
        requests = [one for one in open_requests(layout) if one.is_open(now_ms)]
        interval = due_interval(late, requests, gap, now_ms)
        if interval is None:
            return None, f"{line}; their correction is asked for, and {_retry_times(requests)}"
        _write(layout, [*requests, CorrectionRequest(*interval, now_ms)])
    return interval, f"{line}: a correction is asked for, of what arrived in [{', '.join(map(format_time, interval))})"


def withdraw(layout: Layout, interval: Interval) -> None:
    """Remove the request for a correction that was not started, so that the next poll requests it again."""
    with layout.lock("asking"):
        _write(layout, [one for one in open_requests(layout) if one.interval != interval])


def open_requests(layout: Layout) -> list[CorrectionRequest]:
    """Read the requests; none if the file can't be read, so that they are made again."""
    try:
        return [CorrectionRequest(**one) for one in json.loads(_file(layout).read_text())]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def _write(layout: Layout, requests: Sequence[CorrectionRequest]) -> None:
    _file(layout).parent.mkdir(exist_ok=True)
    write_atomically(_file(layout), json.dumps([asdict(one) for one in requests], indent=1))


def _retry_times(requests: Sequence[CorrectionRequest]) -> str:
    return f"again {format_duration(PATIENCE_MS)} after {', '.join(format_time(one.at_ms) for one in requests)}"


def _file(layout: Layout) -> Location:
    return layout.home / "_correction" / "requests.json"
