"""Gauges of a live stream, sent to the receiver of Airflow's own metrics if its section [metrics] has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from airflow.sdk.configuration import conf
from airflow.sdk.observability.metrics.stats_utils import get_stats_factory

from tailrace.drivers.driver_status import DriverStatus
from tailrace.storage.status import Status


class Gauge(NamedTuple):
    """A gauge: its description, its unit, and the function that reads it from a status.

    The function returns None for an unknown value.
    """

    description: str
    unit: str
    of: Callable[[DriverStatus, Status], float | None]


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


def _age_s(status: DriverStatus, time_ms: int | None) -> float | None:
    return None if time_ms is None else (status.now_ms - time_ms) / 1000


def _retries(reported: Status) -> bool:
    """Test whether a driver has a problem that it tries again; the problem of a failed one is the reason of its end."""
    return reported.problem is not None and reported.state != "failed"


GAUGES = {
    "alive": Gauge("whether its host keeps the driver alive", "1 or 0", lambda status, _: status.driver.alive),
    "problem": Gauge("whether it has a problem that it tries again", "1 or 0", lambda _, of: _retries(of)),
    "silence_s": Gauge("since the driver's last report", "s", lambda status, _: _seconds(status.silent_ms)),
    "commit_age_s": Gauge("since the last commit", "s", lambda status, _: _seconds(status.commit_age_ms)),
    "batch_s": Gauge("the longest of the newest batches", "s", lambda _, of: _seconds(of.batch_ms)),
    "lag_rows": Gauge(
        "known to be in the source, not in a batch yet; not sent while no driver reads it",
        "rows",
        lambda status, _: status.lag_rows,
    ),
    "arrival_age_s": Gauge("since the arrival up to which all is read", "s", lambda at, of: _age_s(at, of.committed)),
    "frontier_age_s": Gauge("since the frontier, in event time", "s", lambda at, of: _age_s(at, of.frontier)),
    "k_s": Gauge("the slack K in force", "s", lambda _, of: _seconds(of.k_ms)),
    "coverage": Gauge("the share of the tuples in closed windows", "share", lambda _, of: of.coverage),
    "batches": Gauge("committed", "batches, a total", lambda _, of: of.batches),
    "rows": Gauge("accepted", "rows, a total", lambda _, of: of.rows),
    "late": Gauge("late", "rows, a total", lambda _, of: of.late),
    "repeats": Gauge("whose id had come before", "rows, a total", lambda _, of: of.repeats),
    "quarantined": Gauge("refused", "rows, a total", lambda _, of: of.quarantined),
    "filtered": Gauge("left out by where or a lookup", "rows, a total", lambda _, of: of.filtered),
    "unmatched": Gauge("left out by a lookup that has no row", "rows, a total", lambda _, of: of.unmatched),
    "answers": Gauge("answered", "rows, a total", lambda _, of: of.answers),
}
"""The gauges by name. Totals count the life of the stream, across restarts."""

HOST_ANSWERS = "host_answers"
"""One more gauge: whether the driver host answers, 1 or 0."""


class DriverMetrics:
    """Sends the gauges of one query; it never raises.

    Plain StatsD has no tags, so the query is part of the gauge's name: `tailrace.QUERY.lag_rows`. Otherwise it is the
    tag `query` of `tailrace.lag_rows`.

    Parameters
    ----------
    log : callable
        Called once with the reason why gauges can't be sent.
    """

    def __init__(self, query: str, log: Callable[[str], Any]) -> None:
        self._query, self._log, self._backend = query, log, None
        try:
            self._backend = get_stats_factory()()
            self._prefix = f"tailrace.{query}." if _is_plain_statsd() else "tailrace."
        except Exception as error:  # such as a missing package
            log(f"metrics are not sent: {error}")

    def send(self, status: DriverStatus | None) -> None:
        """Send the result of a poll; None where the driver host did not answer."""
        values: dict[str, float | None] = {HOST_ANSWERS: status is not None}
        if status is not None:
            reported = status.reported
            names = GAUGES if reported is not None else ("alive",)
            stand_in = reported or Status("starting", 0, 0, 0, 0)
            values |= {name: GAUGES[name].of(status, stand_in) for name in names}
        try:
            for name, value in values.items():
                if self._backend is not None and value is not None:
                    self._backend.gauge(f"{self._prefix}{name}", float(value), tags={"query": self._query})
        except Exception as error:
            self._backend = None
            self._log(f"metrics are not sent any more: {error}")


def _is_plain_statsd() -> bool:
    is_on = {name: conf.getboolean("metrics", name) for name in ("statsd_on", "statsd_datadog_enabled")}
    has_tags = conf.getboolean("metrics", "statsd_influxdb_enabled", fallback=False)
    return is_on["statsd_on"] and not is_on["statsd_datadog_enabled"] and not has_tags
