"""The next versions of windows: a correction replaces each affected window's answer as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.answers.identity import Identity
from tailrace.answers.revision import Revision
from tailrace.answers.versions import of_others, streamed_versions, with_retractions, with_stamps, without_retracted
from tailrace.ground.answer_columns import RETRACTED
from tailrace.ground.matching import last_indices, select

if TYPE_CHECKING:
    from tailrace.answers.by_window import ByWindow


def revise_windows(model: ByWindow, revision: Revision) -> pa.Table:
    """Return the next versions of the affected windows, and the retractions of those that are no answers any more.

    Nothing is left of them, or they do not meet the query's condition `having`.

    Answers that only a correction with a later cut-off gave are left alone: at this cut-off they may not exist yet.
    """
    versions = select(revision.versions, revision.affected.contains(revision.versions))
    answers = next_answers(model, revision, streamed_versions(versions))
    is_later = versions["corrected"].to_numpy() & (versions["as_of"].to_numpy() > revision.before)
    return next_versions(model.identity, answers, select(versions, ~is_later), revision.interval)


def next_answers(model: ByWindow, revision: Revision, streamed: pa.Table) -> pa.Table:
    """Return the affected answers over all tuples before a cut-off, without repeats.

    A sum can be corrected without reading values of history (errata on paper 002, 2nd point): where no tuple of a
    window is a repeat, the kind may amend the streamed answer by the late tuples that missed it. Other windows are
    evaluated from history. Nothing is ever subtracted: a repeated value may be so large that the sum keeps no digit of
    the others.

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

    K and facts are null where the stream gave no answer. An answer that does not meet the query's condition `having` is
    retracted, whether it was given or not: a correction with an earlier cut-off that runs later may give it.

    Parameters
    ----------
    answers : Table
        The answers that are corrected.
    versions : Table
        All versions of these answers. Versions of the same interval are replaced, and so are not retracted.
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
