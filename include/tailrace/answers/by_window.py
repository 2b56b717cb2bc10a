"""Answers by key and sliding window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.affected_windows import ClosedWindows, MissedWindows
from tailrace.answers.identity import WINDOW, Identity
from tailrace.answers.model import AffectedAnswers, T_co, WaysToMeasure
from tailrace.answers.revision import Revision
from tailrace.answers.window_revision import revise_windows
from tailrace.ground.columns import Ints, single_batch
from tailrace.ground.matching import Rows, select
from tailrace.windows.windows import Windows


@dataclass(frozen=True)
class ByWindow:
    """The answer model of kinds that answer each window of each key (`answers.model.AnswerModel`).

    Attributes
    ----------
    row_key : tuple of str
        The columns that number the rows of an answer from 1 on; empty where an answer is one row.
    amounts : dict
        The columns of a late row with which answers are amended.
    """

    windows: Windows
    row_key: tuple[str, ...] = ()
    amounts: Mapping[str, pa.DataType] = field(default_factory=lambda: {"total": pa.float64()})

    @property
    def identity(self) -> Identity:
        return WINDOW

    @property
    def row_identity(self) -> tuple[str, ...]:
        return *WINDOW.determining, *self.row_key

    def horizon(self, answers: Rows) -> Ints:
        return np.asarray(answers.column("window_end"))

    @property
    def horizon_columns(self) -> tuple[str, ...]:
        return ("window_end",)

    def expiry_frontier(self, event_times: Ints, side: int) -> Ints:
        return self.windows.last_end(event_times)

    def close_frontier(self, event_time: int) -> int:
        return int(self.windows.last_end(np.array([event_time]))[0])

    @property
    def late_time(self) -> str:
        return "pane_start"

    @property
    def order(self) -> tuple[str, ...]:
        return "window_end", "key", *self.row_key

    def fields(self, key_type: pa.DataType) -> list[pa.Field]:
        """Return the fields of the identity: the key, and the window's start and end in ms."""
        key, *times = WINDOW.columns
        return [pa.field(key, key_type), *(pa.field(name, pa.int64()) for name in times)]

    def late(self, key_type: pa.DataType) -> pa.Schema:
        """Return the schema of a late row: its key and pane, and the amounts."""
        return pa.schema([("key", key_type), ("pane_start", pa.int64()), *self.amounts.items()])

    def first_rows(self, answers: Rows) -> Rows:
        for name in self.row_key:
            answers = answers.filter(pc.equal(answers.column(name), 1))
        return answers

    @property
    def can_lack_tuples(self) -> bool:
        return True

    @property
    def late_margin_ms(self) -> int:
        return 0

    def explode_late(self, late: pa.Table, *names: str, among: Rows | None = None) -> pa.Table:
        """Repeat each row of the table `late` for every window that it missed: the identity and the named columns.

        A row missed the windows over its pane that end at or before its `frontier` (the watermark before its tick).
        """
        pane, frontier = (late.column(name).to_numpy() for name in ("pane_start", "frontier"))
        row, end = self.windows.ends(pane, None, frontier)
        missed = self._windows(late, row, end)
        for name in names:
            missed = missed.append_column(name, late.column(name).take(pa.array(row)))
        return missed

    def missed_by(self, late: pa.Table) -> AffectedAnswers:
        return self.affected_from(self.explode_late(late))

    def missed_or_repeated(self, late: pa.Table, given: pa.Table, repeats: Sequence[pa.Table]) -> AffectedAnswers:
        (repeated,) = repeats
        hold = select(given, WINDOW.find(given, self.holding(repeated)) >= 0)
        return self.affected_from(
            pa.concat_tables([rows.select(WINDOW.determining) for rows in (self.explode_late(late), hold)])
        )

    def closed(self, event_times: tuple[int, int], frontier: int) -> AffectedAnswers:
        return ClosedWindows(event_times, self.windows, frontier)

    def affected_from(self, rows: Rows) -> AffectedAnswers:
        return MissedWindows.from_rows(rows, self.windows)

    def revise(self, revision: Revision) -> pa.Table:
        return revise_windows(self, revision)

    def measure(self, ways: WaysToMeasure[T_co]) -> T_co:
        return ways.by_windows()

    def holding(self, tuples: Rows) -> pa.RecordBatch:
        """Return `key` and `window_end` of the windows that hold one of the tuples, each once."""
        pane = self.windows.pane(np.asarray(tuples.column("event_time")))
        panes = pa.table({"key": tuples.column("key"), "pane": pane}).group_by(["key", "pane"]).aggregate([])
        row, end = self.windows.ends(panes.column("pane").to_numpy(), None, None)
        return single_batch(WINDOW.first_rows(self._windows(panes, row, end).select(WINDOW.determining)))

    def _windows(self, keys: pa.Table, row: Ints, end: Ints) -> pa.Table:
        """Return the identity of the windows with these ends, each with the key of a row."""
        return pa.table([keys.column("key").take(pa.array(row)), self.windows.start(end), end], list(WINDOW.columns))
