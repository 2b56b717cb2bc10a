"""The select list of a query of kind aggregate: its aggregates, and expressions over them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.expressions.expression import parse
from tailrace.sql.clauses import Item
from tailrace.sql.derived import DerivedColumns
from tailrace.sql.functions import Section, calls_in, is_call, refuse_unknown, section_of
from tailrace.sql.projected import SelectedRows
from tailrace.sql.tokens import TokenSpan, tokenize

_ALWAYS = "tuples"
"""A column of each answer that expressions may read beside the aggregates."""


def aggregates_of(
    items: list[Item], columns: DerivedColumns, event_time: str, end: TokenSpan
) -> tuple[dict[str, Any], dict[str, Position]]:
    """Return the section `aggregate` of a query file, and the position of each name in it.

    A single unnamed aggregate gives the short form: a function whose answers have the column `value`.

    Parameters
    ----------
    items : list of Item
        The items of the select list beside the key and the windows.
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
        return _short(items[0], columns, event_time), {}
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
        name: sections.get(name) or _expression(value, named, sections, columns.rows, event_time)
        for name, value in named.items()
    }
    return both, {name: value.position for name, value in named.items()}


def _short(item: Item, columns: DerivedColumns, event_time: str) -> Section:
    """Return the section of a single unnamed aggregate."""
    if not is_call(item.value):
        raise _nameless(item.value)
    return section_of(calls_in(item.value)[0][2], columns, event_time)


def _nameless(value: TokenSpan) -> ExpressionError:
    text = value.text[:60]
    if value.name is not None:
        return value.error(f"{text} is neither a group nor an aggregate", f"GROUP BY …, {text}; or max({text}) AS name")
    return value.error(f"{text} has no name in the answers", f"{text} AS name")


def _expression(
    value: TokenSpan, names: Collection[str], sections: Mapping[str, Section], rows: SelectedRows, event_time: str
) -> dict[str, str]:
    """Return the section of an expression over answers, which reads the list's aggregates by their names."""
    text, at = "", value.at
    for _, _, call in calls_in(value):
        section = section_of(call, DerivedColumns(rows), event_time)
        name = next((name for name, other in sections.items() if _same(section, other)), None)
        if name is None:
            written = call.whole.text[:60]
            fault = f"{written} is in an expression, and no column of the list"
            raise call.whole.error(fault, f"{written} AS name beside it, and the name in the expression")
        text += value.sql[at : call.whole.at] + name
        at = call.whole.end
    text += value.sql[at : value.end]
    for column in (parse(text) if at > value.at else value.expression()).columns:
        if column not in names and column != _ALWAYS:
            remedy = f"max({column}) AS name; or {value.text[:60]} in GROUP BY"
            raise value.error(f"{column} is neither a group, nor an aggregate of the list", remedy)
    return {"expression": text}


def _same(one: Section, other: Section) -> bool:
    """Test whether two sections mean the same, ignoring the spacing of their conditions."""
    plain = [{**section, "where": tokenize(section.get("where", "")).same} for section in (one, other)]
    return plain[0] == plain[1]
