"""Feed of a Kafka topic: the cuts of its partitions as they grow. The journal, not the broker, records the position."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np

from tailrace.ground.errors import Refused, refuse
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.json_types import shown_types, unfit_values
from tailrace.sources.formats.registry import settled_types
from tailrace.sources.formats.required_columns import MissingColumn, missing, missing_optional, unfit_problems
from tailrace.sources.kafka.kafka_cuts import Offsets, TopicCut, ends_known, known_until, split
from tailrace.sources.kafka.kafka_fetch import gone, overtaken
from tailrace.sources.kafka.kafka_records import KafkaRecords, Records
from tailrace.sources.kafka.kafka_topic import APPEND_TIME, ID
from tailrace.sources.reading_progress import remaining
from tailrace.sources.segments import NULL, Segment, Types

MOST_ROWS = 50_000
"""Rows of a cut, the unit that one reader takes."""

_CUTS_AT_ONCE = 100  # per call of a live run, as the driver reports between calls that it is alive


class TopicLog(Protocol):
    """A topic as seen by its brokers, such as `kafka_client.Topic`."""

    name: str

    def description(self) -> tuple[str, list[int]] | None: ...

    def configuration(self) -> dict[str, str]: ...

    def first(self, partitions: list[int]) -> Offsets: ...

    def ends(self, partitions: list[int]) -> Offsets: ...

    def newest_ms(self, partitions: list[int]) -> Offsets: ...

    def offsets_at(self, partitions: list[int], time_ms: int) -> Offsets: ...


class KafkaFeed:
    """A feed of a topic's records, in order of append time over all partitions that are not idle.

    In a live run a partition without new records for `idle_s` no longer holds back the others; its later records come
    after those already read. A bounded run reads up to the ends found at its first call.

    Parameters
    ----------
    before : (str, int) or None
        The path of the newest cut in the journal, and the row up to which it was read.
    identity : str or None
        The topic's id when it was first read.
    """

    version = 0

    def __init__(
        self,
        topic: TopicLog,
        records: KafkaRecords,
        columns: SourceMapping,
        types: Types,
        before: tuple[str, int] | None,
        identity: str | None,
        idle_s: float,
        live: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the feed; `clock` is monotonic, in seconds."""
        self.topic, self.columns, self.types = topic, columns, types
        self.holds_back = False
        self.problem: str | None = None
        self._records, self._live, self._idle_s, self._clock = records, live, idle_s, clock
        self._rest: list[Segment] = []
        self._next: dict[int, int] = {}
        if before is not None:
            cut, row = TopicCut.of_path(before[0]), before[1]
            self._next, self._rest = cut.ends, remaining([_segment(cut)], row)
        self._grown: dict[int, tuple[int, float]] = {}  # the end of each partition, and since when it is there
        self._from_ms, self._bounded_ends = 0, dict[int, int]()
        self.identity = self._identity(identity)
        self._require_log()

    def fresh(self) -> list[Segment]:
        self._identity(self.identity)
        partitions = self._partitions
        before = self._before(partitions)
        ends, until_ms = self._ends(partitions, before)
        cuts = split(self.topic, before, ends, self._from_ms, until_ms, MOST_ROWS)
        segments, last = list(self._rest), before
        for end in islice(cuts, _CUTS_AT_ONCE if self._live else None):
            segments.append(_segment(TopicCut(self.topic.name, {part: (last[part], end[part]) for part in end})))
            last = end
        self.holds_back = self._live and any(last[part] < end for part, (end, _) in self._grown.items())
        if segments and not self.types:
            self._show_types(segments)
        if not self.types:
            return []  # without types, they are read again by the next call
        # Nothing fails from here on, so that a call returns all of its segments or none.
        self._next, self._rest = dict(last), []
        return segments

    def _identity(self, identity: str | None) -> str:
        """Return the topic's id and its partitions; refuse a topic other than the one read so far."""
        description = self.topic.description()
        if description is None and identity is None:
            command = (
                f"kafka-topics.sh --create --topic {self.topic.name} --config message.timestamp.type=LogAppendTime"
            )
            raise refuse(f"topic {self.topic.name}", "there is no such topic", f"one that is there: {command}")
        if description is None:
            raise gone(self.topic.name, "the topic was deleted, and the stream has read from it")
        now, self._partitions = description
        if identity is not None and now != identity:
            raise gone(self.topic.name, f"it was deleted and made again: its id is {now}, and it was {identity}")
        return now

    def _require_log(self) -> None:
        """Refuse a topic whose records are not kept, or have no arrival time."""
        settings, where = self.topic.configuration(), f"topic {self.topic.name}"
        kind = settings.get("message.timestamp.type", "CreateTime")
        if self._records.by_append_time and kind != "LogAppendTime":
            raise refuse(
                where,
                f"its message.timestamp.type is {kind}: its records bring no time of arrival",
                "arrival_time, a column that has it; or the broker's time: kafka-configs.sh --alter --entity-type "
                f"topics --entity-name {self.topic.name} --add-config message.timestamp.type=LogAppendTime",
            )
        if "compact" in settings.get("cleanup.policy", "delete"):
            fault = "its cleanup.policy is compact: records may vanish before they are read again"
            raise refuse(where, fault, "a topic with cleanup.policy=delete: a stream's log only grows")

    def _before(self, partitions: list[int]) -> dict[int, int]:
        """Return the next offset of each partition; a new one begins with its first."""
        first = self.topic.first(partitions)
        if missing := self._next.keys() - set(partitions):
            raise gone(self.topic.name, f"partition {min(missing)} is there no longer")
        read = {part: start for part, (start, _) in self._rest_ranges().items()} or self._next
        for part, offset in read.items():
            if first[part] > offset:
                raise overtaken(
                    self.topic.name,
                    f"partition {part}: its retention has deleted the records from {offset} to {first[part] - 1} "
                    "before they were read",
                )
        return {**first, **self._next}

    def _rest_ranges(self) -> dict[int, tuple[int, int]]:
        return dict(TopicCut.of_path(self._rest[0].path).ranges) if self._rest else {}

    def _ends(self, partitions: list[int], before: Offsets) -> tuple[dict[int, int], int]:
        """Return the offsets at which reading the topic ends now, and an append time (ms) after them."""
        newest_ms = self.topic.newest_ms(partitions)  # requested before the ends, which then include everything older
        ends, now_s = dict(self.topic.ends(partitions)), self._clock()
        for part, end in ends.items():
            if end < before[part]:
                fault = f"partition {part} ends at {end}, and was read up to {before[part]}: records were lost"
                raise gone(self.topic.name, fault)
        self._grown = {
            part: known if (known := self._grown.get(part)) is not None and known[0] == end else (end, now_s)
            for part, end in ends.items()
        }
        until_ms = max(newest_ms.values(), default=0) + 1
        if not self._live:
            self._bounded_ends = self._bounded_ends or ends
            return self._bounded_ends, until_ms
        awaited = [part for part, (_, since_s) in self._grown.items() if now_s - since_s < self._idle_s]
        bound_ms = known_until(newest_ms, awaited)
        if bound_ms is None:
            return ends, until_ms
        return ends_known(self.topic, before, ends, awaited, bound_ms), bound_ms

    def _show_types(self, segments: list[Segment]) -> None:
        """Read the types of the columns from the records; in a bounded run, refuse records that don't show them."""
        shown = shown_types(self._objects(segments), self.columns)
        if shown.types is not None and not (self._live and NULL in shown.types.values()):  # else a key may still come
            self.types, self.problem = settled_types(shown.types, self.columns, lambda: None), None
            return
        own = {part: name for part, name in self.columns.named().items() if name not in (ID, APPEND_TIME)}
        names, where = ", ".join(sorted(set(own.values()))), f"topic {self.topic.name}"
        optional = missing_optional(where, self.columns, shown.names)
        if shown.names and (missing_columns := missing(where, self.columns, self.columns.needed(), shown.names)):
            raise MissingColumn([*missing_columns, *([] if self._live else optional)])
        fault = f"no record has a value of a fitting type in each of {names}"
        if optional and not self._live:
            raise Refused(optional)  # not `Unfit`, as records with the column may still come
        unfit = unfit_problems(where, self.columns, unfit_values(self._objects(segments), self.columns))
        if unfit and not self._live:
            raise Refused(unfit)
        if not self._live:
            remedy = "JSON objects with times as ISO 8601 text or epoch milliseconds, and values as numbers"
            raise refuse(where, fault, remedy)
        waits_for = [f"{each.where}: {each.fault}; right would be: {each.remedy}" for each in [*optional, *unfit][:1]]
        self.problem = "".join(waits_for) or f"{where}: {fault}"

    def _objects(self, segments: list[Segment]) -> Iterator[dict[str, Any]]:
        fetched = (self._records.fetch(segment) for segment in segments)
        return chain.from_iterable(map(_objects_of, fetched))


def _objects_of(records: Records) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among records, with the columns that the broker adds."""
    places = records.places(np.arange(len(records.values))).to_pylist()
    for row, value in enumerate(records.values):
        try:
            record = None if value is None or row in records.faults else json.loads(value)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record | {ID: places[row], APPEND_TIME: int(records.timestamp_ms[row])}


def _segment(cut: TopicCut) -> Segment:
    return Segment(cut.path, 0, cut.rows, of_rows=cut.rows)
