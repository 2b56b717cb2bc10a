"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tailrace.ground.duration import parse_duration, parse_time_ms

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """A clock for the event times and arrival times of rows, which stands still until a test moves it.

    >>> clock = Clock("2024-05-01T12:00:00Z")
    >>> clock.advance("1500 ms").isoformat()
    '2024-05-01T12:00:01.500000+00:00'
    """

    def __init__(self, start: str | datetime = "2024-01-01") -> None:
        text = start if isinstance(start, str) else start.isoformat()
        self.now = _EPOCH + timedelta(milliseconds=parse_time_ms(text))

    def advance(self, duration: str | timedelta) -> datetime:
        """Move the clock by a duration, as `500 ms` or `5 s`, and return the time."""
        self.now += parse_duration(duration)
        return self.now
