"""The next versions of pairs: missed pairs are added; pairs that exist only by a repeated id are retracted.

The first tuple of each id determines the pair of two ids for ever. So a pair that is known with the right content keeps
its version and its as_of.

Versions are read by the event times that a correction covers. Repeats may have produced the same pair of ids with other
event times, so a later version may exist outside of the range. The left id of such a pair occurs outside of the range,
too, so a pair with such an id always gets a next version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.changed_answers import are_same
from tailrace.answers.identity import SIDES, Identity
from tailrace.answers.revision import Revision
from tailrace.answers.versions import of_others, with_retractions, with_stamps, without_retracted
from tailrace.ground.answer_columns import RETRACTED
from tailrace.ground.columns import unify
from tailrace.ground.matching import select

if TYPE_CHECKING:
    from tailrace.answers.by_pair import PairAnswers


def revise_pairs(model: PairAnswers, revision: Revision) -> pa.Table:
    """Return the affected pairs to add or replace, and retractions of pairs that should not exist."""
    identity, affected, versions = model.identity, revision.affected, revision.versions
    versions = select(versions, versions["as_of"].to_numpy() <= revision.before)  # a later version may not count yet
    touched = select(versions, affected.contains(versions))
    versions = select(versions, identity.find(versions, touched) >= 0)
    evaluated = next_pairs(model, revision, versions)
    latest = identity.latest(of_others(versions, revision.interval))
    gone = select(latest, identity.find(latest, evaluated) < 0)
    is_known = _is_known(identity, revision.schema, evaluated, without_retracted(latest))
    is_gone = gone[RETRACTED].to_numpy()
    if is_known.any() or is_gone.any():  # the other pairs get a row anyway
        elsewhere = revision.history.ids_outside(0, affected)
        is_known, is_gone = is_known & ~_has_left_id(evaluated, elsewhere), is_gone & ~_has_left_id(gone, elsewhere)
    rows, gone = select(evaluated, ~is_known), identity.first_rows(select(gone, ~is_gone))
    return with_retractions(with_stamps(identity, rows, versions), gone)


def next_pairs(model: PairAnswers, revision: Revision, versions: pa.Table) -> pa.Table:
    """Return the affected pairs over all tuples before the cut-off, without repeats.

    `versions` has all versions of pairs. A pair is missing only if its later tuple is late. A known pair that is not
    found among the affected ones came from a repeat. Its ids may have come first with other event times, even far away,
    so these are looked up.
    """
    history = revision.history
    if not versions.num_rows and not (revision.late["arrived"].to_numpy() <= revision.before).any():
        return revision.schema.empty_table()
    evaluated = history.evaluate(revision.affected)
    rest = select(versions, model.identity.find(versions, evaluated) < 0)
    if not rest.num_rows:
        return evaluated
    times = [history.event_times(side, rest.column(f"{name}_id").combine_chunks()) for side, name in enumerate(SIDES)]
    return pa.concat_tables([evaluated, history.evaluate(model.identified(rest, np.concatenate(times)))])


def _is_known(identity: Identity, schema: pa.Schema, evaluated: pa.Table, latest: pa.Table) -> NDArray[np.bool_]:
    """Test which pairs have one row among the latest versions, with the same content."""
    number, others = identity.number(evaluated, latest)
    once = np.bincount(others, minlength=number.max(initial=-1) + 1)[number] == 1
    return np.asarray(once & are_same(identity.determining, schema, evaluated, latest))


def _has_left_id(pairs: pa.Table, ids: pa.Array) -> NDArray[np.bool_]:
    number, others = unify([pairs.column("left_id"), ids])[1]
    return np.isin(number, others)
