"""The log of another query's answers, which a chained query reads: all versions, in the order in which they were found.

It is an append-only Delta table beside the reader's tables; its only writer is the reader's stream. Each commit records
the versions of the other query's tables up to which it was read, so a killed refresh is repeated. A refresh appends the
difference between the newest versions of answers in those tables and in the log. So nothing is lost if those tables'
logs were cleaned up, or the tables were restored from a backup or rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake

from tailrace.answers.by_window import ByWindow
from tailrace.answers.identity import Identity
from tailrace.delivery.answer_changes import AnswerChanges, Position
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import last_indices, select
from tailrace.ground.arrow.ranges import overlap
from tailrace.ground.arrow.times import with_times
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.near_names import nearest
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.sources.answers_source import ANSWER, AS_OF
from tailrace.sources.discovery.object_files import open_location
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import naming_what_is_lost
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import AnswerGroups, AnswerTables
from tailrace.storage.table_files import resolve_file
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import storage_options
from tailrace.tables.answers import STAMPS
from tailrace.tables.every import in_ms
from tailrace.tables.stream import UPSTREAM
from tailrace.windows.sliding import Sliding

_MOST_COMMITS = 64  # commits without a new version after which the position is written anyway

_STAMPS = STAMPS.keys() - UPSTREAM.columns.keys()
"""The columns of `results` about the making of an answer, which a tuple does not have."""


class _Versions(ByWindow):
    """The answer model of windows without coverage, as a tuple that is late upstream changes no version."""

    @property
    def can_lack_tuples(self) -> bool:
        return False


_MODEL = _Versions(Sliding(1, 1))
"""The model of upstream's answers; only its identity is used, so any windows are suitable."""


@dataclass(frozen=True)
class AnswerLog:
    """The log of one query's answers, stored among the tables of another query.

    Attributes
    ----------
    upstream : Layout
        The files of the query with the answers.
    reader : Layout
        The files of the query that reads them.
    name : str
        The name of the log's table.
    """

    upstream: Layout
    reader: Layout
    name: str
    _looked: Position = field(default_factory=dict, compare=False, repr=False)  # the position last read here

    def require_answers(self) -> None:
        """Refuse a query that has not answered yet."""
        if (missing := self.missing_answers) is not None:
            raise Refused([missing])

    @property
    def missing_answers(self) -> Problem | None:
        """The problem that the other query has not answered yet; None once it has begun."""
        if Tables(self.upstream).has("results"):
            return None
        name, warehouse = self.upstream.home.name, self.upstream.home.parent
        others = [home.name for home in warehouse.iterdir() if home != self.reader.home] if warehouse.is_dir() else []
        near = nearest(name, others)
        fault = f"query {name} has no answers yet: it never ran in this warehouse"
        remedy = f"tailrace run of {name}, first" + (f"; or query: {near}" if near else "")
        return Problem(str(self.upstream.home), fault, remedy)

    def refresh(self) -> int:
        """Append new versions (idempotent); return their number.

        Raises
        ------
        Refused
            When the other query has not answered yet, or its answers have other columns than before.
        """
        self.require_answers()
        tables, mine = OpenedTables(self.upstream), OpenedTables(self.reader)
        log = mine.open(self.name) if mine.has(self.name) else None
        schema = self._schema(tables, mine)
        public = PublicAnswers(_MODEL, schema, _MODEL.identity.determining, _MODEL.row_identity)
        written = (lambda _: None) if log is None else log.transaction_version
        changes = AnswerChanges(tables, public, self._looked.get if self._looked else written)
        position = changes.position
        if self._looked == position or position == {name: written(name) for name in position}:
            self._looked.update(position)
            return 0
        affected = None if log is None else changes.affected
        rows = self._rows(tables, mine, affected, schema)
        transactions = [Transaction(name, version) for name, version in position.items()]
        path, commits = self.reader.table(self.name), AnswerChanges(tables, public, written).commits
        if rows.num_rows or log is None or affected is None or commits > _MOST_COMMITS:
            write_deltalake(
                str(path) if log is None else log,
                rows,
                mode="append",
                storage_options=storage_options(path),
                commit_properties=CommitProperties(app_transactions=transactions),
                post_commithook_properties=self._hooks(log),
            )
        self._looked.clear()
        self._looked.update(position)
        return int(rows.num_rows)

    def _hooks(self, log: DeltaTable | None) -> PostCommitHookProperties:
        """Let Delta Lake remove old commits only after the reader has read all versions."""
        newest = Journal(self.reader.journal).last()
        streams = () if newest is None else newest.position.streams.values()
        is_read = log is not None and any(stream.version >= log.version() for stream in streams)
        return PostCommitHookProperties(cleanup_expired_logs=None if is_read else False)

    def _rows(self, tables: Tables, mine: Tables, affected: dict[str, pa.Table] | None, schema: pa.Schema) -> pa.Table:
        """Return the versions of the affected answers (or of all) that the log lacks, in the order of `as_of`."""
        changed, part = None, None
        if affected is not None:
            changed = pa.concat_tables(affected.values())
            if not changed.num_rows:
                return schema.empty_table()
            ends = with_times(changed.select(["window_end"]), pa.schema([schema.field("window_end")]))["window_end"]
            part = AnswerGroups("window_end", pc.unique(ends))
        answers, log = AnswerTables(tables, _MODEL), in_ms(schema.empty_table(), "results")
        if mine.has(self.name):
            log = (mine.read(self.name) if part is None else self._known(mine.open(self.name), part)).cast(log.schema)
        known = log.sort_by(AS_OF)
        known = known.take(pa.array(last_indices(*_MODEL.identity.number(known))))
        newest = _with_ids(_MODEL.identity.latest(answers.versions(part))).select(schema.names).cast(log.schema)
        if changed is not None:
            newest, known = (select(rows, _MODEL.identity.find(rows, changed) >= 0) for rows in (newest, known))
        lacking = difference(_MODEL.identity, newest, known)
        return with_times(lacking.sort_by([(AS_OF, "ascending"), (ANSWER, "ascending")]), schema, self.name)

    def _known(self, log: DeltaTable, part: AnswerGroups) -> pa.Table:
        """Read the log's versions of some answers (times in ms), from files whose statistics allow them.

        The log has very many small files, and a dataset of them costs more than a millisecond for each.
        """
        actions = pa.table(log.get_add_actions(flatten=True))
        low, high = (
            pc.fill_null(actions[name].cast(pa.int64()), unknown).to_numpy()
            if name in actions.column_names  # otherwise no file has rows
            else np.full(len(actions), unknown)
            for name, unknown in (("min.window_end", BEFORE_ALL), ("max.window_end", AFTER_ALL))
        )
        ends = part.values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        path = self.reader.table(self.name)
        names = actions["path"].filter(pa.array(overlap(low, high, ends, ends))).to_pylist()
        with naming_what_is_lost(self.reader, self.name):
            files = [pq.read_table(open_location(resolve_file(name, path))) for name in names]
        schema = pa.schema(log.schema().to_arrow())
        return in_ms(
            pa.concat_tables([schema.empty_table(), *(file.cast(schema) for file in files)]).filter(part.condition),
            "results",
        )

    def _schema(self, tables: Tables, mine: Tables) -> pa.Schema:
        """Return the log's columns: the columns of upstream's answers when the log was begun.

        Raises
        ------
        Refused
            When its answers lack one of them, or have another type in it.
        """
        fields = {each.name: each for each in tables.schema("results") if each.name not in _STAMPS}
        fields |= {each.name: each for each in UPSTREAM.schema()}
        if not mine.has(self.name):
            return pa.schema([*fields.values()])
        before = mine.schema(self.name)
        for each in before:
            now = fields.get(each.name)
            if now is None or now.type != each.type:
                had = f"{each.name}, {each.type}, that {self.reader.home.name} has read"
                fault = f"its answers have no column {had}" if now is None else f"{had}, is of type {now.type} now"
                remedy = f"another name for the query {self.reader.home.name}, to begin again"
                raise refuse(str(self.upstream.home), fault, remedy)
        return before


