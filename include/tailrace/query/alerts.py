"""The section `alerts` of a query file: the conditions, and the people notified of each."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from tailrace.ground.duration import Duration
from tailrace.ground.fields import Section

ConnectionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,200}$")]
Line = Annotated[str, Field(pattern=r"^[^\r\n]{1,500}$")]

_EXAMPLE = "{notify: ops_webhook}"


class Alert(Section):
    """A condition's notifier, and its settings."""

    notify: ConnectionId = Field(
        description="Airflow connection (http or smtp) to notify by; its extra needs tailrace_notify true: ops_webhook"
    )
    runbook: Line | None = Field(
        default=None, description="one line sent with the alert that says what to do: see the wiki's page on flights"
    )


class LagAlert(Alert):
    """The notifier of a stream that lags, and the bound."""

    rows: Annotated[int, Field(ge=1)] = Field(
        description="number of unread rows in the source above which the stream lags: 100000"
    )


class PlaceAlert(Alert):
    """The notifier of a place that takes no answers, and the time after which that is an incident."""

    after: Annotated[Duration, Field(ge=timedelta(0))] = Field(
        default=timedelta(minutes=5),
        description="how long a place may take no answers before the alert is sent: 10 min",
    )


class Alerts(Section):
    """The conditions with a notification, each when it begins and when it is over."""

    promise_broken: Alert | None = Field(
        default=None, description=f"alert when measured errors break the policy's promise: {_EXAMPLE}"
    )
    lag: LagAlert | None = Field(
        default=None,
        description="alert when too many unread rows wait in the source: {notify: ops_webhook, rows: 100000}",
    )
    place_away: PlaceAlert | None = Field(
        default=None,
        description="alert when PostgreSQL, Kafka or the table current takes no answers for long: "
        "{notify: ops_webhook, after: 10 min}",
    )
    driver_lost: Alert | None = Field(
        default=None, description=f"alert when no driver runs the query, or its driver host does not answer: {_EXAMPLE}"
    )
    crash_loop: Alert | None = Field(
        default=None, description=f"alert when the driver died too often and is not restarted: {_EXAMPLE}"
    )

    def declared(self) -> dict[str, Alert]:
        """Return the declared alerts by condition."""
        alerts = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: alert for name, alert in alerts.items() if alert is not None}
