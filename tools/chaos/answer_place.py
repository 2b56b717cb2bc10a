"""A place that answers go to beside a live stream: it can be away for a while, stopped or killed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from deltalake import DeltaTable

from kit.runs.current_tables import rows_of
from kit.runs.place_readers import PlaceReader

IDENTITY = ("key", "window_start", "window_end")
"""The columns that identify an answer of the workload."""


class Away(Exception):
    """Raised to a reader whose place is away."""


class AnswerPlace(ABC):
    """A place of answers, with a reader of it.

    Attributes
    ----------
    name : str
        As the status names it.
    holds_the_stream : bool
        Whether a batch ends with its answers there, so that the stream waits while it is away.
    declared : dict
        The entries of the section `answers` of the query.
    environment : dict
        The connection that the driver needs.
    """

    name: ClassVar[str]
    holds_the_stream: ClassVar[bool] = False
    declared: Mapping[str, object] = {}
    environment: Mapping[str, str] = {}
    reader: PlaceReader

    @abstractmethod
    def stop(self) -> None:
        """Let it answer nobody, from now on."""

    @abstractmethod
    def resume(self) -> None:
        """Let it go on."""

    @abstractmethod
    def kill(self) -> None:
        """Let it refuse everybody, from now on."""

    @abstractmethod
    def start(self) -> None:
        """Start it again."""

    def origin(self) -> Any:
        """Return what the answers came from at the reader's last look; None before the first answer."""
        return self.reader.origin

    @abstractmethod
    def newest_ms(self) -> int:
        """Return the greatest `as_of` that a reader sees."""

    @abstractmethod
    def views(self, columns: Sequence[str]) -> Mapping[str, list[str]]:
        """Return the texts of the rows that each way to read it shows, in these columns of `tailrace results`."""

    def expected(self, rows: pa.Table, columns: Sequence[str]) -> list[str]:
        """Return what each view is to show, of the rows of `tailrace results`."""
        return rows_of(rows.select([*columns]))

    def order_problem(self, is_restored: bool) -> str | None:
        """Return what is wrong with the order of versions, of those that a reader who polls passes over, too.

        `is_restored` says whether a backup was restored.
        """
        return None


def newest_as_of(table: Path) -> int:
    """Return the greatest `as_of` of a Delta table with answers, in ms."""
    times = DeltaTable(table).to_pyarrow_table(columns=["as_of"])["as_of"].to_pylist()
    return int(max(times).timestamp() * 1000) if times else 0
