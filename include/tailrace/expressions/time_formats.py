"""Writes and reads times as texts by Spark's patterns, such as `yyyy-MM-dd`.

Spark takes the patterns of Java's DateTimeFormatter, in English, and strictly. Supported are the letters that tests
compare with Spark; others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tailrace.expressions.casts import cast
from tailrace.expressions.literals import TypeFault
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.registry import FUNCTIONS, constant_of, function, take
from tailrace.expressions.time_texts import StatedTime, text_parts
from tailrace.expressions.times import BEYOND
from tailrace.expressions.types import DATE, TEXT, TIMESTAMP, text_literal

_TOKEN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>(?P<letter>[A-Za-z])(?P=letter)*)|(?P<other>.)", re.DOTALL)
_RESERVED = "'[]{}#"
_OF_WEEKS = "YwWuec"
"""The letters for week-based years and weeks, which Spark refuses, too."""

_FEW = 4
_MOST_DIGITS = 19
_FRACTION_DIGITS, _MICRO_DIGITS = 9, 6
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"


class Token(NamedTuple):
    """A part of a pattern: one or several of the same letter, or a literal text."""

    text: str
    is_letters: bool


def _tokens(pattern: str) -> Iterator[Token]:
    """Split a pattern into its tokens.

    Raises
    ------
    TypeFault
    """
    for match in _TOKEN.finditer(pattern):
        if match["letters"]:
            yield Token(match["letters"], is_letters=True)
        elif match["quoted"] is not None:
            yield Token(match["quoted"].replace("''", "'") or "'", is_letters=False)
        elif match["other"] in _RESERVED:
            remedy = "a text in quotes: 'T', or '' for a quote"
            raise TypeFault(f"the pattern {pattern!r} has {match['other']} in it", remedy)
        else:
            yield Token(match["other"], is_letters=False)


def _refusal(pattern: str, letters: str, known: Sequence[str], what: str) -> TypeFault:
    """Return the refusal of letters that are not in `known`."""
    if letters[0] in _OF_WEEKS:
        fault = f"{letters} in the pattern {pattern!r} counts by weeks, and Spark takes no such pattern"
        return TypeFault(fault, "yyyy for the year; weekofyear(ts), extract(yearofweek from ts)")
    fault = f"{letters} in the pattern {pattern!r} is not {what} here"
    of_letter = [[each for each in known if each[0] == letter] for letter in dict.fromkeys(each[0] for each in known)]
    listed = (" ".join(each) if len(each) <= _FEW else f"{each[0]} … {each[-1]}" for each in of_letter)
    return TypeFault(fault, f"{', '.join(listed)}; a text in quotes: 'T'")


# How times are written


def _two(letter: str, sql: str) -> dict[str, tuple[str, str]]:
    """Return the two forms in which a number is written: without padding, and with two digits."""
    return {letter: ("%d", sql), 2 * letter: ("%02d", sql)}


def _fraction(digits: int) -> tuple[str, str]:
    shift = digits - _MICRO_DIGITS
    scale = f"* {10**shift}" if shift >= 0 else f"// {10**-shift}"
    return f"%0{digits}d", f"microsecond({{0}}) % 1000000 {scale}"


_WRITTEN: dict[str, tuple[str, str]] = {
    **{"y": ("%d", "year({0})"), "yy": ("%02d", "year({0}) % 100")},
    **{"yyy": ("%03d", "year({0})"), "yyyy": ("%04d", "year({0})")},
    **_two("M", "month({0})"),
    **{"MMM": ("%s", "strftime({0}, '%b')"), "MMMM": ("%s", "strftime({0}, '%B')")},
    **_two("d", "day({0})"),
    **_two("D", "dayofyear({0})"),
    "DDD": ("%03d", "dayofyear({0})"),
    **_two("Q", "quarter({0})"),
    "QQQ": ("Q%d", "quarter({0})"),
    **dict.fromkeys(("E", "EE", "EEE"), ("%s", "strftime({0}, '%a')")),
    "EEEE": ("%s", "strftime({0}, '%A')"),
    **_two("H", "hour({0})"),
    **_two("k", "(hour({0}) + 23) % 24 + 1"),
    **_two("h", "(hour({0}) + 11) % 12 + 1"),
    **_two("K", "hour({0}) % 12"),
    "a": ("%s", "CASE WHEN hour({0}) < 12 THEN 'AM' ELSE 'PM' END"),
    **_two("m", "minute({0})"),
    **_two("s", "second({0})"),
    **{"S" * digits: _fraction(digits) for digits in range(1, _FRACTION_DIGITS + 1)},
    **dict.fromkeys(("X", "XX", "XXX"), ("Z", "")),
    **{"x": ("+00", ""), "xx": ("+0000", ""), "xxx": ("+00:00", "")},
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), ("+0000", "")),
}
"""By letters of a pattern: the part of a printf format, and the SQL of its value, or '' without one."""


def _written(pattern: str) -> tuple[str, list[str]]:
    """Return the format of printf that writes a timestamp by a pattern, and the SQL of its values.

    Raises
    ------
    TypeFault
    """
    text, values = "", list[str]()
    for token in _tokens(pattern):
        if not token.is_letters:
            text += token.text.replace("%", "%%")
            continue
        if token.text not in _WRITTEN:
            raise _refusal(pattern, token.text, [*_WRITTEN], "written")
        part, value = _WRITTEN[token.text]
        text += part
        values += [value] if value else []
    return text, values


@function(
    "date_format(timestamp, pattern)",
    "the timestamp as text by a literal pattern: 'yyyy-MM-dd HH:mm'",
    literals={1: _written},
)
def _date_format(plan: Plan, terms: Sequence[Term]) -> Term:
    text, values = _written(str(constant_of(terms[1], TEXT, "the pattern")))
    time = take(plan, terms[0], TIMESTAMP)
    written = ", ".join([text_literal(text), *(value.format(time.sql) for value in values)])
    outside = f"year({time.sql}) < 1 OR year({time.sql}) > 9999"
    return plan.checked(f"CASE WHEN {time.sql} IS NOT NULL THEN printf({written}) END", TEXT, outside, BEYOND, time)


# How times are read


class _LetterForm(NamedTuple):
    """The form of the letters of one part of a time.

    Attributes
    ----------
    part : str
        The part of a time that they state; each part is stated at most once.
    name : str
        The name of their group.
    pattern : str
        The regular expression of their text.
    has_digits, is_open : bool
        Whether it can begin with a digit, and whether a following digit belongs to it.
    """

    part: str
    name: str
    pattern: str
    has_digits: bool = True
    is_open: bool = False


def _number(letter: str, part: str, name: str | None = None) -> dict[str, _LetterForm]:
    """Return the two forms in which a number is read: of any length, and of two digits."""
    return {
        letter: _LetterForm(part, name or part, f"[0-9]{{1,{_MOST_DIGITS}}}", is_open=True),
        2 * letter: _LetterForm(part, name or part, "[0-9]{2}"),
    }


_zone = partial(_LetterForm, "zone", "zone", has_digits=False, is_open=True)
_READ: dict[str, _LetterForm] = {
    **_number("y", "year"),
    "yy": _LetterForm("year", "year_of_century", "[0-9]{2}"),
    "yyyy": _LetterForm("year", "year", "[0-9]{4}"),
    **_number("M", "month"),
    "MMM": _LetterForm("month", "month_name", "|".join(_MONTHS), has_digits=False),
    "MMMM": _LetterForm("month", "month_name", _LONG_MONTHS, has_digits=False),
    **_number("d", "day"),
    **_number("H", "hour"),
    **_number("h", "hour", "hour_of_half"),
    "a": _LetterForm("half", "half", "AM|PM", has_digits=False),
    **_number("m", "minute"),
    **_number("s", "second"),
    **{
        "S" * digits: _LetterForm("fraction", "fraction", f"[0-9]{{1,{digits}}}", is_open=True)
        for digits in range(1, _FRACTION_DIGITS + 1)
    },
    "X": _zone(pattern="Z|[+-][0-9]{2}(?:[0-9]{2})?"),
    "XX": _zone(pattern="Z|[+-][0-9]{4}"),
    "XXX": _zone(pattern="Z|[+-][0-9]{2}:[0-9]{2}"),
    "x": _zone(pattern="[+-][0-9]{2}(?:[0-9]{2})?"),
    "xxx": _zone(pattern="[+-][0-9]{2}:[0-9]{2}"),
    **dict.fromkeys(("xx", "Z", "ZZ", "ZZZ"), _zone(pattern="[+-][0-9]{4}")),
}


class _Format(NamedTuple):
    """The regular expression of texts that a pattern reads, and the names of its groups."""

    expression: str
    names: tuple[str, ...]


def _read(pattern: str) -> _Format:
    """Return the regular expression for texts of a pattern.

    Raises
    ------
    TypeFault
    """
    expression, parts, before = "", dict[str, _LetterForm](), None
    for token in _tokens(pattern):
        if not token.is_letters:
            expression += re.escape(token.text)
            if before is not None and before.is_open and token.text[0].isdigit():
                raise TypeFault(f"the pattern {pattern!r} has a digit behind a number of any length", "MM and the like")
            before = None
            continue
        reading = _READ.get(token.text)
        if reading is None:
            raise _refusal(pattern, token.text, [*_READ], "read")
        if reading.part in parts:
            raise TypeFault(f"the pattern {pattern!r} states the {reading.part} twice", "each part of a time once")
        if before is not None and reading.has_digits and (before.is_open or (before.has_digits and reading.is_open)):
            fault = f"the pattern {pattern!r} has {token.text} right behind another number, of which one has any length"
            raise TypeFault(fault, "numbers of two digits, as yyyyMMddHHmmss; or a text between them")
        parts[reading.part] = before = reading
        expression += f"({reading.pattern})"
    if not parts:
        raise TypeFault(f"the pattern {pattern!r} reads no part of a time", "'yyyy-MM-dd'")
    if "half" in parts and parts.get("hour") not in (_READ["h"], _READ["hh"]):
        raise TypeFault(f"the pattern {pattern!r} has a without h", "hh:mm a, or HH:mm")
    return _Format(f"(?i)^{expression}$", tuple(each.name for each in parts.values()))


def _stated(plan: Plan, text: Term, format_: _Format) -> StatedTime:
    """Return the parts of a time that texts state; parts missing in the pattern are as in 1970-01-01 00:00."""
    parts = text_parts(plan, text, format_.expression, format_.names)

    def number(name: str, default: str) -> str:
        return f"TRY_CAST({parts.sql}.{name} AS BIGINT)" if name in format_.names else default

    year, month = number("year", "1970"), number("month", "1")
    if "year_of_century" in format_.names:
        year = f"2000 + {number('year_of_century', '')}"
    if "month_name" in format_.names:
        listed = ", ".join(text_literal(each) for each in _MONTHS)
        month = f"list_position([{listed}], left(lower({parts.sql}.month_name), 3))"
    hour = number("hour", "0")
    if "hour_of_half" in format_.names:
        of_half = number("hour_of_half", "")
        later = f"12 * CAST(upper({parts.sql}.half) = 'PM' AS BIGINT)" if "half" in format_.names else "0"
        hour = f"CASE WHEN {of_half} BETWEEN 1 AND 12 THEN {of_half} % 12 + {later} END"
    is_read = f"{parts.sql}.{format_.names[0]} <> ''"
    date = f"CASE WHEN {is_read} THEN make_date({year}, {month}, {number('day', '1')}) END"
    fraction = f"{parts.sql}.fraction" if "fraction" in format_.names else "''"
    zone = f"upper({parts.sql}.zone)" if "zone" in format_.names else "''"
    return StatedTime(parts, date, hour, number("minute", "0"), number("second", "0"), fraction, zone)


def _reading(name: str, meaning: str, is_try: bool = False) -> None:
    dtype = DATE if name.endswith("date") else TIMESTAMP

    @function(f"{name}(text[, pattern])", meaning, literals={1: _read})
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        """Read a text by a pattern; for a date or a timestamp the pattern is ignored, as in Spark."""
        term = terms[0]
        if len(terms) == 1 or term.dtype in (DATE, TIMESTAMP):
            return cast(plan, term if term.dtype == TEXT else take(plan, term, dtype), dtype, is_try)
        pattern = str(constant_of(terms[1], TEXT, "the pattern"))
        text = take(plan, term, TEXT)
        read = _stated(plan, text, _read(pattern)).timestamp(plan, text, f"a text that is not {pattern}")
        return cast(plan, replace(read, faults=text.faults) if is_try else read, dtype)


_reading("to_date", "the date that a text, or a timestamp, states; by a literal pattern, as 'dd.MM.yyyy'")
_reading("to_timestamp", "the timestamp that a text, or a date, states; in UTC where it has no zone")
_reading("try_to_date", "the date as to_date, but null where a text states none", is_try=True)
_reading("try_to_timestamp", "the timestamp as to_timestamp, but null where a text states none", is_try=True)
for _name in ("date", "timestamp"):
    function(f"{_name}(text)", f"to_{_name} without a pattern")(FUNCTIONS[f"to_{_name}"].compile)
