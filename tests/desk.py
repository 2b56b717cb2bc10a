"""A query's tables in memory, and corrections of them as the job makes them: nothing of Delta, Spark or files."""

from __future__ import annotations

import itertools

import pandas as pd
import pyarrow as pa

from harness import make_stage, raw_table, run
from oracle import Settings, Tuple
from tailrace.answers.by_window import latest_versions
from tailrace.correction.affected_windows import AffectedWindows, CorrectionRange, MissedWindows
from tailrace.correction.history_scan import HistoryScan
from tailrace.correction.versions import revise
from tailrace.engine.stage import Stage
from tailrace.ground.frames import frame
from tailrace.storage.log import Log
from tailrace.storage.table_schemas import schemas

WINDOW = ("key", "window_start", "window_end")


class Desk:
    """What the stream has given, in frames as the tables are read, and the corrections so far."""

    def __init__(self, tuples: list[Tuple], query: Settings, cuts: list[int], **how: object) -> None:
        rows = run(tuples, query, cuts=cuts, **how)
        files = {str(i): raw_table(tuples[a:b]) for i, (a, b) in enumerate(itertools.pairwise([0, *cuts, len(tuples)]))}
        self.stage: Stage = make_stage(query, keyed=all(t.key is not None for t in tuples), tables=files)
        self.schemas = schemas(self.stage.kind.answer)
        self.tables = {name: self.frame(name, rows.get(name, [])) for name in ("results", "late", "segments")}
        self.given = [self.tables["results"].assign(corrected=False, retracted=False)]

    def frame(self, name: str, rows: list[dict]) -> pd.DataFrame:
        """Rows as a table is read: times are integers."""
        fields = [f.with_type(pa.int64()) if pa.types.is_timestamp(f.type) else f for f in self.schemas[name]]
        return frame(pa.Table.from_pylist(rows, pa.schema(fields)))

    def past(self, before: int) -> HistoryScan:
        def spark(buckets: int) -> None:
            raise AssertionError("so little needs no Spark")

        return HistoryScan(self.stage, lambda: Log.of(self.stage, before, self.tables["segments"]), spark, 2)

    def arrived(self, a: int, b: int) -> MissedWindows:
        """The windows that an interval's late tuples missed."""
        late = self.tables["late"]
        return MissedWindows.of_late(late[(late["arrived"] > a) & (late["arrived"] <= b)], self.stage.kind.windows)

    def correct(self, a: int, b: int) -> pd.DataFrame:
        """The correction of an interval of arrival."""
        return self.revise(self.arrived(a, b), b, str(CorrectionRange(a, b, arrival=True)))

    def revise(self, touched: AffectedWindows, before: int, interval: str) -> pd.DataFrame:
        """The next versions of these windows, which take the place of those of the same interval."""
        rows = revise(self.past(before), self, touched, before, interval).assign(corrected=True)
        others = [part for part in self.given if "interval" not in part or (part["interval"] != interval).all()]
        self.given = [*others, rows]
        return rows

    def latest(self) -> dict[tuple, dict]:
        newest = latest_versions(self.versions())
        rows = newest[~newest["retracted"].astype(bool)].to_dict("records")
        found = {tuple(row[name] for name in WINDOW): row for row in rows}
        assert len(found) == len(rows), "an answer was given twice"
        return found

    # As `Answers` has it.
    def versions(self, ends: object = None) -> pd.DataFrame:
        return pd.concat([part for part in self.given if len(part)] or self.given[:1], ignore_index=True)

    def late(self, events: object) -> pd.DataFrame:
        return self.tables["late"]
