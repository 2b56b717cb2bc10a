"""Counts the streamed answers that hold a repeat of an id, and that no correction has recomputed since.

Such a repeat came on time, so it is not in the table `late`. This process reads ids and times from history if ids can
repeat; but not from long histories, as a status waits for it.
"""

from __future__ import annotations

import pyarrow as pa

from tailrace.correction.given_answers import read_given
from tailrace.correction.history_scan import AT_ONCE, HistoryScan
from tailrace.correction.intervals import corrected_intervals, uncovered
from tailrace.correction.scan_job import DistributedScan
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.arrow.matching import select
from tailrace.ground.time_limits import LATEST_MS
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.manifest import changes
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import within


def count_repeated(query: Query, layout: Layout) -> int | None:
    """Return the number of answers; None if too many answers or records would have to be read.

    Return 0 if the stream drops repeats itself: its answers count none, as far as it remembers ids. Return 0, too, for
    a query that has changed since its stream began.
    """
    tables, manifest = OpenedTables(layout), layout.manifest()
    until = committed_until(tables)
    drops = query.disorder.deduplicate or not query.has_late_tuples
    if drops or manifest is None or until is None or not tables.has("results"):
        return 0
    if changes(manifest, query):
        return 0
    query = query.fixed_by(manifest.structure)
    pipeline = CompiledQuery.declare(query).bind(manifest.types).pipeline(layout.histories(query.streams))
    logs, model = [Log.read(reader, tables, until) for reader in pipeline.readers], pipeline.kind.answers
    if not any(log.with_repeats().pieces() for log in logs) or any(reader.takes_newest for reader in pipeline.readers):
        return 0
    gaps = uncovered(corrected_intervals(tables), LATEST_MS)
    if sum(tables.count("results", within("as_of", *gap)) for gap in gaps) > AT_ONCE:
        return None
    given = pa.concat_tables([read_given(tables, model, *gap) for gap in gaps])
    history, ranges = HistoryScan(pipeline, lambda: logs, _no_scan, 1), model.affected_from(given).ranges()
    pieces = [piece for log in logs for piece in log.with_repeats().of_events(ranges).pieces(ranges)]
    if sum(piece.rows for piece in pieces) > AT_ONCE // pipeline.kind.row_weight:
        return None
    repeats = [history.repeats(side, ranges) for side in range(len(logs))]
    no_late = tables.empty("late")
    hold = select(given, model.missed_or_repeated(no_late, given, repeats).contains(given))
    if hold.num_rows and tables.has("corrections"):
        corrected = tables.read("corrections", model.identity.columns)
        hold = select(hold, model.identity.find(hold, corrected) < 0)
    return int(hold.num_rows)


def _no_scan(buckets: int) -> DistributedScan:
    raise AssertionError("history was measured: this process reads it")
