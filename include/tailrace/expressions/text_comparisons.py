"""Finds times that an expression compares as texts: 2024-03-30T19:00:00 is after every text 2024-03-30 19:…"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from tailrace.expressions.expression import parse
from tailrace.expressions.types import TEXT
from tailrace.expressions.written_names import written

_TIME = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}.*")


class TimeAsText(NamedTuple):
    """A column of texts, and the time as a text literal that it is compared with."""

    column: str
    time: str

    @property
    def words(self) -> str:
        """The warning about the comparison."""
        return (
            f"{self.column} is text, and is compared with '{self.time}' letter by letter, where a T, a blank or a zone "
            f"makes another time; as times: cast({written(self.column)} as timestamp)"
        )


def times_as_texts(text: str, types: Mapping[str, pa.DataType]) -> Iterator[TimeAsText]:
    """Yield comparisons of a text column with a text that is a time of day, once for each column."""
    seen = set[str]()
    for columns, texts in parse(text).comparisons:
        time = next(filter(_TIME.fullmatch, texts), None)
        for column in columns:
            if time is not None and types.get(column) == TEXT and column not in seen:
                seen.add(column)
                yield TimeAsText(column, time)
