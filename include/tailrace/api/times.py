"""Times as arguments."""

from __future__ import annotations

from datetime import UTC, datetime

from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.duration import parse_time_ms
from tailrace.ground.errors import refuse

Time = str | int | datetime | None
"""A time: an ISO 8601 text or a `datetime`, in UTC without a zone; or epoch milliseconds."""


def time_ms(option: str, value: Time) -> int | None:
    """Return a time in epoch milliseconds; None for None."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return parse_time_ms(moment.isoformat())
    try:
        return parse_time_ms(value)
    except ValueError:
        raise refuse(
            option, f"{value!r} is no time", "ISO 8601, in UTC unless it says otherwise: 2013-02-01T06:30:00Z"
        ) from None


def range_of(start: Time, end: Time, arrived_from: Time, arrived_to: Time) -> CorrectionRange:
    """Return the range of a correction: of event time, or of arrival.

    Raises
    ------
    Refused
        When both are given, or only one end of an interval of arrival.
    """
    by_arrival = arrived_from is not None or arrived_to is not None
    if by_arrival and (start is not None or end is not None):
        raise refuse(
            "--from, --arrived-from",
            "a range of event time and an interval of arrival exclude each other",
            "one of them",
        )
    if by_arrival and (arrived_from is None or arrived_to is None):
        raise refuse("--arrived-from, --arrived-to", "an interval of arrival has two ends", "both of them")
    if by_arrival:
        return CorrectionRange(time_ms("--arrived-from", arrived_from), time_ms("--arrived-to", arrived_to), True)
    return CorrectionRange(time_ms("--from", start), time_ms("--to", end))
