"""When a correction is asked for: once for each advance of the late tuples by Γ (paper 002, section 1.4). No Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tailrace.correction.uncorrected import Interval, Uncorrected
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.files import write_atomically
from tailrace.storage.layout import Layout

PATIENCE_MS = 15 * 60_000  # what was asked for so long ago and is not corrected has failed, or got lost on the way
PAUSE_MS = 10_000  # of two events in so short a time Airflow may make one run, which has only the first one's range
AT_ONCE = 2  # a correction that runs, and one that waits for it: the next one then takes in all that came meanwhile


@dataclass(frozen=True)
class GapRule:
    """Γ, and the steps of time that it is told in, all in ms."""

    gap_ms: int
    tick_ms: int
    pane_ms: int


@dataclass(frozen=True)
class CorrectionRequest:
    """A correction of [arrived_from, arrived_to) that was asked for at `at_ms`, by the wall clock; all in ms."""

    arrived_from: int
    arrived_to: int
    at_ms: int

    @property
    def interval(self) -> Interval:
        return self.arrived_from, self.arrived_to

    def still(self, now_ms: int) -> bool:
        """Whether its correction may still be on its way."""
        return abs(now_ms - self.at_ms) < PATIENCE_MS


def due_interval(late: Uncorrected, asked: Sequence[CorrectionRequest], gap: GapRule, now_ms: int) -> Interval | None:
    """The interval of arrival for which a correction is to be asked now; None: nothing is to be done.

    Late tuples that one has been asked for count again when it has not come in time.
    """
    asked = [one for one in asked if one.still(now_ms)]
    rest = late.excluding([one.interval for one in asked])
    if rest.span_ms(gap.pane_ms) <= gap.gap_ms:
        return None
    on_its_way = [one for one in asked if late.within(one.interval).any()]
    if len(on_its_way) >= AT_ONCE or any(abs(now_ms - one.at_ms) < PAUSE_MS for one in asked):
        return None
    return rest.interval(gap.tick_ms)


def request_correction(layout: Layout, gap: GapRule, now_ms: int) -> tuple[Interval | None, str]:
    """Request a correction if one is due by a query's tables; returns its interval, and a message about it.

    The request is recorded beside the tables before this returns, so other processes see it.

    Raises
    ------
    Busy
        When another process is about to ask.
    OSError
        When it can't be noted: it must not be asked for, then.
    """
    late = Uncorrected.read(layout)
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
        asked = [one for one in open_requests(layout) if one.still(now_ms)]
        interval = due_interval(late, asked, gap, now_ms)
        if interval is None:
            return None, f"{line}; their correction is asked for, and {_when(asked)}"
        _note(layout, [*asked, CorrectionRequest(*interval, now_ms)])
    return interval, f"{line}: a correction is asked for, of what arrived in [{', '.join(map(format_time, interval))})"


def withdraw(layout: Layout, interval: Interval) -> None:
    """Forget that a correction was asked for: nobody will hear of it. The next look asks again."""
    with layout.lock("asking"):
        _note(layout, [one for one in open_requests(layout) if one.interval != interval])


def open_requests(layout: Layout) -> list[CorrectionRequest]:
    """What was asked for; nothing, where the note can't be read: then it is asked for once more."""
    try:
        return [CorrectionRequest(**one) for one in json.loads(_file(layout).read_text())]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def _note(layout: Layout, asked: Sequence[CorrectionRequest]) -> None:
    _file(layout).parent.mkdir(exist_ok=True)
    write_atomically(_file(layout), json.dumps([asdict(one) for one in asked], indent=1))


def _when(asked: Sequence[CorrectionRequest]) -> str:
    return f"again {format_duration(PATIENCE_MS)} after {', '.join(format_time(one.at_ms) for one in asked)}"


def _file(layout: Layout) -> Path:
    return layout.home / "_correction" / "asked.json"
