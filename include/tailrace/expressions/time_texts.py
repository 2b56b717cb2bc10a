"""Reads dates and timestamps from texts as Spark's casts do; any other text is a fault of its record.

A text may leave out the day, or the month and the day: 2024-02 is 2024-02-01, and 2024 is 2024-01-01.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from tailrace.expressions.expression import value_of
from tailrace.expressions.literals import constant, null
from tailrace.expressions.literals import text as text_of
from tailrace.expressions.plan import Fault, Plan, Term
from tailrace.expressions.types import BIGINT, DATE, TEXT, TIMESTAMP, text_literal

_BLANK = r"[\x00-\x20\x7F]*"
_MONTH = r"-([0-9]{1,2})"
_AFTER_DAY = r"(?:[ T](?s:.*))?"
_SHIFT = r"[+-][0-9]{1,2}(?::[0-9]{1,2})?|[+-][0-9]{1,2}:[0-9]{2}:[0-9]{2}|[+-][0-9]{4}|[+-][0-9]{6}"
_ZONE = rf"(?: *(Z|(?:UTC|GMT|UT)?(?:{_SHIFT})|UTC|GMT|UT))?"
_SECOND = rf":([0-9]{{1,2}})(?:\.([0-9]*))?{_ZONE}"
_CLOCK = rf"[ T]([0-9]{{1,2}})(?::([0-9]{{1,2}})(?:{_SECOND})?)?"
"""A time of day; only one with seconds may have a zone."""

_DATE_PARTS = ("year", "month", "day")
_TIME_PARTS = ("hour", "minute", "second", "fraction", "zone")
_MOST_SHIFT_S = 18 * 3600
FIRST_TIME, LAST_TIME = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"


def time_from_text(plan: Plan, term: Term, target: pa.DataType, reason: str) -> Term:
    """Read a date or a timestamp; literals are read at once, so that lists of hundreds cost nothing per batch."""
    if not term.is_literal or term.value is None:
        return _READERS[target](plan, term, reason)
    read = _time_of(term.value, target)
    if read is None:
        return replace(null(target), is_literal=False, faults=(*term.faults, Fault("TRUE", reason)))
    return replace(constant(read, target, text_literal(read)), faults=term.faults)


@lru_cache(4096)
def _time_of(text: str, target: pa.DataType) -> str | None:
    """Return the time that a text states, in DuckDB's form; None without one."""
    plan = Plan.over({})
    return value_of(plan, _READERS[target](plan, text_of(text), ""))


def _date_from_text(plan: Plan, term: Term, reason: str) -> Term:
    """Read a date; anything after a complete day and a blank or T is ignored."""
    pattern = _pattern(3, _AFTER_DAY)
    parts = text_parts(plan, term, pattern, (*_DATE_PARTS, "short_year", "short_month", "short_day"))
    return plan.fallible(_date(parts), DATE, reason, term, uses=[parts])


def _timestamp_from_text(plan: Plan, term: Term, reason: str) -> Term:
    """Read a timestamp, in UTC if it has no zone; digits beyond microseconds are cut off."""
    pattern = _pattern(2, _CLOCK)
    short = ("short_year", "short_month", "short_day")
    parts = text_parts(plan, term, pattern, (*_DATE_PARTS, *_TIME_PARTS, *short))
    hour, minute, second = (f"CAST({_part(parts, name)} AS BIGINT)" for name in ("hour", "minute", "second"))
    stated = StatedTime(parts, _date(parts), hour, minute, second, f"{parts.sql}.fraction", f"{parts.sql}.zone")
    return stated.timestamp(plan, term, reason)


