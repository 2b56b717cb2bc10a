"""The next versions of answers, from the tables' rows: which answers need what was late only, which are made anew."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.model import AffectedAnswers
from tailrace.correction.history_scan import HistoryScan
from tailrace.ground.columns import Ints
from tailrace.ground.matching import last_places, select
from tailrace.kind.capabilities import Amends
from tailrace.kind.protocol import Kind
from tailrace.storage.results import AnswerTables

_STAMPS = "k_ms", "facts_version"


def revise(past: HistoryScan, answers: AnswerTables, affected: AffectedAnswers, before: int, interval: str) -> pa.Table:
    """The rows of `corrections` for the affected answers, as of a cut-off: that of `past`."""
    kind, ranges = past.stage.kind, affected.ranges()
    versions, late = answers.versions(ranges), answers.late(ranges)
    versions = select(versions, affected.contains(versions))
    found = next_answers(kind, past, _streamed(versions), late, affected, before)
    rows = next_versions(kind, found, versions, interval)
    as_of = pa.repeat(pa.scalar(before, pa.int64()), rows.num_rows)
    return rows.append_column("as_of", as_of).append_column("interval", pa.repeat(interval, rows.num_rows))


def next_answers(
    kind: Kind, past: HistoryScan, streamed: pa.Table, late: pa.Table, affected: AffectedAnswers, before: int
) -> pa.Table:
    """The affected answers over all that arrived before a cut-off, without repeats.

    A sum needs no re-read to be corrected (errata on paper 002, 2nd point): where no tuple of a window is a repeat, the
    kind may amend what the stream answered by all late tuples that missed it. Other windows are evaluated anew. Nothing
    is ever subtracted: the value of a repeat may be so large that no digit of the rest is left.

    Parameters
    ----------
    streamed : Table
        The stream's answers among the affected ones.
    late : Table
        As in the table: at least the rows that missed one of the affected answers.
    before : int
        The cut-off, in ms; that of `past`.
    """
    model = kind.answers
    arrived = select(late, late["arrived"].to_numpy() <= before)
    missed = model.missed(arrived, "tuples", "total")
    missed = select(missed, affected.contains(missed))
    if not streamed.num_rows + missed.num_rows:
        return kind.answer.empty_table()
    if not isinstance(kind, Amends):
        return past.evaluate(affected)
    amended = pa.Table.from_batches([kind.amend(streamed.select(kind.answer.names), missed)])
    if not amended.num_rows:
        return past.evaluate(affected)
    repeats = past.windows_with_repeats(model.of(amended))
    amended = select(amended, model.identity.find(amended, repeats) < 0)
    answers = pa.concat_tables([part.select(model.identity.columns) for part in (streamed, missed)])
    rest = select(answers, model.identity.find(answers, amended) < 0)
    return pa.concat_tables([amended, past.evaluate(model.of(rest))]) if rest.num_rows else amended


def next_versions(kind: Kind, found: pa.Table, versions: pa.Table, interval: str) -> pa.Table:
    """The new answers, K and facts as the stream had them, and the retraction of those that nothing is left of.

    Parameters
    ----------
    found : Table
        The answers that are corrected.
    versions : Table
        All versions of these answers. Those of the same interval are going to be replaced, and so are not retracted.
    """
    identity, streamed = kind.answers.identity, _streamed(versions)
    place = identity.find(found, streamed)
    for name in _STAMPS:
        found = found.append_column(name, _take(streamed[name], place))
    is_mine = pc.fill_null(pc.equal(versions["interval"], interval), False).to_numpy()  # the stream's have no interval
    others = select(versions, ~(is_mine | versions["retracted"].to_numpy()))
    earlier = others.take(pa.array(last_places(*identity.number(others))))
    gone = select(earlier, identity.find(earlier, found) < 0).select(found.column_names)
    no_tuples = pa.repeat(pa.scalar(0, pa.int64()), gone.num_rows)
    gone = gone.set_column(gone.schema.get_field_index("tuples"), "tuples", no_tuples)
    retracted = np.repeat([False, True], [found.num_rows, gone.num_rows])
    return pa.concat_tables([found, gone]).append_column("retracted", pa.array(retracted))


def _streamed(versions: pa.Table) -> pa.Table:
    return select(versions, ~versions["corrected"].to_numpy())


def _take(column: pa.ChunkedArray, place: Ints) -> pa.ChunkedArray:
    """The values at these places; null where the place is −1."""
    return column.take(pa.array(place, mask=place < 0))
