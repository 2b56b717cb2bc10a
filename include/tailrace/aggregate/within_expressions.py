"""Aggregates within expressions: each is computed as if it had a name, and stands in no column of answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.expressions.expression import require_libraries
from tailrace.expressions.projection import NamedError

if TYPE_CHECKING:
    from tailrace.sql.functions import Call
    from tailrace.sql.tokens import TokenSpan

Section = Mapping[str, Any]
"""A function, its column and its parameters, as in a query file."""


class CallPlace(NamedTuple):
    """The place of an aggregate within an expression of a query file."""

    expression: str
    position: Position

    @property
    def field(self) -> str:
        """The field of the query file, with the position in it."""
        return f"aggregate.{self.expression}.expression: {self.position}"


class HiddenAggregate(NamedTuple):
    """An aggregate within expressions, at the place of its first call.

    Attributes
    ----------
    section : mapping
    place : CallPlace
    condition : str or None
        Its condition after as many blanks and lines as stand before it in the expression, so that positions are
        those of the expression.
    """

    section: Section
    place: CallPlace
    condition: str | None


class ExpressionsOverNames(NamedTuple):
    """Expressions with names in place of their aggregates.

    Attributes
    ----------
    texts : dict
        The expressions by name. They read the columns of answers, `tuples`, and hidden aggregates.
    beside : dict
        The columns that each reads beside its aggregates.
    hidden : dict
        The aggregates that have no name in the section, under names that no column of answers can have.
    """

    texts: dict[str, str]
    beside: dict[str, tuple[str, ...]]
    hidden: dict[str, HiddenAggregate]

    def place_of(self, name: str) -> CallPlace | None:
        """Return the place of a hidden aggregate; None for another name."""
        return self.hidden[name].place if name in self.hidden else None


def expressions_over_names(expressions: Mapping[str, str], named: Mapping[str, Section]) -> ExpressionsOverNames:
    """Return expressions with names in place of their aggregates; equal aggregates have one name.

    Parameters
    ----------
    expressions : mapping
        The texts by the name in answers.
    named : mapping
        The aggregates that have a name in answers.

    Raises
    ------
    NamedError
        At an aggregate that can't be computed, and where the libraries of expressions are not installed.
    """
    found = ExpressionsOverNames({}, {}, {})
    for name, text in expressions.items():
        try:
            require_libraries()
            _add(found, name, text, named)
        except ExpressionError as error:
            raise NamedError(name, error) from None
    return found


def in_structure(text: str, named: Mapping[str, Section]) -> str:
    """Return an expression in the one form that all have that mean the same, and that SQL text gives."""
    from tailrace.sql.over_aggregates import over_names

    return over_names(text, named)


def _add(found: ExpressionsOverNames, expression: str, text: str, named: Mapping[str, Section]) -> None:
    """Add an expression."""
    # The grammar loads with the first expression: most queries have none, and Airflow loads queries again and again.
    from tailrace.sql.derived import quoted
    from tailrace.sql.over_aggregates import columns_beside, in_place, name_of_same, section_within, with_calls
    from tailrace.sql.tokens import tokenize

    def name_of(call: Call) -> str:
        section = section_within(call)
        name = name_of_same(section, named)
        if name is None:
            name = name_of_same(section, {known: each.section for known, each in found.hidden.items()})
        if name is None:
            name = f"_{len(found.hidden) + 1}"
            place = CallPlace(expression, call.whole.position)
            condition = _in_its_place(section, call, value)
            found.hidden[name] = HiddenAggregate(section, place, condition)
        return in_place(quoted(name), call)

    value = tokenize(text, "one expression")
    found.beside[expression] = columns_beside(value)
    found.texts[expression] = text[: value.at] + with_calls(value, name_of) + text[value.end :]


def _in_its_place(section: Section, call: Call, value: TokenSpan) -> str | None:
    """Return the condition of an aggregate after blanks."""
    if "where" not in section:
        return None
    written = call.arguments[0] if call.condition is None else call.condition
    return re.sub(r"[^\n]", " ", value.sql[: written.at]) + str(section["where"])
