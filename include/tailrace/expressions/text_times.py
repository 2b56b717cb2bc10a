"""Finds times that an expression compares as texts: 2024-03-30T19:00:00 is after every text 2024-03-30 19:…"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from tailrace.expressions.types import TEXT

_TIME = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}.*")


class TimeAsText(NamedTuple):
    """A column of texts, and the time as a text literal that it is compared with."""

    column: str
    time: str

    @property
    def words(self) -> str:
        """What is to be said of it."""
        return (
            f"{self.column} is text, and is compared with '{self.time}' letter by letter, where a T, a blank or a zone "
            f"makes another time; as times: cast({self.column} as timestamp)"
        )


def times_as_texts(text: str, types: Mapping[str, pa.DataType]) -> Iterator[TimeAsText]:
    """Yield the comparisons of a column of texts with a text that is a time of day, once for each column."""
    from sqlglot import exp

    from tailrace.expressions.parse import parse_tree

    seen = set[str]()
    orders = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.Between, exp.In)
    for node in parse_tree(text).find_all(*orders, bfs=False):
        operands = [each for each in node.iter_expressions() if isinstance(each, exp.Column | exp.Literal)]
        columns = [each.name for each in operands if isinstance(each, exp.Column) and len(each.parts) == 1]
        literals = [each.name for each in operands if isinstance(each, exp.Literal) and each.args.get("is_string")]
        time = next(filter(_TIME.fullmatch, literals), None)
        for column in columns:
            if time is not None and types.get(column) == TEXT and column not in seen:
                seen.add(column)
                yield TimeAsText(column, time)
