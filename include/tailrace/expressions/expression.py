"""An expression as written, and as bound to the types of a source's columns.

The grammar is loaded with the first expression, and DuckDB with the first value, as most queries have none, and Airflow
loads queries again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.types import NULL, spark_name
from tailrace.ground.extras import missing_from, remedy_of


@dataclass(frozen=True)
class Expression:
    """A parsed scalar expression of Spark SQL; a frozen value.

    Attributes
    ----------
    qualifiers : tuple of str
        The names with which its columns begin, such as left in left.taxi; empty for an expression over one record.
    """

    text: str
    qualifiers: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, in order of occurrence; for a nested field, the column that contains it."""
        from sqlglot import exp

        from tailrace.expressions.parse import parse_tree
        from tailrace.expressions.qualified import path_of

        names = [path_of(node, self.qualifiers)[0] for node in parse_tree(self.text).find_all(exp.Column, bfs=False)]
        return tuple(dict.fromkeys(names))

    @property
    def comparisons(self) -> list[tuple[list[str], list[str]]]:
        """The columns and the literal texts of each comparison, in order of occurrence."""
        from sqlglot import exp

        from tailrace.expressions.parse import parse_tree

        pairs = []
        orders = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.Between, exp.In)
        for node in parse_tree(self.text).find_all(*orders, bfs=False):
            operands = [each for each in node.iter_expressions() if isinstance(each, exp.Column | exp.Literal)]
            columns = [each.name for each in operands if isinstance(each, exp.Column) and len(each.parts) == 1]
            texts = [each.name for each in operands if isinstance(each, exp.Literal) and each.args.get("is_string")]
            pairs.append((columns, texts))
        return pairs

    def position_of(self, column: str) -> Position:
        """Return the position in its text at which it first reads a column."""
        from sqlglot import exp

        from tailrace.expressions.parse import parse_tree, position_of
        from tailrace.expressions.qualified import path_of

        nodes = parse_tree(self.text).find_all(exp.Column, bfs=False)
        positions = [position_of(self.text, node) for node in nodes if path_of(node, self.qualifiers)[0] == column]
        return min(positions, default=Position())

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

        term = bind_tree(self.text, parse_tree(self.text), plan, self.qualifiers)
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


def value_of(plan: Plan, term: Term) -> str | None:
    """Evaluate a term that reads no column, and return its value as a text."""
    from tailrace.expressions.connection import connection

    with connection() as opened:
        row = opened.execute(plan.select("(SELECT 1)", {"value": f"CAST({term.sql} AS VARCHAR)"})).fetchone()
    assert row is not None
    return None if row[0] is None else str(row[0])


def parse(text: str, qualifiers: tuple[str, ...] = ()) -> Expression:
    """Parse a scalar expression of Spark SQL.

    Raises
    ------
    ExpressionError
        At anything that is not on the list of nodes and functions; with qualifiers, at a column without one; and if the
        libraries of expressions are not installed.
    """
    require_libraries()
    from tailrace.expressions.parse import parse_tree

    parse_tree(text)
    if qualifiers:
        from tailrace.expressions.qualified import check_qualifiers

        check_qualifiers(text, qualifiers)
    return Expression(text, qualifiers)


def require_libraries() -> None:
    """Refuse expressions and SQL if a library that parses or evaluates them is not installed.

    Raises
    ------
    ExpressionError
    """
    if (fault := missing_from("sql")) is not None:
        raise ExpressionError(Position(), fault, remedy_of("sql"))
