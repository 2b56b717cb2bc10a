"""Reads the windows of a SELECT: Flink's TUMBLE, HOP and SESSION, or Spark's window and session_window."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlglot.tokenizer_core import TokenType

from tailrace.ground.duration import format_duration, ms, parse_duration
from tailrace.ground.words import counted
from tailrace.sql.clauses import ONE_STREAM
from tailrace.sql.tokens import TokenSpan

_DAYS_OF_WEEK = 7
_OF_CALENDARS = ("month", "quarter", "year")
_TUMBLE = "TUMBLE(TABLE events, DESCRIPTOR(event_time), INTERVAL '5' MINUTES)"
_HOP = "HOP(TABLE events, DESCRIPTOR(event_time), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES): step, then size"
_WINDOW = "window(event_time, '5 minutes'), or window(event_time, '5 minutes', '1 minute'): size, then step"
_SESSION = "SESSION(TABLE events PARTITION BY country, DESCRIPTOR(event_time), INTERVAL '30' MINUTES)"
_SESSION_WINDOW = "session_window(event_time, '30 minutes'): the longest time between two tuples of a session"
_FUNCTIONS = {"TUMBLE": _TUMBLE, "HOP": _HOP, "SESSION": _SESSION}
_WHOLE = ("WINDOW", "SESSION_WINDOW")
_INTERVAL = "INTERVAL '5' MINUTES, or '5 minutes'"
WINDOW_COLUMNS = ("window_start", "window_end")


@dataclass(frozen=True)
class WrittenWindows:
    """Windows over event time as written.

    Attributes
    ----------
    event_time : Piece
        The column of event time.
    lengths : dict
        The fields of the section `window` (size, slide, offset; session), with their positions.
    partition : tuple of TokenSpan or None
        The columns of SESSION's PARTITION BY; None for other windows.
    """

    event_time: TokenSpan
    lengths: dict[str, TokenSpan]
    partition: tuple[TokenSpan, ...] | None = None

    @property
    def are_sessions(self) -> bool:
        """Whether they are sessions, and not windows with a size."""
        return "session" in self.lengths

    @property
    def function(self) -> str:
        """Spark's function for such windows, which is also the name of the column with both bounds."""
        return "session_window" if self.are_sessions else "window"

    def section(self, has_zone: bool) -> dict[str, str]:
        """Return the section `window` of a query file.

        Parameters
        ----------
        has_zone : bool
            Whether the query's windows follow a time zone, so that weeks begin on Mondays.
        """
        lengths = {name: _duration(piece, has_zone and name == "size") for name, piece in self.lengths.items()}
        if lengths.get("session", "").endswith(_OF_CALENDARS):
            gap = self.lengths["session"]
            raise gap.error(f"{gap.text} has no fixed length, and the gap of sessions has one", "'30 days'")
        if "slide" in lengths and lengths["slide"] == lengths["size"]:
            del lengths["slide"]
        if lengths.get("offset") == "0 ms":
            del lengths["offset"]
        return lengths

    def equals(self, other: WrittenWindows) -> bool:
        """Test whether both are the same windows, however they are written."""
        is_one_time = self.event_time.name == other.event_time.name
        return is_one_time and self.section(has_zone=False) == other.section(has_zone=False)


@dataclass(frozen=True)
class Source:
    """The source after FROM: a stream by its name, perhaps with windows; or a subquery, perhaps with a name."""

    stream: TokenSpan
    windows: WrittenWindows | None = None
    subquery: TokenSpan | None = field(default=None)
    alias: str | None = None


