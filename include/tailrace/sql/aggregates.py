"""The select list of a query of kind aggregate: its aggregates, and expressions over them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.ground.arrow.answer_columns import HAVING, TUPLES, VALUE
from tailrace.ground.near_names import nearest
from tailrace.sql.clauses import Item
from tailrace.sql.derived import DerivedColumns, quoted
from tailrace.sql.functions import Call, Section, calls_in, is_call, refuse_unknown, section_of
from tailrace.sql.over_aggregates import columns_beside, each_share, name_of_same, with_calls, written
from tailrace.sql.tokens import TokenSpan
from tailrace.sql.windows import holds_bounds

_BEFORE_GROUPS = "WHERE, by a column of the stream; or tailrace results --where, by the key or a bound of windows"


def aggregates_of(
    items: list[Item], having: TokenSpan | None, columns: DerivedColumns, event_time: str, end: TokenSpan
) -> tuple[dict[str, Any], dict[str, Position]]:
    """Return the section `aggregate` of a query file, and the position of each name in it, and of `having`.

    A single unnamed aggregate gives the short form: a function whose answers have the column `value`.

    Parameters
    ----------
    items : list of Item
        The items of the select list except the key and the windows.
    having : Piece or None
    end : Piece
        The place of an error if there are none.

    Raises
    ------
    ExpressionError
    """
    if not items:
        raise end.error("there is no aggregate", "SELECT …, count(*) AS number, sum(amount) AS revenue")
    for item in items:
        if "*" in (item.value.word(0), item.value.word(-1)):
            raise item.value.error("* among aggregates", "the key, and aggregates: count(*) AS number")
        if not calls_in(item.value):
            refuse_unknown(item.value)
    if len(items) == 1 and items[0].alias is None:
        return _short(items[0], having, columns, event_time)
    named: dict[str, TokenSpan] = {}
    for item in items:
        name = None if item.alias is None else item.alias.name
        if item.alias is None or name is None:
            raise _nameless(item.value)
        if name in named:
            raise item.alias.error(f"two columns are named {name}", "a name of its own for each")
        named[name] = item.value
    sections = {
        name: section_of(calls_in(value)[0][2], columns, event_time) for name, value in named.items() if is_call(value)
    }
    both = {
        name: sections.get(name)
        or {
            "expression": _over_aggregates(
                value, named, sections, columns, event_time, f"{value.text[:60]} in GROUP BY"
            )
        }
        for name, value in named.items()
    }
    positions = {name: value.position for name, value in named.items()}
    if having is None:
        return both, positions
    if HAVING in both:
        raise having.error(f"an aggregate is named {HAVING}, as the condition is in sections", "another name for it")
    condition = _over_aggregates(having, named, sections, columns, event_time, _BEFORE_GROUPS)
    return {**both, HAVING: condition}, {**positions, HAVING: having.position}


def _short(
    item: Item, having: TokenSpan | None, columns: DerivedColumns, event_time: str
) -> tuple[dict[str, Any], dict[str, Position]]:
    """Return the section of a single unnamed aggregate, and the position of `having` in it."""
    if not is_call(item.value):
        raise _nameless(item.value)
    section = section_of(calls_in(item.value)[0][2], columns, event_time)
    if having is None:
        return section, {}
    condition = _over_aggregates(having, [], {VALUE: section}, columns, event_time, _BEFORE_GROUPS)
    return {**section, HAVING: condition}, {HAVING: having.position}


def _nameless(value: TokenSpan) -> ExpressionError:
    text = value.text[:60]
    if value.name is not None:
        return value.error(f"{text} is neither a group nor an aggregate", f"GROUP BY …, {text}; or max({text}) AS name")
    return value.error(f"{text} has no name in the answers", f"{text} AS name")


def _over_aggregates(
    value: TokenSpan,
    names: Collection[str],
    sections: Mapping[str, Section],
    columns: DerivedColumns,
    event_time: str,
    elsewhere: str,
) -> str:
    """Return an expression over aggregates for sections, which reads aggregates of the list by their names.

    `elsewhere` names the right place of the expression if it reads another column.
    """

    def text_of(call: Call) -> str:
        section = section_of(call, DerivedColumns(columns.rows), event_time)
        if (name := name_of_same(section, sections)) is not None:
            return quoted(name)
        return written(section_of(call, columns, event_time))

    for column, position in columns_beside(value).items():
        if column not in names and holds_bounds(column):
            fault = f"an expression over {column}, which no tuple has"
            remedy = f"min({event_time}) and max({event_time}), of its tuples; or window_start and window_end where "
            raise ExpressionError(position, fault, f"{remedy}answers are read, as in tailrace results --where")
        if column not in names and column != TUPLES:
            near = nearest(column, names)
            group = f"max({quoted(column)}), which is the value of a group, too; or {elsewhere}"
            remedy = f"{near}; or {group}" if near else group
            fault = f"{column} is neither in an aggregate, nor the name of one in the list"
            raise ExpressionError(position, fault, remedy)
    return with_calls(value, partial(each_share, text_of=text_of))
