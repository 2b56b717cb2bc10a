"""The tables of a join in memory, as the oracle streams it, and corrections of them as the job makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from bench.local_engine import MemoryFormat
from kit.fakes.toy_join import ToyJoin
from kit.oracles.pair_oracle import Item, Join, Read, first_arrivals, joined, placed
from kit.runs.harness import NAMES
from tailrace.answers.identity import SIDES
from tailrace.answers.model import AffectedAnswers
from tailrace.answers.versions import as_corrections, as_streamed, without_retracted
from tailrace.correction.correct import revise
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.given_answers import affected_by_arrival
from tailrace.correction.history_scan import HistoryScan
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.times import with_times
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.pair_condition import PairCondition
from tailrace.sources.columns import SourceMapping
from tailrace.storage.log import Log
from tailrace.storage.table_schemas import schemas
from tailrace.tables.every import in_ms

Times = tuple[int, int]
Streams = tuple[Sequence[Item], Sequence[Item]]


class MemoryPairTables:
    """What the stream has given, and the corrections so far.

    `again`: a repeat of an id answers a pair anew in a later tick; else each pair of ids is answered once.
    `where`: the condition that `join.keeps` says.
    """

    def __init__(
        self,
        streams: Streams,
        join: Join,
        cuts: tuple[list[int], list[int]] = ([], []),
        again: bool = False,
        where: str | None = None,
    ) -> None:
        self.streams, self.join = streams, join
        types = [pa.int64() if items and isinstance(items[0].id, int) else pa.string() for items in streams]
        carried = [{f"{side}_arrival_time": pa.int64()} for side in SIDES]
        columns = tuple(ColumnTypes(pa.string(), *both) for both in zip(types, carried, strict=True))
        condition = PairCondition.parse(where, columns, "where")
        self.kind = ToyJoin(join.reach, columns, condition=condition, interval=join.interval)
        self.pipeline = Pipeline(self.kind, tuple(self._reader(side, cuts[side]) for side in (0, 1)), 1)
        log = [Read(side, item) for side in (0, 1) for item in self._numbered(side)]
        tuples = [one._replace(item=streams[one.side][one.position]) for one in placed(log, join.tick)[0]]
        self.placed = [[one for one in tuples if one.side == side] for side in (0, 1)]
        self.end = max((one.end for side in self.placed for one in side), default=0)
        outcome = joined(log, join)
        self.late_tuples = [(self.placed[side][place], frontier) for (side, place), frontier in outcome.late.items()]
        self.late_rows = self._table("late", list(self._late()))
        self.results = self._table("results", list(self._results(outcome.pairs, again)))
        self.segments = [self._segments(reader) for reader in self.pipeline.readers]
        self.given = [as_streamed(self.results)]

    def past(self, before: int) -> HistoryScan:
        def spark(buckets: int) -> None:
            raise AssertionError("so little needs no Spark")

        sides = list(zip(self.pipeline.readers, self.segments, strict=True))
        return HistoryScan(
            self.pipeline, lambda: [Log.from_segments(reader, before, rows) for reader, rows in sides], spark, 2
        )

    def correct(self, a: int, b: int) -> pa.Table:
        """The correction of an interval of arrival."""
        late = self.late_rows.filter((pc.field("arrived") > a) & (pc.field("arrived") <= b))
        given = self.results.filter((pc.field("as_of") > a) & (pc.field("as_of") <= b))
        affected, _ = affected_by_arrival(self.past(b), late, lambda: given, lambda ranges: late)
        return self.revise(affected, b, str(CorrectionRange(a, b, arrival=True)))

    def revise(self, affected: AffectedAnswers, before: int, interval: str) -> pa.Table:
        """The next versions of these pairs, which take the place of those of the same interval."""
        rows = as_corrections(revise(self.past(before), self, affected, before, interval).rows)
        self.given = [*(part for part in self.given if interval not in part["interval"].to_pylist()), rows]
        return rows

    def latest(self) -> dict[tuple, Times]:
        """The event times of each pair of ids."""
        rows = without_retracted(self.kind.answers.identity.latest(self.versions())).to_pylist()
        found = {(row["left_id"], row["right_id"]): (row["left_time"], row["right_time"]) for row in rows}
        assert len(found) == len(rows), "an answer was given twice"
        return found

    def truth(self, before: int) -> dict[tuple, Times]:
        """The pairs of all that arrived before a cut-off, by the oracle."""
        left, right = (
            first_arrivals((one for one in side if one.end <= before), self.join.tick) for side in self.placed
        )
        return {
            (a.id, b.id): (a.event_time, b.event_time)
            for a in left
            for b in right
            if a.value == b.value and self.join.near(a, b) and self.join.keeps(a, b)
        }

    # As `AnswerTables` has it: only what the ranges hold.
    def versions(self, ends: tuple | None = None, withheld: bool = False) -> pa.Table:
        rows = pa.concat_tables(self.given, promote_options="default")
        horizon = pa.chunked_array([self.kind.answers.horizon(rows)])
        return rows if ends is None else rows.filter(_within(horizon, *ends))

    def late(self, events: tuple) -> pa.Table:
        low, high = events
        return self.late_rows.filter(_within(self.late_rows["event_time"], low - 1, high - 1))

    def _reader(self, side: int, cuts: list[int]) -> StreamReader:
        bounds = [0, *sorted(cuts), len(self.streams[side])]
        tables = {str(i): self._raw(side, *bounds[i : i + 2]) for i in range(len(bounds) - 1)}
        uses = self.kind.inputs[side].uses
        columns = SourceMapping(**NAMES | {"key": None}, uses=uses, earliest_ms=-(10**15), ahead_ms=10**15)
        names = self.kind.inputs[side].column_types
        return StreamReader(SIDES[side], MemoryFormat(tables), columns, {}, names, self.join.tick)

    def _raw(self, side: int, low: int, high: int) -> pa.Table:
        items = self.streams[side][low:high]
        types = {"event_time": pa.int64(), "arrival_time": pa.int64(), "id": self.kind.inputs[side].column_types.id}
        return pa.Table.from_pylist([one._asdict() for one in items], pa.schema(types | {"value": pa.string()}))

    def _numbered(self, side: int) -> list[Item]:
        """The tuples of a stream, each with its position in the place of its id."""
        return [item._replace(id=position) for position, item in enumerate(self.streams[side])]

    def _results(self, pairs: dict, again: bool) -> Iterator[dict]:
        given: set[tuple] = set()
        for positions, pair in sorted(pairs.items(), key=lambda one: one[1].as_of):
            a, b = (self.streams[side][position] for side, position in enumerate(positions))
            answer = (a.id, b.id, pair.as_of) if again else (a.id, b.id)
            if answer not in given:
                given.add(answer)
                yield {"left_id": a.id, "right_id": b.id, "tuples": 2} | pair._asdict()

    def _late(self) -> Iterator[dict]:
        for one, frontier in self.late_tuples:
            id_ = one.item.id if pa.types.is_integer(self.kind.late.field("id").type) else str(one.item.id)
            tick = one.end // self.join.tick - 1 if self.join.tick else one.position
            common = {"stream": SIDES[one.side], "tick": tick, "tuples": 1, "arrived": one.end}
            yield common | {"frontier": frontier, "id": id_, "event_time": one.item.event_time}

    def _segments(self, reader: StreamReader) -> pa.Table:
        """The table `segments` of a stream, as it is read from Delta Lake."""
        newest, rows = (BEFORE_ALL, BEFORE_ALL), []
        rest = {"quarantined": 0, "filtered": 0, "distinct_ids": False}
        for segment in reader.format.segments(reader.name):
            content = reader.read(segment)
            text = self.kind.column_types[0].id != self.kind.column_types[1].id
            about = {"before_tick": newest[0], "before_end": newest[1], "accepted": content.tuples.num_rows}
            rows.append(segment.to_json() | about | content.ranges(as_text=text) | rest)
            newest = max(newest, (int(content.ticks.tick[-1]), int(content.ticks.end[-1])))
        return self._table("segments", rows)

    def _table(self, name: str, rows: list[dict]) -> pa.Table:
        schema = schemas(self.kind)[name]
        whole = pa.Table.from_pylist(
            [dict.fromkeys(schema.names) | row for row in rows], in_ms(schema.empty_table(), name).schema
        )
        return in_ms(with_times(whole, schema), name)


def _within(column: pa.ChunkedArray, low: Sequence[int], high: Sequence[int]) -> pa.Array:
    inside = [any(a < time <= b for a, b in zip(low, high, strict=True)) for time in column.to_pylist()]
    return pa.array(inside, pa.bool_())
