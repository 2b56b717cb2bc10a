"""The next versions of pairs: the missed ones are added, those that only a repeat of an id had brought taken back.

What pair two ids make follows from the first tuple of each, so it is settled for ever when both have arrived. Therefore
a pair that is known with the right content keeps its version, and its as_of.

Versions are read by the event times that a correction covers. Where repeats have brought the same pair of ids with
other event times, elsewhere, there may be a later version than those that are read. Its left id came outside of what is
read, too: such a pair always gets its next version.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.identity import SIDES
from tailrace.answers.model import AffectedAnswers
from tailrace.answers.versions import of_others, with_retractions, with_stamps, without_retracted
from tailrace.correction.history_scan import HistoryScan
from tailrace.ground import matching
from tailrace.ground.columns import unify
from tailrace.ground.matching import select
from tailrace.kind.protocol import Kind

_TOLERANCE = 1e-9


def revise(
    past: HistoryScan, versions: pa.Table, late: pa.Table, affected: AffectedAnswers, before: int, interval: str
) -> pa.Table:
    """The next versions of the affected pairs that are missing or wrong, and the retractions of those that are none.

    Parameters
    ----------
    versions, late : Table
        As in the tables: at least the versions of affected pairs, and the late tuples of these.
    before : int
        The cut-off, in ms; that of `past`.
    interval : str
        The versions that are of it are going to be replaced.
    """
    kind = past.stage.kind
    identity = kind.answers.identity
    versions = select(versions, versions["as_of"].to_numpy() <= before)  # a later pair may be none yet, and is right
    touched = select(versions, affected.contains(versions))
    versions = select(versions, identity.find(versions, touched) >= 0)
    found = next_pairs(past, versions, late, affected, before)
    latest = identity.latest(of_others(versions, interval))
    gone = select(latest, identity.find(latest, found) < 0)
    is_known, is_gone = _is_known(kind, found, without_retracted(latest)), gone["retracted"].to_numpy()
    if is_known.any() or is_gone.any():  # the others get a row anyway
        elsewhere = past.ids_outside(0, affected)
        is_known, is_gone = is_known & ~_has_left_id(found, elsewhere), is_gone & ~_has_left_id(gone, elsewhere)
    rows, gone = select(found, ~is_known), identity.first_rows(select(gone, ~is_gone))
    return with_retractions(with_stamps(identity, rows, versions), gone)


def next_pairs(
    past: HistoryScan, versions: pa.Table, late: pa.Table, affected: AffectedAnswers, before: int
) -> pa.Table:
    """The affected pairs over all that arrived before a cut-off, without repeats; of `versions` all that are pairs.

    A pair is missing only where its later tuple is late. A known one that is not found among the affected ones was
    brought by a repeat; its ids may have come first with other event times, even far away: so these are looked up.
    """
    kind = past.stage.kind
    if not versions.num_rows and not (late["arrived"].to_numpy() <= before).any():
        return kind.answer.empty_table()
    found = past.evaluate(affected)
    rest = select(versions, kind.answers.identity.find(versions, found) < 0)
    if not rest.num_rows:
        return found
    times = [past.event_times(side, _one_chunk(rest.column(f"{name}_id"))) for side, name in enumerate(SIDES)]
    assert isinstance(kind.answers, PairAnswers)
    pairs = kind.answers.identified(rest, np.concatenate(times))
    return pa.concat_tables([found, past.evaluate(pairs)])


def _is_known(kind: Kind, found: pa.Table, latest: pa.Table) -> NDArray[np.bool_]:
    """Test which pairs have one row among the latest versions, with the same content; doubles to within 1e-9."""
    identity = kind.answers.identity
    number, others = identity.number(found, latest)
    once = np.bincount(others, minlength=number.max(initial=-1) + 1)[number] == 1
    if not once.any():
        return np.asarray(once)
    known = latest.take(pa.array(np.maximum(identity.find(found, latest), 0)))
    is_real = {field.name: pa.types.is_floating(field.type) for field in kind.answer}
    mine, theirs = matching.number_rows([found, known], [name for name in is_real if not is_real[name]])
    same = once & (mine == theirs)
    for name in filter(is_real.get, is_real):
        value, known_value = (np.asarray(table[name], np.float64) for table in (found, known))
        same &= np.isclose(value, known_value, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
    return np.asarray(same)


def _has_left_id(pairs: pa.Table, ids: pa.Array) -> NDArray[np.bool_]:
    number, others = unify([pairs.column("left_id"), ids])[1]
    return np.isin(number, others)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
