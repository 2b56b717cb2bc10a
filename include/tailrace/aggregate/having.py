"""The condition of answers: `having` in the section `aggregate`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import Field

from tailrace.aggregate.within_expressions import ExpressionsOverNames
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse
from tailrace.ground.arrow.answer_columns import HAVING, TUPLES
from tailrace.ground.fields import Section, field_error
from tailrace.kind.column_use import FILTER, ColumnUse

Uses = Mapping[str, Iterable[ColumnUse]]
"""The uses of the stream's columns by aggregates and by expressions over them, by their names."""


def passed_on(uses: Uses, expression: str, **changes: Any) -> list[ColumnUse]:
    """Return the uses of the stream's columns by an expression over aggregates, derived from the aggregates' uses."""
    read = (use for name in parse(expression).columns for use in uses.get(name, ()) if use.answers is not None)
    return [use._replace(part="", **changes) for use in read]


class HavingSection(Section):
    """The common part of both forms of the section `aggregate`."""

    having: str | None = Field(
        default=None, description="Spark SQL condition; answers that do not meet it are left out: tuples >= 100"
    )

    @property
    @abstractmethod
    def over_names(self) -> ExpressionsOverNames:
        """The expressions and the condition, with names in place of their aggregates."""

    def deciding_uses(self, over: ExpressionsOverNames, uses: Uses) -> list[ColumnUse]:
        """Return the uses of the stream's columns by the condition, given the uses by its aggregates."""
        having = over.having
        return [] if having is None else passed_on(uses, having.text, way=FILTER, answers=(), text=self.having)

    def in_structure(self) -> dict[str, str]:
        """Return the condition for the query's structure, by field, with one spelling for each aggregate."""
        having = self.over_names.having
        return {} if having is None else {f"aggregate.{HAVING}": having.spelling}

    def check_having(self, names: Collection[str], estimates: Sequence[str]) -> None:
        """Refuse a condition that can't be parsed, reads a column that answers lack, or is combined with estimates.

        Parameters
        ----------
        names : collection of str
            The columns of answers.
        estimates : sequence of str
            The columns that are scaled while they are early.

        Raises
        ------
        PydanticCustomError
        """
        if self.having is None:
            return
        try:
            having = self.over_names.having
            assert having is not None
            parse(having.text)
            for column, position in having.beside.items():
                if column not in names and column != TUPLES:
                    near = " or ".join(get_close_matches(column, names)) or ", ".join([*names, TUPLES])
                    near += "; or an aggregate of a column of the stream. tailrace results --where reads the others"
                    raise ExpressionError(position, f"no answer has a column {column}", near)
        except ExpressionError as error:
            raise field_error(f"at {error.position}: {error.fault}", error.remedy, HAVING) from None
        if estimates:
            fault = f"{estimates[0]} is an estimate, which decides nothing"
            raise field_error(fault, "no estimate, or no having", HAVING)
