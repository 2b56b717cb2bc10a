"""Translates the groups of a SELECT: its windows, and the key of the stream."""

from __future__ import annotations

from tailrace.expressions.errors import ExpressionError
from tailrace.sql.clauses import Item
from tailrace.sql.derived import DerivedColumns, is_number
from tailrace.sql.functions import calls_in
from tailrace.sql.projected import refuse_table_names
from tailrace.sql.tokens import TokenSpan
from tailrace.sql.windows import (
    WINDOW_COLUMNS,
    Source,
    WrittenWindows,
    bound_name,
    is_whole_window,
    refuse_column_of_others,
    window_call,
)

_NO_WINDOW = (
    "FROM TUMBLE(TABLE events, DESCRIPTOR(event_time), INTERVAL '5' MINUTES); "
    "or GROUP BY window(…), or session_window(…)"
)
_TWO_SORTS = "there are windows of two sorts"
KEY = "key"
"""The name of a single-column key in answers."""


def windows_among(groups: list[TokenSpan], source: Source, where: TokenSpan) -> tuple[WrittenWindows, list[TokenSpan]]:
    """Return the windows by which rows are grouped, and the other groups.

    Parameters
    ----------
    where : Piece
        The place of an error if there are none.

    Raises
    ------
    ExpressionError
    """
    calls = [windows for piece in groups if (windows := window_call(piece)) is not None]
    bounds = [bound for piece in groups if (bound := bound_name(piece)) is not None]
    rest = [piece for piece in groups if window_call(piece) is None and bound_name(piece) is None]
    if source.windows is None and len(calls) != 1:
        if not calls:
            raise where.error("there are no windows", _NO_WINDOW)
        raise where.error(_TWO_SORTS, "one window(…), or one session_window(…)")
    if source.windows is not None and calls:
        raise where.error(_TWO_SORTS, f"FROM the stream's name, or no {calls[0].function}(…)")
    windows = source.windows or calls[0]
    for piece in groups:
        refuse_column_of_others(piece, windows)
    if calls and bounds:
        call = f"{windows.function}(…)"
        raise where.error(f"{bounds[0]} beside {call}, which has it", f"{call} alone")
    if calls:
        return windows, rest
    for name in WINDOW_COLUMNS:
        if bounds.count(name) != 1:
            stands = "stands twice" if name in bounds else "is not"
            raise where.error(f"{name} {stands} among the groups", ", ".join(WINDOW_COLUMNS))
    if windows.partition is not None:
        _require_partition(windows.partition, rest)
    return windows, rest


def _require_partition(partition: tuple[TokenSpan, ...], groups: list[TokenSpan]) -> None:
    """Refuse sessions partitioned by other columns than the groups, as a query's sessions are of its key."""
    columns = ", ".join(each.text for each in groups)
    right = f"PARTITION BY {columns}, as in GROUP BY" if columns else "no PARTITION BY, or the columns in GROUP BY"
    if sorted(map(_folded, partition)) == sorted(map(_folded, groups)):
        right = "the name as the stream has it, in both: upper and lower case differ"
    for each in partition:
        if _name_or_tokens(each) not in map(_name_or_tokens, groups):
            raise each.error(f"SESSION is partitioned by {each.text}, and rows are not grouped by it", right)
    for each in groups:
        if _name_or_tokens(each) not in map(_name_or_tokens, partition):
            raise each.error(f"rows are grouped by {each.text}, and SESSION is not partitioned by it", right)


def _name_or_tokens(piece: TokenSpan) -> tuple[str, ...]:
    """Return a column's name without quotes; for an expression, its tokens in a normal form."""
    return piece.same if piece.name is None else (piece.name,)


def _folded(piece: TokenSpan) -> str:
    return " ".join(_name_or_tokens(piece)).casefold()


def by_position(groups: list[TokenSpan], items: list[Item]) -> list[TokenSpan]:
    """Return the groups, with numbers (GROUP BY 1, 2) replaced by the columns of the select list.

    Raises
    ------
    ExpressionError
        At a number that is not a column of the list, or is an aggregate.
    """
    return [_at_position(group, items) if is_number(group) else group for group in groups]


