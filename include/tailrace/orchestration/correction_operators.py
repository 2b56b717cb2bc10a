"""Operators of the DAG correct_<query>: wait for the stream's commits, then correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.duration import format_duration, format_time, parse_time_ms
from tailrace.ground.errors import refuse
from tailrace.orchestration import settings
from tailrace.orchestration.batch_job import BatchJob
from tailrace.orchestration.form import check_conf
from tailrace.orchestration.gap_trigger import RANGE
from tailrace.orchestration.refusals import refusals_fail
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_operators import POLL_S, StreamOperator
from tailrace.orchestration.triggers import FrontierTrigger, past_end, reached
from tailrace.query.query import Query
from tailrace.storage.layout import Layout

_INTERVAL_RUNS = ("scheduled", "backfill")
_GAP_RUN = "asset_triggered"
_INTERVAL_KEYS: tuple[Literal["data_interval_start"], Literal["data_interval_end"]] = (
    "data_interval_start",
    "data_interval_end",
)


def event_range(context: Context) -> tuple[str | None, str | None]:
    """Return the range of event time of a manual run, as typed; None is unbounded.

    Raises
    ------
    Refused
        When an end is not a time, or the range is empty; Airflow does not check this.
    """
    start, end = (context["params"][name] or None for name in ("from", "to"))
    times = [_time(name, text) for name, text in (("from", start), ("to", end)) if text]
    if times != sorted(set(times)):
        raise refuse("from, to", f"the range ends at {end}, which is not after its start, {start}", "from before to")
    return start, end


def _time(name: str, text: str) -> int:
    try:
        return parse_time_ms(text)
    except ValueError:
        raise refuse(name, f"{text!r} is no time", "ISO 8601, as 2013-01-02T00:00:00Z; or nothing") from None


def corrected_interval(context: Context, query: Query) -> tuple[int, int] | None:
    """Return the interval of arrival [a, b) in ms that a run corrects; None if it corrects a range of event time.

    Its ends are floored to the query's tick, like the ends of the adjacent intervals, so no tuple is left out.

    Raises
    ------
    AirflowSkipException
        When no tick ends in the interval, as ticks are longer.
    Refused
        When a scheduled run or a backfill is given a range of event time, or an asset's event has no range.
    """
    run, params = context["dag_run"], context["params"]
    if run.run_type == _GAP_RUN:
        return requested_interval(context)
    if run.run_type not in _INTERVAL_RUNS:
        return None
    if params["from"] or params["to"]:
        raise refuse(
            "from, to", f"a {run.run_type} run corrects its own interval", "a run triggered by hand, for a range"
        )
    tick = max(query.tick_ms, 1)
    start, end = (parse_time_ms(f"{context[name]}") // tick * tick for name in _INTERVAL_KEYS)
    if start >= end:
        raise AirflowSkipException(f"no tick of {format_duration(tick)} ends in this interval: the next run has it")
    return start, end


def requested_interval(context: Context) -> tuple[int, int]:
    """Return the interval of arrival that covers all requests in the asset's events of the run.

    Raises
    ------
    Refused
        When there is no readable range, or it is empty: the events are not from the gap trigger.
    """
    events = [event for events in context["triggering_asset_events"].values() for event in events]
    payloads = [(event.extra or {}).get("payload") for event in events]
    try:
        intervals = [[parse_time_ms(payload[name]) for name in RANGE] for payload in payloads if payload is not None]
        start, end = min(start for start, _ in intervals), max(end for _, end in intervals)
        if start >= end:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        fault = f"no range of arrival is in {payloads}"
        raise refuse("asset event", fault, "to leave events to the watch, and to trigger this DAG by hand") from None
    return start, end


class WaitOperator(StreamOperator):
    """Waits in the triggerer until stream and history have committed up to the end of the run's interval."""

    part = "ledger"

    def execute(self, context: Context) -> None:
        with refusals_fail():
            check_conf(context)
            layout, interval = self.layout(), corrected_interval(context, Declared.read(Path(self.file)).query)
            if interval is None:
                event_range(context)
                self.log.info("a run by hand corrects what is committed, and waits for nothing")
                return
        is_reached, line = reached(layout, interval[1])
        self.log.info(line)
        end_ms = None if is_reached else past_end(layout, interval[1])
        if end_ms is not None:
            self._require_arrivals(interval, end_ms)
        elif not is_reached:
            trigger = FrontierTrigger(self.query, str(layout.home.parent), interval[1], POLL_S)
            self.defer(trigger=trigger, method_name="resume")

    def resume(self, context: Context, event: dict[str, Any]) -> None:
        interval, end_ms = corrected_interval(context, Declared.read(Path(self.file)).query), event.get("past_end_ms")
        if interval is not None and end_ms is not None:
            self._require_arrivals(interval, end_ms)
            return
        self.log.info("committed up to %s, the correction begins", format_time(event["until_ms"]))

    def _require_arrivals(self, interval: tuple[int, int], end_ms: int) -> None:
        """Skip the run if the source's arrival times end before its interval; log the part to correct if within it."""
        never = (
            f"the arrival times of {self.query} end at {format_time(end_ms)}, and it is quiet: they never reach "
            f"{format_time(interval[1])}, unless more of that past comes; then tailrace correct, or a backfill, has it"
        )
        if end_ms <= interval[0]:
            raise AirflowSkipException(never)
        self.log.info("%s; what arrived from %s to that end is corrected now", never, format_time(interval[0]))


class CorrectOperator(BatchJob):
    """Runs the correction by spark-submit, for the run's interval; for a range of event time in a manual run."""

    job, app, lineage_of = "correction", "correct.py", "of_correction"
    corrected: CorrectionRange | None = None

    def lineage_details(self) -> dict[str, Any]:
        return {"correction_range": self.corrected}

    def arguments(self, context: Context) -> list[str]:
        query = Declared.read(Path(self.file)).query
        interval = self._committed_part(corrected_interval(context, query), max(query.tick_ms, 1))
        ends = event_range(context) if interval is None else tuple(map(format_time, interval))
        if context["dag_run"].run_type == _GAP_RUN and interval is not None:
            self._skip_if_corrected(interval)
        start, end = (None if end is None else parse_time_ms(end) for end in ends)
        self.corrected = CorrectionRange(start, end, arrival=interval is not None)
        names = ("--from", "--to") if interval is None else ("--arrived-from", "--arrived-to")
        return [word for name, end in zip(names, ends, strict=True) if end for word in (name, end)]

    def _committed_part(self, interval: tuple[int, int] | None, tick_ms: int) -> tuple[int, int] | None:
        """Cut an interval at the end of the source's arrival times, if that lies within it."""
        end_ms = None if interval is None else past_end(Layout.for_query(settings.warehouse(), self.query), interval[1])
        if interval is None or end_ms is None or (end_ms := end_ms // tick_ms * tick_ms) <= interval[0]:
            return interval
        self.log.info("corrected up to %s, where the stream's arrival times end", format_time(end_ms))
        return interval[0], end_ms

    def _skip_if_corrected(self, interval: tuple[int, int]) -> None:
        """Skip the run if all its late tuples are corrected already.

        A range may be requested twice if a correction takes long, or be corrected by schedule meanwhile.
        """
        from tailrace.correction.uncorrected import Uncorrected  # noqa: PLC0415 (Delta takes long to import)
        from tailrace.storage.opened_tables import OpenedTables  # noqa: PLC0415 (Delta takes long to import)

        late = Uncorrected.read(OpenedTables(Layout.for_query(settings.warehouse(), self.query)))
        if late is not None and not late.within(interval).any():
            raise AirflowSkipException("all that came late in this range is corrected already")