def _with_ids(versions: pa.Table) -> pa.Table:
    """Add the id of each answer: its window's end and its key; a null key is left out."""
    end = versions["window_end"].cast(pa.string())
    ids = pc.coalesce(pc.binary_join_element_wise(end, versions["key"].cast(pa.string()), "/"), end)
    return versions.append_column(ANSWER, ids)


def difference(identity: Identity, newest: pa.Table, known: pa.Table) -> pa.Table:
    """Return the versions that the log lacks, of new, changed and removed answers.

    Each has a greater `as_of` than the log's version of the same answer; by 1 ms if necessary.

    Parameters
    ----------
    newest, known : Table
        The newest version of each answer, including retracted ones, in the tables and in the log; with the same columns
        and types, times in ms. An answer without any version is removed: its row in the log is retracted.
    """
    known_retracted = known[RETRACTED].to_numpy()
    gone = known.filter(pa.array(~known_retracted & (identity.find(known, newest) < 0)))
    gone = _with(gone, RETRACTED, pa.repeat(pa.scalar(True), gone.num_rows))
    gone = _with(gone, AS_OF, pa.array(gone[AS_OF].to_numpy() + 1, pa.int64()))
    index = identity.find(newest, known)
    is_known, is_retracted = index >= 0, newest[RETRACTED].to_numpy()
    was_retracted = ~is_known | _taken(known_retracted, index, False)
    number, others = matching.number_rows([newest, known], [name for name in newest.column_names if name != AS_OF])
    is_same = is_known & (number == _taken(others, index, -1))
    is_new = ~is_same & ~(is_retracted & was_retracted)
    as_of = newest[AS_OF].to_numpy()
    earliest = np.where(is_known, _taken(known[AS_OF].to_numpy(), index, 0) + 1, as_of)
    newest = _with(newest, AS_OF, pa.array(np.maximum(as_of, earliest), pa.int64()))
    return pa.concat_tables([newest.filter(pa.array(is_new)), gone])


def _taken(values: np.ndarray, index: Ints, default: int | bool) -> np.ndarray:
    """Return the values at some positions, and a default at position −1."""
    return np.asarray(np.r_[values, np.array([default], values.dtype)][index])


def _with(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, column)