def source_of(piece: TokenSpan) -> Source:
    """Read the source after FROM.

    Raises
    ------
    ExpressionError
    """
    if len(piece.split()) > 1:
        raise piece.split()[1].error("a second table, which no query has", ONE_STREAM)
    if piece.word(0) == "TABLE" and piece.word(1) == "(":
        inner, rest = piece[2 : piece.close(1)], piece[piece.close(1) + 1 :]
        _refuse_alias(rest)
        return _of_function(inner)
    if piece.word(1) == "(":
        return _of_function(piece)
    if piece.word(0) == "(":
        end = piece.close(0)
        alias = piece[end + 2 :] if piece.word(end + 1) == "AS" else piece[end + 1 :]
        if len(alias) and alias.name is None:
            raise alias.error(f"{alias.text} is no name of a subquery", "a name, or none")
        return Source(piece[:0], subquery=piece[1:end], alias=alias.name)
    if piece[:1].name is None:
        raise piece.error(f"{piece[:1].text} is no stream", "the name of the query's stream")
    if piece.word(1) == ".":
        raise piece.error(f"{piece.text} is no stream: streams are in no schema", "the name of the query's stream")
    _refuse_alias(piece[1:])
    return Source(piece[:1])


def window_call(piece: TokenSpan) -> WrittenWindows | None:
    """Read Spark's window() or session_window(), which group by windows; None for anything else."""
    if piece.word(0) not in _WHOLE or piece.word(1) != "(" or piece.close(1) != len(piece) - 1:
        return None
    arguments = piece[2:-1].split()
    if piece.word(0) == "SESSION_WINDOW":
        if len(arguments) != 2:  # noqa: PLR2004  event time and the gap
            surplus = arguments[2] if len(arguments) > 2 else piece  # noqa: PLR2004
            raise surplus.error(f"session_window has two arguments, and not {len(arguments)}", _SESSION_WINDOW)
        return WrittenWindows(arguments[0], {"session": arguments[1]})
    if not 2 <= len(arguments) <= 4:  # noqa: PLR2004  event time and one to three lengths
        raise piece.error("window has not two to four arguments", _WINDOW)
    event_time, *lengths = arguments
    return WrittenWindows(event_time, dict(zip(("size", "slide", "offset"), lengths, strict=False)))


def bound_name(piece: TokenSpan) -> str | None:
    """Return the answers' column for a bound of the windows; None for anything else, such as a quoted name."""
    if len(piece) == 1 and piece.word(0).lower() in WINDOW_COLUMNS:
        return piece.word(0).lower()
    return _bound(piece)


def is_whole_window(piece: TokenSpan) -> bool:
    """Test whether the piece is Spark's column `window` or `session_window`, which holds both bounds."""
    return len(piece) == 1 and piece.word(0) in _WHOLE


def holds_bounds(name: str) -> bool:
    """Test whether a column of this name has a bound of the windows, or both."""
    return name.lower() in WINDOW_COLUMNS or name.upper() in _WHOLE


def refuse_column_of_others(piece: TokenSpan, windows: WrittenWindows) -> None:
    """Refuse `window`, or a bound in it, for sessions; and `session_window` for windows with a size.

    Raises
    ------
    ExpressionError
    """
    is_column = is_whole_window(piece) or _bound(piece) is not None
    if is_column and piece.word(0) != windows.function.upper():
        theirs, ours = ("windows with a size", "sessions")[:: 1 if windows.are_sessions else -1]
        fault = f"{piece.text} is of {theirs}, and rows are grouped by {ours}"
        raise piece.error(fault, f"{windows.function}{piece.text[len(piece[:1].text) :]}")


def _bound(piece: TokenSpan) -> str | None:
    words = [piece.word(index) for index in range(len(piece))]
    is_bound = words[:1] in ([whole] for whole in _WHOLE) and words[1:] in ([".", "START"], [".", "END"])
    return f"window_{words[2].lower()}" if is_bound else None


