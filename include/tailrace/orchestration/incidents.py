"""The open incidents of a query: each is notified once when it begins, and once when it is over."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tailrace.ground.duration import format_time
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.orchestration.notifiers import notify
from tailrace.query.alerts import Alert, Alerts
from tailrace.storage.layout import Layout
from tailrace.storage.status import wall_ms

_LOCK_S = 30.0  # longer than the lock's holder needs to send one message

RUNBOOK = {
    "promise_broken": "look at `tailrace quality`; let the policy wait longer, or promise less",
    "lag": "look at `tailrace status`; raise parallelism or driver memory, or find what slows the source down",
    "place_away": "read the reason in `tailrace status`, and bring the place back: the stream delivers what it lacks",
    "driver_lost": "read the log of `supervise`, mend what it names, then clear `supervise`",
    "crash_loop": "fix the cause in the last lines of the driver's log, then clear `deploy` and `supervise`",
}


class Undelivered(Exception):
    """Raised when a message could not be delivered; the log has the reason."""


@dataclass(frozen=True)
class Incidents:
    """Notifies of a query's conditions.

    Open incidents are recorded beside the query's tables, so that restarts and watchers agree. A failed message is
    retried at the next observation. A process that is killed between the delivery and its record repeats the message.

    Parameters
    ----------
    log : callable
        Called with a line for each message, delivered or not.
    """

    layout: Layout
    alerts: Alerts
    log: Callable[[str], Any]

    def observe(self, condition: str, is_active: bool, detail: str) -> None:
        """Handle an observation of a condition: notify if it has begun or is over.

        Raises
        ------
        Undelivered
            When the notification failed.
        """
        alert = self.alerts.declared().get(condition)
        if alert is None or (condition in self._read()) == is_active:
            return
        self.layout.stream.mkdir(parents=True, exist_ok=True)
        with self.layout.lock("alerts", _LOCK_S):
            open_since = self._read()
            if (condition in open_since) == is_active:  # another watcher was faster
                return
            since = open_since.pop(condition, format_time(wall_ms()))
            self._send(condition, alert, "firing" if is_active else "resolved", since, detail)
            self._write(open_since | ({condition: since} if is_active else {}))

    def forget_undeclared(self) -> None:
        """Drop open incidents of conditions that no longer have a notification, so that a later one counts as new."""
        declared = self.alerts.declared()
        if self._read().keys() <= declared.keys():
            return
        with self.layout.lock("alerts", _LOCK_S):
            self._write({condition: since for condition, since in self._read().items() if condition in declared})

    def _send(self, condition: str, alert: Alert, state: str, since: str, detail: str) -> None:
        query, runbook = self.layout.home.name, alert.runbook or RUNBOOK[condition]
        subject = f"{query}: {condition.replace('_', ' ')}{', over' if state == 'resolved' else ''}: {detail}"
        message = {"query": query, "condition": condition, "state": state, "since": since, "detail": detail}
        try:
            notify(alert.notify, subject, message | {"runbook": runbook})
        except Exception as error:
            self.log(f"alert not delivered, it is tried again: {subject}: {error}")
            raise Undelivered(subject) from error
        self.log(f"alert: {subject}; runbook: {runbook}")

    @property
    def _file(self) -> Location:
        return self.layout.stream / "alerts.json"

    def _read(self) -> dict[str, str]:
        """Return the open incidents with their start times; none if the file is damaged or missing."""
        try:
            return dict(json.loads(self._file.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return {}

    def _write(self, open_since: dict[str, str]) -> None:
        write_atomically(self._file, json.dumps(open_since))
