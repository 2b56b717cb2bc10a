"""The delivery target `kafka`: sends later versions of answers to the topic of the stream's answers.

Corrections have a greater `as_of`. A retraction is a tombstone; so is a row that an answer no longer has, such as the
last rank of a shorter ranking. The position is written when the brokers have everything, so a killed delivery is
repeated. If the position is lost, or of another topic or table, the newest version of each answer is sent as a new
generation. It counts even if the warehouse has older versions than before, as after a restore.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tailrace.answers.versions import without_retracted
from tailrace.delivery.answer_changes import AnswerChanges
from tailrace.delivery.answer_parts import answer_parts
from tailrace.delivery.answer_topic import AnswerTopic
from tailrace.delivery.delivered import note_delivered, open_answers
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.delivery.same_query import require_same_query
from tailrace.delivery.topic_position import TopicPosition, declared_topic
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.times import with_times
from tailrace.ground.files.object_path import Location
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kind.protocol import Kind
from tailrace.query.answers_section import TOPIC
from tailrace.query.query import Query
from tailrace.sources.discovery.object_files import open_location
from tailrace.storage.checkpoint import require_corrections
from tailrace.storage.holding import RequireHeld
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import AnswerGroups, AnswerTables
from tailrace.storage.status import wall_ms
from tailrace.storage.switch import tables_aside
from tailrace.storage.tables import Tables
from tailrace.tables.answers import KINDS
from tailrace.tables.every import in_ms

_VERSION = "version corrections"  # the name of the table in positions
MOST_GROUPS = 1_000  # answers in one condition on a table; if more have changed, all versions are read


def begin_topic(layout: Layout, query: Query, kind: Kind, app: str) -> None:
    """Write the first position of a new stream's topic; call it before the first batch of a run.

    A query without a topic forgets its position: nobody sends its present answers, so a topic that is declared later
    gets all answers.

    `app` is the id of its checkpoint.
    """
    if query.answers.kafka is None:
        TopicPosition.file(layout).unlink(missing_ok=True)
    elif Tables(layout).last_batch("metrics", app) < 0 and TopicPosition.read(layout) is None:
        tables = OpenedTables(layout)
        changes = AnswerChanges(tables, PublicAnswers.from_query(query, kind), _nothing)
        _position(changes, query, max(_created(tables), wall_ms())).write(layout)


def send_corrections(layout: Layout, query: Query, kind: Kind, wait_s: float) -> None:
    """Send the corrections that a query's topic lacks (idempotent); none without a topic.

    Parameters
    ----------
    query : Query
        As the stream runs it.
    wait_s : float
        The longest wait, in s, for another process that is at it.

    Raises
    ------
    Busy
        When another process still sends after that time; when the query was rebuilt meanwhile.
    Damaged
        When a table is lost, or damaged.
    ConnectionError
        When a record could not be delivered.
    """
    if query.answers.kafka is None:
        return
    with layout.lock(TOPIC, wait_s) as require_held:
        require_same_query(layout, query)
        tables = OpenedTables(layout)
        require_corrections(tables)
        if not tables.has("results"):
            return
        answers = open_answers(tables)
        _TopicDelivery(layout, query, PublicAnswers.from_query(query, kind), require_held).run(tables)
        if _has_sent(tables):
            require_held()
            note_delivered(layout, TOPIC, query.answers.kafka.uri(), answers)


def _has_sent(tables: OpenedTables) -> bool:
    """Test whether the stream has sent all rows of the opened `results`: `metrics` gets a batch after the topic."""
    manifest = tables.layout.manifest()
    if manifest is None:
        return False
    answered = tables.last_batch("results", manifest.id)
    return answered < 0 or tables.last_batch("metrics", manifest.id) >= answered


@dataclass(frozen=True)
class _TopicDelivery:
    """One delivery."""

    layout: Layout
    query: Query
    public: PublicAnswers
    require_held: RequireHeld

    def run(self, tables: OpenedTables) -> None:
        position = TopicPosition.read(self.layout)
        is_same = position is not None and position.topic == declared_topic(self.query)
        if position is None or not is_same or position.created != _created(tables):
            self._send_all(position)
            return
        changes = AnswerChanges(tables, self.public, position.tables.get)
        files = changes.files_of("corrections")
        try:
            rows = None if files is None else self._rows(tables, files)
        except FileNotFoundError:  # the file was removed too long ago
            rows = None
        if rows is None:
            self._send_all(position)
        elif changes.position.get(_VERSION) != position.tables.get(_VERSION):
            self._send_changed(tables, rows)
            self._advance(changes, position.generation)

    def _send_all(self, before: TopicPosition | None) -> None:
        """Send the newest version of each answer, and tombstones for keys of earlier tables, as a new generation.

        The generation is written first: answers that the stream sent with the previous one are then in the tables,
        which are read later. The tombstones have the least `as_of`, so none removes an answer that the stream writes
        meanwhile.
        """
        tables, topic = OpenedTables(self.layout), declared_topic(self.query)
        since = before.created if before is not None and before.topic == topic else 0
        generation = max(_created(tables), wall_ms(), 0 if before is None else before.generation + 1)
        self.require_held()
        TopicPosition(topic, generation, since, {}).write(self.layout)
        tables = OpenedTables(self.layout)
        sender, answers = self._topic(), AnswerTables(tables, self.public.model)
        for keys in earlier_keys(self.layout, since):
            names = keys.column_names
            gone = self._keys_not_answered(keys, answers)
            self.require_held()
            sender.remove(gone.append_column("as_of", pa.repeat(pa.scalar(0, pa.int64()), gone.num_rows)), names)
        tables = OpenedTables(self.layout)
        answers = AnswerTables(tables, self.public.model)
        for part in answer_parts(answers, self.public):
            self._send(sender, answers.versions(part))
        self._advance(AnswerChanges(tables, self.public, _nothing), generation)

    def _keys_not_answered(self, keys: pa.Table, answers: AnswerTables) -> pa.Table:
        """Return the keys without an answer now; all keys if their columns or types have changed."""
        names = list(self.public.model.row_identity)
        if keys.column_names != names:
            return keys
        there = answers.latest_rows(names)
        if there.schema.types != keys.schema.types:
            return keys
        return select(keys, matching.find(*matching.number_rows([keys, there], names)) < 0)

    def _send_changed(self, tables: OpenedTables, rows: pa.Table) -> None:
        """Send the newest version of each answer with rows that were added to `corrections` or removed from it."""
        topic, answers = self._topic(), AnswerTables(tables, self.public.model)
        column = "window_end" if self.public.horizon_is_fixed else "left_id"
        field = self.public.schema.field(column)
        groups = AnswerGroups(column, with_times(rows.select([column]), pa.schema([field]))[column].unique())
        parts = [groups] if len(groups.values) <= MOST_GROUPS else answer_parts(answers, self.public)
        identity, sent, nothing = self.public.model.identity, np.zeros(rows.num_rows, bool), None
        for part in parts:
            versions = answers.versions(part)
            nothing = versions.slice(0, 0) if nothing is None else nothing
            versions = select(versions, identity.find(versions, rows) >= 0)
            is_here = identity.find(rows, versions) >= 0
            self._send(topic, versions, select(rows, is_here))
            sent |= is_here
        if nothing is not None:
            self._send(topic, nothing, select(rows, ~sent))

    def _send(self, topic: AnswerTopic, versions: pa.Table, changed: pa.Table | None = None) -> None:
        """Send the newest of all versions of some answers.

        Parameters
        ----------
        changed : Table, optional
            Rows that were added to `corrections` or removed; records get at least their `as_of`. A repeated correction
            may have no row for an answer that is right without it.
        """
        model = self.public.model
        newest, names = model.identity.latest(versions), list(model.row_identity)
        known = versions.select([*names, "as_of"])
        changed = known.slice(0, 0) if changed is None else changed.select(known.column_names).cast(known.schema)
        rows, known = without_retracted(newest), pa.concat_tables([known, changed])
        gone = select(known, matching.find(*matching.number_rows([known, rows], names)) < 0)
        gone = gone.group_by(names).aggregate([])
        ordered_after = pa.concat_tables([newest.select(known.column_names), changed])
        self.require_held()
        columns = [name for name in self._columns if name in rows.column_names]
        topic.send(rows.select(columns), self._order(rows, ordered_after))
        topic.remove(gone.append_column("as_of", self._order(gone, ordered_after)), names)

    def _order(self, rows: pa.Table, versions: pa.Table) -> pa.Array:
        """Return, for each row, the greatest `as_of` (ms) among the versions of its answer."""
        row, version = self.public.model.identity.number(rows, versions)
        greatest = np.full(1 + max(row.max(initial=-1), version.max(initial=-1)), BEFORE_ALL)
        np.maximum.at(greatest, version, versions["as_of"].to_numpy())
        return pa.array(greatest[row])

    @cached_property
    def _columns(self) -> list[str]:
        """The columns of streamed answers."""
        return list(OpenedTables(self.layout).schema("results").names)

    def _rows(self, tables: OpenedTables, files: list[Location]) -> pa.Table:
        names = list(dict.fromkeys([*self.public.model.identity.columns, *self.public.model.row_identity, "as_of"]))
        nothing = tables.empty("results", names)
        rows = [
            in_ms(pq.read_table(open_location(file), columns=names), "results").cast(nothing.schema) for file in files
        ]
        return pa.concat_tables([nothing, *rows])

    def _topic(self) -> AnswerTopic:
        topic = AnswerTopic.from_query(self.query, self.public.model.row_identity, self.layout)
        assert topic is not None
        return topic

    def _advance(self, changes: AnswerChanges, generation: int) -> None:
        self.require_held()
        _position(changes, self.query, generation).write(self.layout)


def _position(changes: AnswerChanges, query: Query, generation: int) -> TopicPosition:
    return TopicPosition(declared_topic(query), generation, _created(changes.tables), changes.position)


def _created(tables: OpenedTables) -> int:
    """Return when the table `results` was created (ms): a rebuild changes this time, a backup keeps it."""
    return int(tables.open("results").metadata().created_time)


def _nothing(name: str) -> None:
    """Return None, as no earlier position is known."""


_ROW_KEYS = ("key", "left_id", "right_id", "window_start", "window_end", "rank")


def row_keys(columns: Collection[str], structure: Mapping[str, Any]) -> list[str]:
    """Return the columns that identify a row of answers, in the kind's order.

    A window's end determines its start; a session's does not.

    Parameters
    ----------
    columns : collection of str
        The columns of the answers.
    structure : mapping
        `Query.structure()`, of a checkpoint's manifest.
    """
    has_sessions = structure.get("window.session") is not None
    names = {*columns} & {*KINDS.get(structure.get("kind", ""), columns)}  # an aggregate may have the name `rank`
    return [name for name in _ROW_KEYS if name in names and (name != "window_start" or has_sessions)]


def earlier_keys(layout: Layout, since: int) -> Iterator[pa.Table]:
    """Yield the keys of answers in tables that rebuilds have kept aside, each once per table; times in ms.

    Parameters
    ----------
    since : int
        The generation of the earliest tables to read.
    """
    for directory in tables_aside(layout):
        results = directory / "results"
        if not (results / "_delta_log").is_dir() or (DeltaTable(results).metadata().created_time or 0) < since:
            continue
        manifest = Layout(directory).read_manifest()
        structure = {} if manifest is None else manifest.structure
        for path in (results, directory / "corrections"):
            if (path / "_delta_log").is_dir():
                yield _keys(path, structure)


def _keys(path: Path, structure: Mapping[str, Any]) -> pa.Table:
    dataset = DeltaTable(path).to_pyarrow_dataset()
    names = row_keys(dataset.schema.names, structure)
    return in_ms(dataset.to_table(columns=names), "results").group_by(names).aggregate([])
