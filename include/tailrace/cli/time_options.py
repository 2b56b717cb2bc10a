"""Times as values of options."""

from __future__ import annotations

from tailrace.ground.duration import parse_time_ms
from tailrace.ground.errors import refuse


def time_option(option: str, text: str | None) -> int | None:
    """Parse the value of a time option to epoch milliseconds; None where the option is absent."""
    try:
        return None if text is None else parse_time_ms(text)
    except ValueError:
        raise refuse(
            option, f"{text!r} is no time", "ISO 8601, in UTC unless it says otherwise: 2013-02-01T06:30:00Z"
        ) from None