def _at_position(group: TokenSpan, items: list[Item]) -> TokenSpan:
    number = int(group.text) if group.text.isdecimal() else 0
    if not 1 <= number <= len(items):
        columns = f"the list has {len(items)} column{'s' * (len(items) != 1)}"
        raise group.error(f"a group by the number {group.text}, and {columns}", f"1 to {len(items)}, or a column")
    value = items[number - 1].value
    if value.word(0) == "*":
        raise group.error(f"column {number} of the list is *", "a column by its name")
    if calls_in(value):
        raise group.error(f"column {number} of the list is {value.text[:60]}, an aggregate", "a column that is none")
    return value


def key_of(
    groups: list[TokenSpan], items: list[Item], columns: DerivedColumns
) -> tuple[str | list[str] | None, list[Item]]:
    """Return the field `key` of the stream, and the items of the select list that do not belong to it.

    Raises
    ------
    ExpressionError
    """
    names: list[str] = []
    rest = [*items]
    for group in groups:
        own = _items_of(group, rest)
        rest = [item for item in rest if item not in own]
        if len(own) > 1:
            raise own[1].whole.error("a column of the key stands twice", "it once")
        name = _name(group, own[0] if own else None, columns)
        if name in names:
            raise group.error(f"{name} stands twice among the groups", "it once")
        names.append(name)
    plain = [item for item in items if item not in rest and item.alias_name == KEY]
    if plain and len(names) > 1:
        assert plain[0].alias is not None
        raise plain[0].alias.error("key is the name of a key of one column", "another name, or one column in GROUP BY")
    return (names[0] if plain else names or None), rest


def _items_of(group: TokenSpan, items: list[Item]) -> list[Item]:
    """Return the items of the select list for a group: with the same expression, or its name."""
    own = [item for item in items if item.value.same == group.same]
    if own or group.name is None:
        return own
    return [item for item in items if item.alias_name == group.name]


def _name(group: TokenSpan, item: Item | None, columns: DerivedColumns) -> str:
    """Return the stream's column for a group."""
    if group.literal is not None:
        what = "a number" if is_number(group) else "a text"
        raise group.error(f"a group by {what}, {group.text}", "a column, `in backquotes` where it is no plain word")
    if not len(group):
        raise group.error("nothing stands before or after a comma", "a column, or no comma")
    alias = None if item is None else item.alias_name
    if group.name is not None and (item is None or item.value.name == group.name) and alias in (None, group.name, KEY):
        return columns.column(group)
    refuse_table_names(group, columns.rows.tables)
    if item is None or alias is None:
        written, text = (group if item is None else item.value), group.text[:60]
        written.expression()  # refuses a name with a blank as such
        raise written.error("a group that is an expression has no name", f"SELECT {text} AS name, … GROUP BY {text}")
    assert item.alias is not None
    if alias == KEY:
        return columns.column(item.value)
    if group.name is not None and group.name == alias and alias in item.value.expression().columns:
        text = item.value.text[:60]
        fault = f"GROUP BY {alias} is the stream's column, as in Spark, and {text} is named so too"
        raise group.error(fault, f"GROUP BY {text}: one answer for each of its values; or another name for it")
    columns.key(item.value, alias, item.alias)
    return alias


def refuse_bounds_by_other_names(items: list[Item], windows: WrittenWindows) -> list[Item]:
    """Return the items of a select list without bounds of windows, which every answer has.

    Renamed bounds are refused, and so are a window(…), or a column of it, that differ from the windows of the groups.

    Raises
    ------
    ExpressionError
    """
    rest = []
    for item in items:
        refuse_column_of_others(item.value, windows)
        name, listed = bound_name(item.value), window_call(item.value)
        is_whole = is_whole_window(item.value) or listed is not None
        if listed is not None and not listed.equals(windows):
            fault = f"{item.value.text[:60]} is in the list, and rows are grouped by other windows"
            raise item.value.error(fault, "the same windows in both, or window_start, window_end in the list")
        if name is None and not is_whole:
            rest.append(item)
        elif item.alias is not None and item.alias_name != (name or windows.function):
            raise _renamed(item, name, windows.function)
    return rest


def _renamed(item: Item, name: str | None, column: str) -> ExpressionError:
    remedy = f"{name}, without another name" if name else f"{column}.start AS window_start, {column}.end AS window_end"
    return item.whole.error("answers have the bounds of windows by their own names", remedy)