@dataclass(frozen=True)
class StatedTime:
    """The parts of a time as a text states them, in SQL.

    Attributes
    ----------
    parts : Term
        The step with all parts.
    date : str
        A date; it may raise.
    hour, minute, second : str
        Integers, which may be too large, or null.
    fraction, zone : str
        Texts: digits, and a zone or ''.
    """

    parts: Term
    date: str
    hour: str
    minute: str
    second: str
    fraction: str
    zone: str

    def timestamp(self, plan: Plan, term: Term, reason: str) -> Term:
        """Return the timestamp that a text states; if it states none, the record has a fault."""
        clock = f"({self.hour} * 60 + {self.minute}) * 60 + {self.second}"
        is_sound = f"{self.hour} < 24 AND {self.minute} < 60 AND {self.second} < 60"
        second = plan.step(f"CASE WHEN {is_sound} THEN {clock} END", BIGINT, self.parts)
        fraction = f"CAST(left(rpad({self.fraction}, 6, '0'), 6) AS BIGINT)"
        shift = _shift(plan, self.zone, self.parts)
        micros = f"({second.sql} - {shift.sql}) * 1000000 + {fraction}"
        sql = plan.step(
            f"TRY(CAST({self.date} AS TIMESTAMP) + to_microseconds({micros}))", TIMESTAMP, self.parts, shift, second
        )
        within = f"CASE WHEN {sql.sql} BETWEEN {FIRST_TIME} AND {LAST_TIME} THEN {sql.sql} END"
        return plan.fallible(within, TIMESTAMP, reason, term, uses=[sql])


_READERS = {DATE: _date_from_text, TIMESTAMP: _timestamp_from_text}


def _pattern(zeros: int, after_day: str) -> str:
    """Return the pattern of a text whose year may begin with this number of zeros."""
    year = rf"\+?0{{0,{zeros}}}([0-9]{{4}})"
    return rf"^{_BLANK}(?:{year}{_MONTH}{_MONTH}{after_day}|{year}(?:{_MONTH}(?:{_MONTH})?)?){_BLANK}$"


def text_parts(plan: Plan, term: Term, pattern: str, names: Sequence[str]) -> Term:
    """Add a step with the groups of a pattern as texts; all are empty if a text does not match."""
    listed = ", ".join(text_literal(name) for name in names)
    sql = f"regexp_extract({term.sql}, {text_literal(pattern)}, [{listed}])"
    return plan.step(sql, pa.struct([(name, TEXT) for name in names]), term)


def _part(parts: Term, name: str, default: str = "0") -> str:
    return f"COALESCE(NULLIF({parts.sql}.{name}, ''), '{default}')"


def _date(parts: Term) -> str:
    """Return the SQL of the date of some parts; it raises for a date that does not exist."""
    texts = (
        f"COALESCE(NULLIF({parts.sql}.{name}, ''), NULLIF({parts.sql}.short_{name}, ''), '{default}')"
        for name, default in zip(_DATE_PARTS, ("0", "1", "1"), strict=True)
    )
    year, *rest = (f"CAST({text} AS BIGINT)" for text in texts)
    return f"make_date(NULLIF({year}, 0), {', '.join(rest)})"


def _shift(plan: Plan, zone: str, parts: Term) -> Term:
    """Add a step with the seconds by which a zone is ahead of UTC; null if a text is no zone."""
    hours = _after_sign(zone, "([0-9]{1,2})")
    minutes = _after_sign(zone, "[0-9]{1,2}:([0-9]{1,2})", "[0-9]{2}([0-9]{2})")
    seconds = _after_sign(zone, "[0-9]{1,2}:[0-9]{2}:([0-9]{2})", "[0-9]{4}([0-9]{2})")
    ahead = f"({hours} * 60 + {minutes}) * 60 + {seconds}"
    is_zone = f"{minutes} < 60 AND {seconds} < 60 AND {ahead} <= {_MOST_SHIFT_S}"
    signed = f"CASE WHEN contains({zone}, '-') THEN -1 ELSE 1 END * ({ahead})"
    sql = f"CASE WHEN {zone} IN ('', 'Z') THEN 0 WHEN {is_zone} THEN {signed} END"
    return plan.step(sql, BIGINT, parts)


def _after_sign(zone: str, *patterns: str) -> str:
    """Return the SQL of the number that a pattern finds after a zone's sign, else 0."""
    offsets = ", ".join(f"NULLIF(regexp_extract({zone}, '[+-]{pattern}', 1), '')" for pattern in patterns)
    return f"CAST(COALESCE({offsets}, '0') AS BIGINT)"
