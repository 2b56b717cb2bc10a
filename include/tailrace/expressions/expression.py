"""An expression as it is written, and as it is bound to the types of a source's columns.

The grammar is loaded with the first expression: most queries have none, and Airflow loads queries again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.types import NULL, spark_name


@dataclass(frozen=True)
class Expression:
    """A scalar expression of Spark SQL that was parsed; a frozen value."""

    text: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, in the order of its text; of a nested field the column that holds it."""
        from sqlglot import exp

        from tailrace.expressions.parse import parse_tree

        found = [node.parts[0].name for node in parse_tree(self.text).find_all(exp.Column, bfs=False)]
        return tuple(dict.fromkeys(found))

    def position_of(self, column: str) -> Position:
        """Return where it first reads a column."""
        from sqlglot import exp

        from tailrace.expressions.parse import parse_tree, position_of

        found = parse_tree(self.text).find_all(exp.Column, bfs=False)
        return next((position_of(self.text, node) for node in found if node.parts[0].name == column), Position())

    def bind(self, types: Mapping[str, pa.DataType]) -> BoundExpression:
        """Bind it to columns with types.

        Raises
        ------
        ExpressionError
        """
        plan = Plan.over(types)
        return BoundExpression(self, self.add_to(plan).dtype)

    def add_to(self, plan: Plan) -> Term:
        """Add its steps to a plan, and return its value.

        Raises
        ------
        ExpressionError
        """
        from tailrace.expressions.binding import bind_tree
        from tailrace.expressions.parse import parse_tree

        term = bind_tree(self.text, parse_tree(self.text), plan)
        if term.dtype == NULL:
            raise ExpressionError(Position(), "it is null, of no type", "cast(null as string), or another type")
        return term


@dataclass(frozen=True)
class BoundExpression:
    """An expression with the type of its values."""

    expression: Expression
    type: pa.DataType

    @property
    def type_name(self) -> str:
        """The name of its type in Spark SQL."""
        return spark_name(self.type)


def parse(text: str) -> Expression:
    """Parse a scalar expression of Spark SQL.

    Raises
    ------
    ExpressionError
        At anything that is not on the list of nodes and functions.
    """
    from tailrace.expressions.parse import parse_tree

    parse_tree(text)
    return Expression(text)
