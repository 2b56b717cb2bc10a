"""A query's tables in memory, and corrections of them as the job makes them: nothing of Delta, Spark or files."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pyarrow.compute as pc

from kit.oracles.oracle import Settings, Tuple
from kit.runs.harness import make_pipeline, raw_table, run
from tailrace.answers.affected_windows import MissedWindows
from tailrace.answers.model import AffectedAnswers, AnswerModel
from tailrace.answers.versions import as_corrections, as_streamed, without_retracted
from tailrace.correction.correct import revise
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.given_answers import affected_by_arrival
from tailrace.correction.history_scan import HistoryScan
from tailrace.correction.whole_sessions import with_whole_sessions
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.storage.log import Log
from tailrace.storage.table_schemas import schemas

WINDOW = ("key", "window_start", "window_end")


def _within(times: pa.ChunkedArray, low: int, high: int) -> pa.ChunkedArray:
    """Test which times lie in (low, high]."""
    return pc.and_(pc.greater(times, low), pc.less_equal(times, high))


class MemoryTables:
    """What the stream has given, as the tables are read, and the corrections so far."""

    def __init__(
        self,
        tuples: list[Tuple],
        query: Settings,
        cuts: list[int],
        keys: dict[str, pa.DataType] | None = None,
        **how: object,
    ) -> None:
        rows = run(tuples, query, cuts=cuts, keys=keys, **how)
        bounds = itertools.pairwise([0, *cuts, len(tuples)])
        files = {str(i): raw_table(tuples[a:b], keys) for i, (a, b) in enumerate(bounds)}
        keyed = all(t.key is not None for t in tuples)
        self.pipeline: Pipeline = make_pipeline(query, keyed=keyed, kind=how.get("kind"), tables=files, keys=keys)
        self.schemas = schemas(self.pipeline.kind)
        self.results, self.late_rows = (self.table(name, rows.get(name, [])) for name in ("results", "late"))
        self.segments = self.table("segments", rows.get("segments", []))
        self.given: list[pa.Table] = []

    def table(self, name: str, rows: list[dict]) -> pa.Table:
        """Rows as a table is read: times are integers."""
        fields = [f.with_type(pa.int64()) if pa.types.is_timestamp(f.type) else f for f in self.schemas[name]]
        return pa.Table.from_pylist(rows, pa.schema(fields))

    def past(self, before: int) -> HistoryScan:
        def spark(buckets: int) -> None:
            raise AssertionError("so little needs no Spark")

        return HistoryScan(
            self.pipeline, lambda: [Log.from_segments(self.pipeline.readers[0], before, self.segments)], spark, 2
        )

    @property
    def model(self) -> AnswerModel:
        return self.pipeline.kind.answers

    def arrived(self, a: int, b: int) -> MissedWindows:
        """The windows that an interval's late tuples missed."""
        late = self.late_rows
        return self.model.missed_by(late.filter((pc.field("arrived") > a) & (pc.field("arrived") <= b)))

    def correct(self, a: int, b: int) -> pa.Table:
        """The correction of an interval of arrival."""
        late, given = (rows.filter(_within(rows[name], a, b)) for rows, name in self._by_arrival())
        given = self.model.identity.first_rows(given.select(self.model.identity.columns))
        so_far = self.late_rows.filter(_within(self.late_rows["arrived"], BEFORE_ALL, b))
        affected, _ = affected_by_arrival(self.past(b), late, lambda: given, lambda ranges: so_far)
        return self.revise(affected, b, str(CorrectionRange(a, b, arrival=True)))

    def _by_arrival(self) -> list[tuple[pa.Table, str]]:
        return [(self.late_rows, "arrived"), (self.results, "as_of")]

    def revise(self, affected: AffectedAnswers, before: int, interval: str) -> pa.Table:
        """The next versions of these windows, which take the place of those of the same interval."""
        history = self.past(before)
        affected = with_whole_sessions(history, affected)
        rows = as_corrections(revise(history, self, affected, before, interval).rows)
        others = [part for part in self.given if interval not in part["interval"].to_pylist()]
        self.given = [*others, rows]
        return rows

    def latest(self) -> dict[tuple, dict]:
        rows = without_retracted(self.model.identity.latest(self.versions())).to_pylist()
        found = {tuple(row[name] for name in WINDOW): row for row in rows}
        assert len(found) == len(rows), "an answer was given twice"
        return found

    # As `AnswerTables` has it.
    def versions(self, ends: object = None, withheld: bool = False) -> pa.Table:
        return pa.concat_tables([as_streamed(self.results, withheld), *self.given], promote_options="default")

    def late(self, events: object) -> pa.Table:
        return self.late_rows
