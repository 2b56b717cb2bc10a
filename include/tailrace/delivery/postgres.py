"""Delivers the newest version of each answer to a PostgreSQL table, exactly once by identity and `as_of`.

A delivery is one transaction: the answers that have changed since the stored position, and the next position. So a
killed delivery has done nothing, or everything. A row is replaced unless the new version is older. If the query's
tables are new, as after a rebuild, or the position or files of later commits are lost, the table is made equal to the
query's tables. After a restore from a backup, rows that are newer than the restored tables stay until the stream, or a
correction, writes the answer again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tailrace.delivery.answer_changes import AnswerChanges
from tailrace.delivery.answer_parts import answer_parts, newest_of
from tailrace.delivery.delivered import note_delivered, open_answers
from tailrace.delivery.postgres_merge import Merge
from tailrace.delivery.postgres_schema import AnswerColumns
from tailrace.delivery.postgres_target import PostgresTarget
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.delivery.same_query import require_same_query
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.matching import first_indices, number_rows, select
from tailrace.ground.arrow.times import with_times
from tailrace.kind.protocol import Kind
from tailrace.query.answers_section import POSTGRES
from tailrace.query.query import Query
from tailrace.storage.checkpoint import require_corrections
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import AnswerTables

CHECK_TIMEOUT = "10s"
"""The time limit of a statement in `check_answer_table`."""

PART_ROWS = 500_000  # rows of answers that are read at a time
MOST_ROWS = 1_000_000  # changed answers; more are read in parts


def deliver(layout: Layout, query: Query, kind: Kind, wait_s: float) -> int:
    """Bring a query's PostgreSQL table up to date with its Delta tables (idempotent).

    Returns
    -------
    int
        The number of rows that were sent.

    Raises
    ------
    Refused
        When the table does not fit, or a right is missing; nothing is changed then.
    Busy
        When another process still delivers after `wait_s`; when the query was rebuilt meanwhile.
    ConnectionError
        When the server is unavailable.
    Damaged
        When a table of the query is lost or damaged.
    """
    declared = query.answers.postgres
    if declared is None:
        return 0
    public = PublicAnswers.from_query(query, kind)
    with layout.lock(POSTGRES, wait_s) as require_held:
        require_same_query(layout, query)
        tables = OpenedTables(layout)
        require_corrections(tables)
        if not tables.has("results"):
            return 0
        answers = open_answers(tables)
        with declared.server.session() as session, session.cursor() as cursor:
            target = PostgresTarget.find(declared, AnswerColumns.from_query(public, query), owner_of(layout), cursor)
            target.lock(wait_s)
            target.create()
            sent = _Delivery(target, tables, public).run()
            require_held()
            session.commit()
        require_held()
        note_delivered(layout, POSTGRES, declared.uri(), answers)
        return sent


def check_answer_table(query: Query, kind: Kind, layout: Layout) -> None:
    """Refuse a query whose PostgreSQL table can't be created, is another query's, or does not fit; change nothing.

    An unavailable server, or a locked table, is no reason to refuse: deliveries report it.

    Raises
    ------
    Refused
    """
    declared = query.answers.postgres
    if declared is None:
        return
    columns = AnswerColumns.from_query(PublicAnswers.from_query(query, kind), query)
    try:
        with declared.server.session() as session, session.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{CHECK_TIMEOUT}'")
            PostgresTarget.find(declared, columns, owner_of(layout), cursor).check()
    except ConnectionError:
        return


def owner_of(layout: Layout) -> str:
    """Return the comment of a query's table, which names its owner."""
    return f"answers of query {layout.home.name}, by tailrace in {layout.home}"


@dataclass(frozen=True)
class _Delivery:
    """One delivery, from tables at their present versions."""

    target: PostgresTarget
    tables: OpenedTables
    public: PublicAnswers

    def run(self) -> int:
        """Send the changed answers; return the number of rows."""
        before = self.target.position()
        changes = AnswerChanges(self.tables, self.public, (before or {}).get)
        affected, position = changes.affected, changes.position
        if before == position:
            return 0
        is_new = before is None or before["id results"] != position["id results"]
        # An answer without any version is known by the commits since the position, or by its absence.
        replaces_all = is_new or (affected is None and not changes.goes_back)
        merge, sent = Merge.begin(self.target, replaces_all), 0
        vanished = None if affected is None else affected["corrections"]
        for newest in self._newest(affected):
            fresh = self._fresh(newest)
            merge.add(fresh, self._pruned(newest))
            sent += fresh.num_rows
            if vanished is not None:
                vanished = select(vanished, self.public.model.identity.find(vanished, newest) < 0)
        if vanished is not None:  # their only version was of a correction that was later repeated
            merge.remove(self._identities(self.public.with_key_values(vanished)))
        merge.end()
        self.target.store(position)
        return sent

    def _newest(self, affected: Mapping[str, pa.Table] | None) -> Iterator[pa.Table]:
        """Read the newest versions of the affected answers (None: of all), including retracted ones.

        If many are affected, others of the same time are included.
        """
        model = self.public.model
        answers = AnswerTables(self.tables, model)
        identities = None if affected is None else pa.concat_tables(affected.values())
        if identities is None or identities.num_rows > MOST_ROWS:
            fixed = identities is not None and self.public.horizon_is_fixed
            for part in answer_parts(answers, self.public, PART_ROWS, model.horizon(identities) if fixed else None):
                yield self._within(part, model.identity.latest(answers.versions(part)))
        elif identities.num_rows:
            yield newest_of(self.public, answers, identities)

    def _within(self, part: Any, newest: pa.Table) -> pa.Table:
        """Select the answers of a part, as a condition on tables may give others, too."""
        if part is None:
            return newest
        (low,), (high,) = part
        horizon = self.public.model.horizon(newest)
        return select(newest, (horizon > low) & (horizon <= high))

    def _fresh(self, newest: pa.Table) -> pa.Table:
        """Return the rows for readers, without repeats."""
        model = self.public.model
        answers = AnswerTables(self.tables, model)
        rows = answers.with_coverage(select(newest, ~newest[RETRACTED].to_numpy()))
        (number,) = number_rows([rows], model.row_identity)
        rows = self.public.rows(rows.take(pa.array(first_indices(number))))
        return rows.select([*self.target.columns.types])

    def _pruned(self, newest: pa.Table) -> pa.Table:
        """Return the identities, with `as_of`, of answers whose rows have to go if this version lacks them."""
        columns = self.target.columns
        if set(columns.identity) == set(columns.row_identity):
            newest = select(newest, newest[RETRACTED].to_numpy())
        first = self.public.model.identity.first_rows(newest)
        return self._identities(first, "as_of")

    def _identities(self, answers: pa.Table, *more: str) -> pa.Table:
        names = [*self.target.columns.identity, *more]
        return with_times(answers.select(names), pa.schema([self.public.schema.field(name) for name in names]))