def _of_function(piece: TokenSpan) -> Source:
    name = piece.word(0)
    if name not in _FUNCTIONS:
        fault = "windows that grow" if name == "CUMULATE" else "no function of windows"
        near = get_close_matches(name, _FUNCTIONS, 1)
        raise piece.error(f"{piece[:1].text} is {fault}, which no query has", _FUNCTIONS[near[0] if near else "TUMBLE"])
    end, right = piece.close(1), _FUNCTIONS[name]
    _refuse_alias(piece[end + 1 :])
    arguments = piece[2:end].split()
    if name == "SESSION":
        return _sessions(piece, arguments)
    least = 3 if name == "TUMBLE" else 4
    if not least <= len(arguments) <= least + 1:
        raise piece.error(f"{name} has {counted(len(arguments), 'argument')}", f"{right}; an offset may follow")
    table, descriptor, *lengths = arguments
    if table.word(0) != "TABLE" or table[1:].name is None:
        raise table.error(f"{table.text} is no table of {name}", right)
    event_time = _described(descriptor, name)
    names = ("size", "offset") if name == "TUMBLE" else ("slide", "size", "offset")
    return Source(table[1:], WrittenWindows(event_time, dict(zip(names, lengths, strict=False))))


def _sessions(piece: TokenSpan, arguments: list[TokenSpan]) -> Source:
    """Read the arguments of SESSION: a table, perhaps with PARTITION BY and columns, a descriptor, and the gap."""
    described = (index for index, each in enumerate(arguments) if (each.word(0), each.word(1)) == ("DESCRIPTOR", "("))
    at = next(described, max(len(arguments) - 2, 0))
    tables, (descriptor, *gaps) = arguments[:at], arguments[at:]
    if not tables or not gaps or tables[0].word(0) != "TABLE" or tables[0][1:2].name is None:
        raise piece.error("SESSION has not a table, a column and a gap", _SESSION)
    if len(gaps) > 1:
        raise gaps[1].error("SESSION has no argument after the gap", _SESSION)
    table = tables[0]
    partition = [table[3:], *tables[1:]] if len(table) > 2 or tables[1:] else []  # noqa: PLR2004
    if partition and table.word(2).split() != ["PARTITION", "BY"]:
        raise table.error(f"{table.text} is no table of SESSION", _SESSION)
    if len(partition) == 1 and partition[0].word(0) == "(" and partition[0].close(0) == len(partition[0]) - 1:
        partition = partition[0][1:-1].split()
    windows = WrittenWindows(_described(descriptor, "SESSION"), {"session": gaps[0]}, tuple(partition))
    return Source(table[1:2], windows)


def _described(descriptor: TokenSpan, name: str) -> TokenSpan:
    """Return the column of a DESCRIPTOR."""
    if descriptor.word(0) != "DESCRIPTOR" or descriptor.word(1) != "(" or descriptor[2:-1].name is None:
        raise descriptor.error(f"{descriptor.text} is no column of {name}", _FUNCTIONS[name])
    return descriptor[2:-1]


def _refuse_alias(piece: TokenSpan) -> None:
    if len(piece):
        raise piece.error("a name for the stream, which has one", "columns without a name before them: country")


def _duration(piece: TokenSpan, by_calendar: bool) -> str:
    """Return a length of time in the form of query files."""
    rest = piece[1:] if piece.word(0) == "INTERVAL" else piece
    is_text = rest[:1].literal is not None and rest.tokens[0].token_type is TokenType.STRING
    words = " ".join(part for part in (rest[:1].literal or "", rest[1:].name or "") if part)
    number, _, unit = words.strip().lower().partition(" ")
    if (rest is piece and not (is_text and len(piece) == 1)) or len(rest) > 2 or not words:  # noqa: PLR2004
        raise piece.error(f"{piece.text} is no length of time", _INTERVAL)
    one = unit.rstrip("s")
    if one in _OF_CALENDARS or (one == "week" and number == "1" and by_calendar):
        return f"{number} {one}"
    try:
        if one == "week":
            return format_duration(_DAYS_OF_WEEK * ms(parse_duration(f"{number} d")))
        return format_duration(ms(parse_duration(words)))
    except ValueError:
        raise piece.error(f"{piece.text} is no length of time", _INTERVAL) from None
