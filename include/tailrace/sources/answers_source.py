"""The answers of another query as a stream's source: a chain of queries.

A tuple is a version of an answer. The newest version with an id counts; in other sources the first tuple does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from tailrace.ground.errors import Refused
from tailrace.ground.fields import Name
from tailrace.ground.files.atomic_files import is_url
from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import FORMAT, RATE, DeclaredSource, Opening
from tailrace.sources.feed import Feed
from tailrace.sources.formats.file_format import SegmentReader
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.segments import Segment, Types, require_taken

ANSWER, AS_OF = "answer", "as_of"
"""Columns of a version: its answer's id, and its arrival time. `RETRACTED` says whether the answer was withdrawn."""

EVENT_TIMES = ("window_start", "window_end")
"""The columns that can be the event time: no version of an answer changes them."""


class AnswersSource(DeclaredSource):
    """The answers of a query in the same warehouse, with the versions from corrections."""

    own_columns: ClassVar[dict[str, str]] = {"id": ANSWER, "arrival_time": AS_OF}

    format: Literal["tailrace"] = Field(description=FORMAT)
    query: Name = Field(description="query of the same warehouse whose answers are the tuples: revenue")
    connection: None = Field(default=None, description="none: the warehouse's counts")
    rate: None = Field(default=None, description=RATE)

    def uri(self) -> str:
        """Return the URI of the upstream query's asset, so that Airflow draws the edge."""
        return f"tailrace://{self.query}/results"

    def dataset(self, brokers_of: Callable[[str], str | None]) -> tuple[str, str]:
        return "tailrace", self.query

    def is_history(self, columns: SourceMapping) -> bool:
        return True

    def reader(self, columns: SourceMapping) -> SegmentReader:
        return FORMATS["parquet"].at(None, columns.exact)

    def open(self, opening: Opening) -> Feed:
        assert opening.open_answers is not None
        return opening.open_answers(self.query, opening)

    def sample(self, opening: Opening) -> tuple[Types, list[Segment]]:
        """Return nothing: its log is written when the stream begins."""
        return {}, []

    def has(self, segment: Segment) -> bool:
        try:
            file = require_taken(segment, None)
        except (Refused, FileNotFoundError):
            return False
        return is_url(segment.path) or Path(str(file)).exists()
