"""Late tuples in open sessions, which have to be corrected again when the stream has answered these sessions.

A tuple is late if it touches a closed session. Its own session may be open, and hold it. A correction leaves both
sessions alone until the stream has answered the open one, in a later interval of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailrace.answers.by_session import BySession
from tailrace.answers.versions import as_corrections
from tailrace.correction.intervals import Interval, gap_of, near_gaps
from tailrace.ground.arrow.columns import unify
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import coarsen_ranges, merge_ranges
from tailrace.ground.duration import ms, parse_duration
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.storage.progress import quiet_closings
from tailrace.storage.tables import Tables, within, within_any
from tailrace.windows.sessions import Sessions, touching

_MOST_RANGES = 16  # parts of one condition on a table


def late_in_sessions(tables: Tables, names: list[str], gaps: Sequence[Interval]) -> pa.Table:
    """Return the late tuples in sessions that the stream answered in gaps, which are in order.

    They arrived before these gaps, and no correction has seen them since.

    Returns
    -------
    Table
        The named columns of the table `late`; `arrived` is the time at which the session was answered.
    """
    none = tables.empty("late", names)
    manifest = tables.layout.read_manifest()
    gap = None if manifest is None else manifest.structure.get("window.session")
    gaps = [interval for interval in gaps if interval[0] > BEFORE_ALL]  # nothing came before the first gap
    if not gaps or gap is None:
        return none
    model, sessions = BySession(Sessions(ms(parse_duration(gap)))), _answered(tables, gaps)
    if not sessions.num_rows:
        return none
    first, end = (sessions[name].to_numpy() for name in ("window_start", "window_end"))
    order = np.argsort(first, kind="stable")
    low, high = coarsen_ranges(merge_ranges(first[order], np.maximum.accumulate(end[order])), _MOST_RANGES)
    where = within_any("pane_start", (low - 1).tolist(), (high - 1).tolist())
    columns = list(dict.fromkeys([*names, "key", "pane_start", "frontier", "arrived"]))
    late = tables.read("late", columns, where)
    late = select(late, gap_of(late["arrived"].to_numpy(), gaps) < 0)
    if late.num_rows and tables.has("corrections"):
        near = within("window_end", int(low[0]) - model.late_margin_ms, AFTER_ALL)
        near &= within("window_start", BEFORE_ALL, int(high[-1]) + model.late_margin_ms)
        corrected = as_corrections(tables.read("corrections", [*model.identity.columns, "as_of"], near))
        late = select(late, ~model.is_seen(corrected, late))
    key, late_key = unify([sessions["key"], late["key"]])[1]
    session, row = touching(key, first, end - 1, late_key, late["pane_start"].to_numpy(), 0)
    is_held = late["frontier"].to_numpy()[row] < end[session]  # others came after the session's end, in the gap
    held = late.take(pa.array(row[is_held]))
    answered = pa.array(sessions["given"].to_numpy()[session[is_held]])
    return held.set_column(held.schema.get_field_index("arrived"), "arrived", answered).select(names)


def _answered(tables: Tables, gaps: Sequence[Interval]) -> pa.Table:
    """Return `key`, `window_start`, `window_end` and `given` (time of the answer) of sessions answered in gaps."""
    columns, where = ["key", "window_start", "window_end"], near_gaps(gaps, "as_of")
    quiet = [each for each in quiet_closings(tables) if gap_of(np.array([each[0] + 1]), gaps)[0] >= 0]
    if quiet:
        _, before, after = np.array(quiet, np.int64).T
        where |= within_any("window_end", *(ends.tolist() for ends in coarsen_ranges((before, after), _MOST_RANGES)))
    rows = tables.read("results", [*columns, "as_of"], where)
    given = rows["as_of"].to_numpy().copy()
    for committed, before, after in quiet:
        end = rows["window_end"].to_numpy()
        given[(gap_of(given, gaps) < 0) & (end > before) & (end <= after)] = committed + 1
    rows = rows.select(columns).append_column("given", pa.array(given))
    return select(rows, gap_of(given, gaps) >= 0)
