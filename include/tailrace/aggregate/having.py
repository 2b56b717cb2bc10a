"""The condition of answers: `having` in the section `aggregate`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches

from pydantic import Field

from tailrace.aggregate.within_expressions import HAVING, ExpressionsOverNames
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse
from tailrace.ground.fields import Section, field_error

TUPLES = "tuples"
"""The column of answers with their numbers of tuples, which expressions may read, too."""


class HavingSection(Section):
    """The part of the section `aggregate` that its two forms share."""

    having: str | None = Field(
        default=None, description="condition of the answers that are given, by Spark SQL: tuples >= 100"
    )


def check_having(over_names: Callable[[], ExpressionsOverNames], names: Collection[str]) -> None:
    """Refuse a condition that can't be parsed, or reads a column that no answer has.

    Parameters
    ----------
    over_names : callable
        Reads the expressions of the section, and its condition.
    names : collection of str
        The columns of answers.

    Raises
    ------
    PydanticCustomError
    """
    try:
        having = over_names().having
        if having is None:
            return
        parse(having.text)
        for column, position in having.beside.items():
            if column not in names and column != TUPLES:
                near = " or ".join(get_close_matches(column, names)) or ", ".join([*names, TUPLES])
                near += "; or an aggregate of a column of the stream. tailrace results --where reads the others"
                raise ExpressionError(position, f"no answer has a column {column}", near)
    except ExpressionError as error:
        raise field_error(f"at {error.position}: {error.fault}", error.remedy, HAVING) from None
