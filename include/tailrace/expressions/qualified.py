"""Names with a qualifier, such as left.taxi: in an expression over several named records."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp

from tailrace.expressions.errors import ExpressionError, unsaid
from tailrace.expressions.parse import parse_tree, position_of


def path_of(column: exp.Column, qualifiers: Sequence[str]) -> list[str]:
    """Return the name of a column and of the fields below it; with qualifiers, the first name begins with one."""
    parts = [part.name for part in column.parts]
    return [f"{parts[0]}.{parts[1]}", *parts[2:]] if qualifiers else parts


def check_qualifiers(text: str, qualifiers: Sequence[str]) -> None:
    """Refuse a column without a qualifier, and a qualifier without a column.

    Raises
    ------
    ExpressionError
    """
    for column in parse_tree(text).find_all(exp.Column, bfs=False):
        first, *rest = (part.name for part in column.parts)
        if first in qualifiers and rest:
            continue
        remedy = " or ".join(f"{qualifier}.{first}" for qualifier in qualifiers)
        if first in qualifiers:
            fault, remedy = f"{first} names no column", f"{first}.name, a column of it"
        elif rest:
            near = get_close_matches(first.lower(), qualifiers, 1) or qualifiers
            fault, remedy = f"there is no {first}", " or ".join(f"{each}.{rest[0]}" for each in near)
        else:
            fault = unsaid(first, qualifiers)
            qualifier, dot, name = first.partition(".")
            if dot and name and qualifier in qualifiers:  # backticks around both make it one name
                remedy = f"`{qualifier}`.`{name}`"
        raise ExpressionError(position_of(text, column), fault, remedy)
