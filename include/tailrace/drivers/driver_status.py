"""The status of a query's driver: its host's view, and the driver's own last report."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.drivers.driver_host import Driver
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.words import counted
from tailrace.storage.status import ENDINGS, OVER, Status


@dataclass(frozen=True)
class DriverStatus:
    """The status of a query's driver at one moment.

    Attributes
    ----------
    driver : Driver
        The host's view of it.
    reported : Status or None
        Its last own report, also after its end; None if no driver ever ran.
    now_ms : int
        Wall-clock time of this observation, in epoch milliseconds.
    """

    driver: Driver
    reported: Status | None
    now_ms: int

    @property
    def silent_ms(self) -> int | None:
        """Milliseconds since the driver's last report; None without one."""
        return None if self.reported is None else max(self.now_ms - self.reported.at_ms, 0)

    @property
    def commit_age_ms(self) -> int | None:
        """Milliseconds since the last batch was committed; None before the first one since the driver's start."""
        committed_at_ms = None if self.reported is None else self.reported.committed_at_ms
        return None if committed_at_ms is None else max(self.now_ms - committed_at_ms, 0)

    @property
    def lag_rows(self) -> int | None:
        """Number of known rows in the source that are not read yet; None if no driver knows it."""
        return None if self.reported is None else self.reported.unread_rows(self.now_ms)

    @property
    def summary(self) -> tuple[object, ...]:
        """The fields whose changes a watcher logs at once."""
        return (
            self.driver.state,
            self.driver.pid,
            self.driver.exit_code,
            self.reported and (self.reported.state, self.reported.problem, self.reported.ahead is not None),
        )

    @property
    def problems(self) -> dict[str, str]:
        """The problems in the driver's last report, under stable names; lines after the first are indented."""
        if self.reported is None:
            return {}
        problems = {text.partition("\n")[0]: f"{text}{self._outcome}" for text in self.reported.problems}
        return problems if self.reported.ahead is None else problems | {"ahead": self.reported.ahead}

    @property
    def _outcome(self) -> str:
        """The consequence of a problem for the driver, as a further line; empty after the driver's end."""
        if self.reported is None or self.reported.state in OVER or not self.driver.alive:
            return ""
        if self.reported.gives_up_ms is not None:
            end = format_time(self.reported.gives_up_ms)
            return f"\n    put right before {end}, the stream goes on; else its driver ends then, and supervise fails"
        how = "waits for it" if self.reported.is_awaiting else "tries again"
        return f"\n    the driver {how}, and supervise watches on, for as long as that takes"

    @property
    def _why_failed(self) -> str:
        """The reason of a failure, its first line, and the log that has more if the host has one; else empty."""
        if self.reported is None or self.reported.state != "failed":
            return ""
        reason = (self.reported.problem or "").partition("\n")[0]
        log = "" if self.driver.log is None else f"its log: {self.driver.log}"
        return f": {'; '.join(filter(None, (reason, log))) or 'what it printed says why'}"

    @property
    def _is_of_earlier(self) -> bool:
        """Whether a driver lives, but the last report is from a driver before it."""
        if self.reported is None or self.reported.state not in OVER or not self.driver.alive:
            return False
        return self.driver.started_ms is not None and self.reported.at_ms < self.driver.started_ms

    @property
    def head(self) -> str:
        """The host's view of the driver, as a line."""
        driver = self.driver
        if driver.state == "absent":
            return f"{driver.query}: {'no driver has started yet' if self.reported is None else 'it has no driver'}"
        pid = f", pid {driver.pid}" if driver.pid is not None else ""
        detail = f" ({driver.detail})" if driver.detail and not driver.alive else ""
        return f"{driver.query}: {driver.state}{pid}{detail}"

    def facts(self, with_ages: bool = True) -> list[str]:
        """Return the known facts about the stream, a short line for each.

        Parameters
        ----------
        with_ages : bool
            Whether lines contain ages, which are needed if no time is shown beside them.
        """
        status = self.reported
        if status is None:
            return [] if self.driver.state == "absent" else ["the driver has said nothing yet"]
        report_age = f", {_seconds(self.silent_ms or 0)} ago" if with_ages else ""
        age_ms = self.commit_age_ms
        commit_age = "" if age_ms is None or not with_ages else f", the last one {_seconds(age_ms)} ago"
        state = _STATES.get(status.state, status.state)
        if self._is_of_earlier:
            parts = [f"the driver before this one {ENDINGS[status.state]}{report_age}; this one has said nothing yet"]
        else:
            parts = [f"{state}{report_age}{self._why_failed}"]
        if status.busy_ms is not None:
            busy_for = f" for {_seconds(status.busy_ms)}" if with_ages else ""
            parts += [f"at a batch of {counted(status.busy_rows, 'row')}{busy_for}"]
        parts += [
            f"{counted(status.batches, 'batch', 'batches')}{commit_age}",
            "rows to read: unknown" if self.lag_rows is None else f"{counted(self.lag_rows, 'row')} to read",
            f"committed up to {_time(status.committed)}",
            f"frontier {_time(status.frontier)}",
            f"K {'–' if status.k_ms is None else format_duration(status.k_ms)}",
            f"coverage {'–' if status.coverage is None else format(status.coverage, '.2%')}",
            counted(status.answers, "streamed answer"),
            f"{status.rows:,} accepted, {status.late:,} late",
        ]
        parts += [counted(status.tasks, "task")] if status.tasks else []
        parts += [f"{place} holds the answers up to {_time(until)}" for place, until in status.delivered.items()]
        if by_where := status.filtered - status.unmatched:
            parts += [f"{by_where:,} filtered"]
        if status.unmatched:
            parts += [f"{status.unmatched:,} without a row of a lookup"]
        if status.quarantined:
            reasons = "" if status.rejected is None else f": {status.rejected}"
            parts += [f"{status.quarantined:,} rejected{reasons}"]
        return parts

    def __str__(self) -> str:
        problems = (f"{self.driver.query}: {problem}" for problem in self.problems.values())
        return "\n".join([*problems, self.head, *self.facts()])


_STATES = {
    "waiting": "waiting: its source has nothing new that can be read",
    "interrupted": "interrupted: Ctrl-C or a signal ended it",
    "held": "held: it reads nothing until a place has its answers",
    "quiet": "quiet: nothing came for so long that open windows were closed",
}


def _time(time_ms: int | None) -> str:
    return "–" if time_ms is None else format_time(time_ms)


def _seconds(value_ms: int) -> str:
    return f"{value_ms / 1000:.0f} s"
