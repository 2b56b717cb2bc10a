"""Answers by key and sliding window; a correction replaces each affected answer as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.affected_windows import ClosedWindows, MissedWindows
from tailrace.answers.identity import WINDOW, Identity
from tailrace.answers.model import AffectedAnswers, Revision, T_co, WaysToMeasure
from tailrace.answers.versions import of_others, streamed_versions, with_retractions, with_stamps, without_retracted
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints, single_batch
from tailrace.ground.arrow.matching import Rows, last_indices, select
from tailrace.windows.windows import Windows


class DueAtWindowEnd:
    """Base of the answer models whose answers are due at a window's end (`answers.model.AnswerModel`)."""

    windows: Windows

    def horizon(self, answers: Rows) -> Ints:
        return np.asarray(answers.column("window_end"))

    @property
    def horizon_columns(self) -> tuple[str, ...]:
        return ("window_end",)

    def expiry_frontier(self, event_times: Ints, side: int) -> Ints:
        return self.windows.last_end(event_times)

    def close_frontier(self, event_time: int) -> int:
        return int(self.windows.last_end(np.array([event_time]))[0])

    def closed(self, event_times: tuple[int, int], frontier: int) -> AffectedAnswers:
        return ClosedWindows(event_times, self.windows, frontier)


@dataclass(frozen=True)
class ByWindow(DueAtWindowEnd):
    """The answer model of kinds that answer each window of each key (`answers.model.AnswerModel`).

    Attributes
    ----------
    row_key : tuple of str
        The columns that number the rows of an answer from 1 on; empty if an answer is one row.
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

    def affected_from(self, rows: Rows) -> AffectedAnswers:
        return MissedWindows.from_rows(rows, self.windows)

    def revise(self, revision: Revision) -> pa.Table:
        """Return the next versions of the affected windows, and retractions of windows that are no longer answers.

        These have no tuples left, or do not meet the query's condition `having`. Versions of a later cut-off are not
        retracted, as their answers may not exist yet at this cut-off.
        """
        versions = select(revision.versions, revision.affected.contains(revision.versions))
        answers = next_answers(self, revision, streamed_versions(versions))
        is_later = versions["corrected"].to_numpy() & (versions["as_of"].to_numpy() > revision.before)
        return next_versions(self.identity, answers, select(versions, ~is_later), revision.interval)

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


def next_answers(model: ByWindow, revision: Revision, streamed: pa.Table) -> pa.Table:
    """Return the affected answers over all tuples before a cut-off, without repeats.

    A sum can be corrected without reading values from history (errata on paper 002, 2nd point): if no tuple of a window
    is a repeat, the kind may amend the streamed answer by the late tuples that missed it. Other windows are evaluated
    from history. Nothing is ever subtracted, as a repeated value may be so large that the sum has no digit of the
    others.

    `streamed` has the stream's answers among the affected ones.
    """
    history, late = revision.history, revision.late
    arrived = select(late, late["arrived"].to_numpy() <= revision.before)
    missed = model.explode_late(arrived, "tuples", *model.amounts)
    missed = select(missed, revision.affected.contains(missed))
    if not (streamed.num_rows + missed.num_rows or revision.repeats_lookups):
        return revision.schema.empty_table()
    if revision.amend is None:
        return history.evaluate(revision.affected)
    amended = pa.Table.from_batches([revision.amend(streamed.select(revision.schema.names), missed)])
    if not amended.num_rows:
        return history.evaluate(revision.affected)
    repeats = model.holding(history.repeats(0, model.affected_from(amended).ranges()))
    amended = select(amended, model.identity.find(amended, repeats) < 0)
    answers = pa.concat_tables([part.select(model.identity.columns) for part in (streamed, missed)])
    rest = select(answers, model.identity.find(answers, amended) < 0)
    return pa.concat_tables([amended, history.evaluate(model.affected_from(rest))]) if rest.num_rows else amended


def next_versions(identity: Identity, answers: pa.Table, versions: pa.Table, interval: str) -> pa.Table:
    """Return the new answers, with K and facts of the stream, and retractions of windows that became empty.

    K and facts are null without a streamed answer. An answer that does not meet the query's condition `having` is
    always retracted, as a correction with an earlier cut-off that runs later may write it.

    Parameters
    ----------
    answers : Table
        The answers that are corrected.
    versions : Table
        All versions of these answers. Versions of the same interval will be replaced, and need no retraction.
    """
    others = without_retracted(of_others(versions, interval))
    earlier = others.take(pa.array(last_indices(*identity.number(others))))
    gone = select(earlier, identity.find(earlier, answers) < 0)
    if RETRACTED not in answers.column_names:
        return with_retractions(with_stamps(identity, answers, versions), gone)
    is_withheld = answers[RETRACTED].to_numpy()
    stamped = with_stamps(identity, answers.drop_columns([RETRACTED]), versions)
    gone = pa.concat_tables([gone.select(stamped.column_names), select(stamped, is_withheld)])
    return with_retractions(select(stamped, ~is_withheld), gone)
