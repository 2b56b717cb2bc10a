"""The next versions of windows: a correction gives each affected window its next version, as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.answers.identity import Identity
from tailrace.answers.revision import Revision
from tailrace.answers.versions import of_others, streamed_versions, with_retractions, with_stamps, without_retracted
from tailrace.ground.matching import last_places, select

if TYPE_CHECKING:
    from tailrace.answers.by_window import ByWindow


def revise_windows(model: ByWindow, revision: Revision) -> pa.Table:
    """Return the next versions of the affected windows, and the retractions of those that nothing is left of."""
    versions = select(revision.versions, revision.affected.contains(revision.versions))
    answers = next_answers(model, revision, streamed_versions(versions))
    return next_versions(model.identity, answers, versions, revision.interval)


def next_answers(model: ByWindow, revision: Revision, streamed: pa.Table) -> pa.Table:
    """Return the affected answers over all that arrived before a cut-off, without repeats.

    A sum needs no re-read to be corrected (errata on paper 002, 2nd point): where no tuple of a window is a repeat, the
    kind may amend what the stream answered by all late tuples that missed it. Other windows are evaluated from history.
    Nothing is ever subtracted: the value of a repeat may be so large that no digit of the rest is left.

    `streamed` has the stream's answers among the affected ones.
    """
    history, late = revision.history, revision.late
    arrived = select(late, late["arrived"].to_numpy() <= revision.before)
    missed = model.explode_late(arrived, "tuples", *model.amounts)
    missed = select(missed, revision.affected.contains(missed))
    if not streamed.num_rows + missed.num_rows:
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
    """Return the new answers, K and facts as the stream had them, and the retraction of those that nothing is left of.

    Parameters
    ----------
    answers : Table
        The answers that are corrected.
    versions : Table
        All versions of these answers. Those of the same interval are going to be replaced, and so are not retracted.
    """
    others = without_retracted(of_others(versions, interval))
    earlier = others.take(pa.array(last_places(*identity.number(others))))
    gone = select(earlier, identity.find(earlier, answers) < 0)
    return with_retractions(with_stamps(identity, answers, versions), gone)
