"""Reads and rewrites expressions over aggregates: finds the calls of aggregates, and replaces them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from tailrace.expressions.errors import Position
from tailrace.ground.fields import MOST_IN_LIST
from tailrace.sql.call_forms import call_text
from tailrace.sql.derived import DerivedColumns, quoted
from tailrace.sql.functions import Call, Section, calls_in, section_of, shares_of
from tailrace.sql.projected import SelectedRows
from tailrace.sql.tokens import TokenSpan, tokenize


class ReadExpression(NamedTuple):
    """An expression of sections over aggregates.

    Attributes
    ----------
    text : str
        The expression with names in place of its aggregates; later parts keep their positions.
    beside : dict
        The columns that it reads outside of aggregates, with positions.
    spelling : str
        The expression in the form of SQL text, see `over_names`.
    """

    text: str
    beside: Mapping[str, Position]
    spelling: str


class UnnamedCall(NamedTuple):
    """A call in an expression of an aggregate that has no name.

    `condition` is preceded by the blanks and lines before it in the expression, so that positions of errors are
    positions in the expression; None without one.
    """

    section: Section
    position: Position
    condition: str | None


def read_expression(
    text: str, named: Mapping[str, Mapping[str, Any]], name_of: Callable[[UnnamedCall], str]
) -> ReadExpression:
    """Read an expression of sections; `name_of` names the aggregates that are not among the named ones.

    Raises
    ------
    ExpressionError
    """
    value = tokenize(text, "one expression")

    def text_of(call: Call) -> str:
        section = section_within(call)
        name = name_of_same(section, named)
        return quoted(name or name_of(_unnamed(section, call)))

    beside, names = columns_beside(value), _within(text, value, lambda call: in_place(each_share(call, text_of), call))
    return ReadExpression(names, beside, over_names(text, named))


def with_calls(value: TokenSpan, text_of: Callable[[Call], str]) -> str:
    """Return an expression with another text in place of each call of an aggregate."""
    text, at = "", value.at
    for _, _, call in calls_in(value):
        text += value.sql[at : call.whole.at] + text_of(call)
        at = call.whole.end
    return text + value.sql[at : value.end]


def each_share(call: Call, text_of: Callable[[Call], str]) -> str:
    """Return the text of a call; `text_of` writes a call of one share.

    The quantiles of several shares are an array of these, and null over no value, as in Spark.
    """
    texts = [text_of(each) for each in shares_of(call)]
    return f"if({texts[0]} is null, null, array({', '.join(texts)}))" if texts else text_of(call)


def with_names(text: str, text_of: Mapping[str, str]) -> str:
    """Replace some names outside of aggregates in an expression by texts."""
    value = tokenize(text)
    within = [index for begin, end, _ in calls_in(value) for index in range(begin, end)]
    written, at = "", value.at
    for index in range(len(value)):
        token = value[index : index + 1]
        if token.name in text_of and index not in within:
            written, at = written + value.sql[at : token.at] + text_of[str(token.name)], token.end
    return written + value.sql[at : value.end]


def in_place(name: str, call: Call) -> str:
    """Return a name padded to the length of a call, so that later parts keep their positions."""
    return name + re.sub(r"[^\n]", " ", call.whole.text[len(name) :])


def columns_beside(value: TokenSpan) -> dict[str, Position]:
    """Return the columns that an expression reads outside of aggregates, with the position of each.

    Raises
    ------
    ExpressionError
    """
    return value.columns_of(with_calls(value, partial(in_place, "0")))


def section_within(call: Call) -> Section:
    """Return the section of a call in an expression of a query file, whose values are a column of the stream.

    Raises
    ------
    ExpressionError
    """
    columns = DerivedColumns(SelectedRows("the stream", frozenset()))
    section = section_of(call, columns, "")
    if columns.texts:
        value = next(each for each in call.arguments if each.name is None)
        text, whole = value.text[:60], call.whole.text.replace(value.text, "name", 1)
        remedy = f"columns: {{name: {text}}} at the stream, and {whole[:60]}"
        raise value.error(f"{text} is no column of the stream", remedy)
    if "limit" in section and not 1 <= int(section["limit"]) <= MOST_IN_LIST:
        raise call.whole.error(f"a list of {section['limit']} values", f"a limit from 1 to {MOST_IN_LIST:,}")
    return section


def name_of_same(section: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the name of an equivalent section; None without one."""
    normal = _normal(section)
    return next((name for name, other in named.items() if _normal(other) == normal), None)


def over_names(text: str, named: Mapping[str, Mapping[str, Any]]) -> str:
    """Return an expression in the form of SQL text: named aggregates by their names, others in one spelling."""

    def text_of(call: Call) -> str:
        section = section_within(call)
        same = name_of_same(section, named)
        return written(section) if same is None else quoted(same)

    return _within(text, tokenize(text), partial(each_share, text_of=text_of))


def written(section: Mapping[str, Any]) -> str:
    """Return the call for a section whose values are a column of the stream."""
    return call_text(section, quoted)


def _within(text: str, value: TokenSpan, text_of: Callable[[Call], str]) -> str:
    """Return a whole text, with comments around its expression, in which calls are replaced by texts."""
    return text[: value.at] + with_calls(value, text_of) + text[value.end :]


def _unnamed(section: Section, call: Call) -> UnnamedCall:
    position, where = call.whole.position, section.get("where")
    if where is None:
        return UnnamedCall(section, position, None)
    written_there = call.arguments[0] if call.condition is None else call.condition
    return UnnamedCall(section, position, re.sub(r"[^\n]", " ", call.whole.sql[: written_there.at]) + where)


def _normal(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section in a normal form: without the spacing of its condition, and its share as a number."""
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in section.items()}
    normal = {name: value for name, value in given.items() if value not in (None, "false")}
    if "where" in normal:
        normal["where"] = tokenize(normal["where"]).same
    for name in ("q", "limit"):
        if name in normal:
            normal[name] = float(normal[name])
    return normal
