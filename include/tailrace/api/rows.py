"""Rows of a table of a query, which convert to tables of other libraries."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tailrace.ground import html
from tailrace.ground.arrow.columns import without_nan
from tailrace.ground.errors import refuse
from tailrace.ground.extras import require_extra
from tailrace.ground.words import counted
from tailrace.tables.every import ANSWER_TIMES, as_timestamps

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_SHOWN = 20
"""The most rows in a notebook's table."""


@dataclass(frozen=True, repr=False)
class Rows:
    """Rows of a table of a query.

    Times are UTC timestamps in ms; a value that is no number, such as the sum of values beyond all doubles, is null.

    Attributes
    ----------
    raw : Table
        The rows as tables hold them, with times in integer ms, and further columns.
    columns : list of str
        The columns that readers get.
    why_none : str
        The reason why there are no rows; empty if there are some, or if the reason is unknown.
    times : collection of str
        The columns of `raw` that are times in ms.
    """

    raw: pa.Table = field(compare=False)
    columns: list[str]
    why_none: str = field(default="", compare=False)
    times: Collection[str] = field(default=ANSWER_TIMES, compare=False)

    def arrow(self) -> pa.Table:
        """Return an Arrow table."""
        return as_timestamps(without_nan(self.raw.select(self.columns)), self.times)

    def pandas(self) -> pd.DataFrame:
        """Return a pandas data frame.

        Raises
        ------
        Refused
            When pandas is not installed.
        """
        require_extra("pandas()", "pandas", "arrow() or dicts()")
        return self.arrow().to_pandas()

    def polars(self) -> pl.DataFrame:
        """Return a Polars data frame.

        Raises
        ------
        Refused
            When Polars is not installed.
        """
        if find_spec("polars") is None:
            raise refuse("polars()", "Polars is not installed", "pip install polars; or arrow()")
        frame: pl.DataFrame = import_module("polars").from_arrow(self.arrow())
        return frame

    def duckdb(self) -> Any:
        """Return a relation of DuckDB's default connection, which `duckdb.sql` uses."""
        return import_module("tailrace.expressions.connection").relation_of(self.arrow())

    def spark(self, session: Any = None) -> Any:
        """Return a Spark data frame of a session; without one, of the active session or a local one."""
        return import_module("tailrace.spark.data_frame").data_frame_of(self.arrow(), session)

    def dicts(self) -> list[dict[str, Any]]:
        """Return each row as a dict."""
        return list(self.arrow().to_pylist())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.dicts())

    def __len__(self) -> int:
        return int(self.raw.num_rows)

    def __repr__(self) -> str:
        why = f": {self.why_none}" if self.why_none else ""
        return f"{type(self).__name__}({counted(len(self), 'row')} of {', '.join(self.columns)}{why})"

    def _repr_html_(self) -> str:
        shown = replace(self, raw=self.raw.slice(0, _SHOWN)).dicts()
        caption = counted(len(self), "row")
        caption = f"the first {_SHOWN} of {caption}" if len(self) > _SHOWN else self.why_none or caption
        return html.table(self.columns, [[_cell(value) for value in row.values()] for row in shown], caption)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")
    return f"{value:.6g}" if isinstance(value, float) else str(value)
