"""A range of arrival time shown by a panel, and the rows of the table `metrics` in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
from pydantic import ConfigDict, Field, model_validator

from tailrace.ground.fields import field_error
from tailrace.panels.panel import PanelAnswer, PanelRequest
from tailrace.storage.tables import Tables, within
from tailrace.tables.stream import METRICS

HOUR_MS = 3_600_000

NOTHING_YET = "the stream has committed nothing yet"
"""The note of a panel before the query has run, or before any tuple."""

_MOST_MS = 1 << 53


class TimesRequest(PanelRequest):
    """Base of requests for a range of time (from, to], in ms; either end may be omitted."""

    model_config = ConfigDict(validate_by_name=True)

    from_: int | None = Field(default=None, validation_alias="from", ge=-_MOST_MS, le=_MOST_MS)
    to: int | None = Field(default=None, ge=-_MOST_MS, le=_MOST_MS)

    @model_validator(mode="after")
    def _validate_order(self) -> TimesRequest:
        if self.from_ is not None and self.to is not None and self.from_ >= self.to:
            raise field_error(f"it ends at {self.to}, and begins at {self.from_}", "an end after its beginning", "to")
        return self


class ArrivalAnswer(PanelAnswer):
    """Base of answers over arrival times in (`from_`, `to`]; None where nothing was committed."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_: int | None = Field(default=None, serialization_alias="from")
    to: int | None = None


class ArrivalRequest(TimesRequest):
    """A request for a range of arrival time: by default the last hour with batches."""

    def ends(self, tables: Tables) -> tuple[int, int] | None:
        """Return the ends of the range (from, to]; None where nothing was committed."""
        newest = greatest_ms(tables, "metrics", "committed")
        if newest is None:
            return None
        to = newest if self.to is None else self.to
        if self.from_ is not None:
            return self.from_, max(to, self.from_)
        return to - HOUR_MS, to


def greatest_ms(tables: Tables, name: str, column: str) -> int | None:
    """Return the greatest value of a column of times (ms), from the statistics of a table's files; None without one."""
    greatest: datetime | int | None = tables.greatest(name, column) if tables.has(name) else None
    return round(greatest.timestamp() * 1000) if isinstance(greatest, datetime) else greatest


def read_metrics(tables: Tables, columns: Sequence[str], ends: tuple[int, int] | None = None) -> pa.Table:
    """Read columns of `metrics` for the batches that committed up to a time in a range; by default for all batches."""
    return tables.read_or_empty(METRICS, columns, ends and within("committed", *ends))
