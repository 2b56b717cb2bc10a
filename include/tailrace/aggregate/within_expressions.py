"""Aggregates within expressions: each is computed as if it had a name, but is no column of answers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.expressions.expression import require_libraries
from tailrace.expressions.projection import NamedError
from tailrace.ground.arrow.answer_columns import HAVING, TUPLES

if TYPE_CHECKING:
    from tailrace.sql.over_aggregates import ReadExpression, UnnamedCall

Section = Mapping[str, Any]
"""A function, its column and its parameters, as in a query file."""


_EXPRESSION = ".expression"


class CallPlace(NamedTuple):
    """The place of an aggregate within an expression of a query file.

    Attributes
    ----------
    path : str
        The field of the expression: aggregate.move.expression, or aggregate.having.
    position : Position
    """

    path: str
    position: Position

    @property
    def field(self) -> str:
        """The field of the query file, with the position in it."""
        return f"{self.path}: {self.position}"

    @property
    def name(self) -> str:
        """The expression's name in answers, or `having`."""
        return self.path.removeprefix("aggregate.").removesuffix(_EXPRESSION)


class HiddenAggregate(NamedTuple):
    """An aggregate within expressions, at the place of its first call.

    Attributes
    ----------
    section : mapping
    place : CallPlace
    condition : str or None
        Its condition, padded so that positions are positions in the expression.
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
        The columns that each reads outside of aggregates, with positions.
    spellings : dict
        The expressions with one spelling of each aggregate, for a query's structure and for SQL text.
    hidden : dict
        The aggregates without a name in the section, under names that no column of answers can have.
    having : ReadExpression or None
        The condition of answers, read like an expression; None without one.
    """

    texts: dict[str, str]
    beside: dict[str, Mapping[str, Position]]
    spellings: dict[str, str]
    hidden: dict[str, HiddenAggregate]
    having: ReadExpression | None = None

    def place_of(self, name: str) -> CallPlace | None:
        """Return the place of a hidden aggregate; None for another name."""
        return self.hidden[name].place if name in self.hidden else None


def expressions_over_names(
    expressions: Mapping[str, str], named: Mapping[str, Section], having: str | None = None
) -> ExpressionsOverNames:
    """Return expressions with names in place of their aggregates; equal aggregates have one name.

    Parameters
    ----------
    expressions : mapping
        The texts by the name in answers.
    named : mapping
        The aggregates that have a name in answers.
    having : str, optional
        The condition of answers. In it `count(*)` is their column `tuples`.

    Raises
    ------
    NamedError
        At an aggregate that can't be computed, and if the libraries of expressions are not installed.
    """
    found = ExpressionsOverNames({}, {}, {}, {})
    for name, text in expressions.items():
        try:
            read = _read(found, f"aggregate.{name}{_EXPRESSION}", text, named)
        except ExpressionError as error:
            raise NamedError(name, error) from None
        found.texts[name], found.beside[name], found.spellings[name] = read
    if having is None:
        return found
    try:
        return found._replace(having=_read(found, f"aggregate.{HAVING}", having, {**named, TUPLES: _COUNT}))
    except ExpressionError as error:
        raise NamedError(HAVING, error, is_condition=True) from None


_COUNT = {"function": "count"}


def _read(found: ExpressionsOverNames, path: str, text: str, named: Mapping[str, Section]) -> ReadExpression:
    """Read an expression, and add its hidden aggregates to those found before."""
    require_libraries()
    over_aggregates = import_module("tailrace.sql.over_aggregates")  # an extra, and a grammar that few need

    def name_of(call: UnnamedCall) -> str:
        name: str | None = over_aggregates.name_of_same(
            call.section, {known: each.section for known, each in found.hidden.items()}
        )
        if name is None:
            name = f"_{len(found.hidden) + 1}"
            place = CallPlace(path, call.position)
            found.hidden[name] = HiddenAggregate(call.section, place, call.condition)
        return name

    read: ReadExpression = over_aggregates.read_expression(text, named, name_of)
    return read
