"""The next versions of answers, from the tables' rows: which answers need what was late only, which are made anew.

A correction of windows gives each of them anew; one of pairs gives those that are missing or wrong (`pair_versions`).
"""

from __future__ import annotations

import pyarrow as pa

from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.by_window import ByWindow
from tailrace.answers.model import AffectedAnswers
from tailrace.answers.versions import of_others, streamed_versions, with_retractions, with_stamps, without_retracted
from tailrace.correction import pair_versions
from tailrace.correction.history_scan import HistoryScan
from tailrace.ground.matching import last_places, select
from tailrace.kind.capabilities import Amends
from tailrace.kind.protocol import Kind
from tailrace.storage.results import AnswerTables


def revise(past: HistoryScan, answers: AnswerTables, affected: AffectedAnswers, before: int, interval: str) -> pa.Table:
    """The rows of `corrections` for the affected answers, as of a cut-off: that of `past`."""
    kind, ranges = past.stage.kind, affected.ranges()
    low, high = ranges
    versions, late = answers.versions((low - 1, high)), answers.late(ranges)  # of every tuple in [low, high)
    if isinstance(kind.answers, PairAnswers):
        rows = pair_versions.revise(past, versions, late, affected, before, interval)
    else:
        versions = select(versions, affected.contains(versions))
        found = next_answers(kind, past, streamed_versions(versions), late, affected, before)
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
    assert isinstance(model, ByWindow)
    repeats = model.holding(past.repeats(0, model.of(amended).ranges()))
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
    identity = kind.answers.identity
    others = without_retracted(of_others(versions, interval))
    earlier = others.take(pa.array(last_places(*identity.number(others))))
    gone = select(earlier, identity.find(earlier, found) < 0)
    return with_retractions(with_stamps(identity, found, versions), gone)
