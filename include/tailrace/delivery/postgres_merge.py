"""Merges versions of answers into a PostgreSQL table, within the transaction of a delivery.

The table has no version of answers after its last one: COPY adds their rows directly, which is cheaper than merging.
The others are copied into two temporary tables. `fresh` has the rows of answers. `pruned` has the identity and `as_of`
of answers whose other rows are deleted: retracted ones, and answers of a kind with several rows for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.delivery.postgres_copy import copy
from tailrace.delivery.postgres_schema import names
from tailrace.delivery.postgres_target import PostgresTarget
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.times import TIME
from tailrace.sources.lookup.postgres_server import quoted

if TYPE_CHECKING:
    from psycopg2.extensions import cursor as Cursor

_VALUES = {"text": "''", "bigint": "0", "boolean": "false"}
"""A value of each type of keys; for dates and times the epoch."""

_ALWAYS = pa.scalar(datetime.max.replace(tzinfo=UTC), TIME)
"""An `as_of` that no version of an answer exceeds."""


@dataclass(frozen=True)
class Merge:
    """The merge of one delivery.

    Attributes
    ----------
    last_us : int or None
        The greatest horizon of the table's answers, in µs; None if the horizon does not show that a row is new.
    is_empty : bool
        Whether the table was empty.
    replaces : bool
        True: afterwards the table has only the given rows. False: rows of newer versions stay.
    null_columns : set of str
        The columns of the identity in which copied rows have nulls. Others are compared by `=`, so that the table's
        index is used.
    """

    target: PostgresTarget
    last_us: int | None
    is_empty: bool
    replaces: bool
    null_columns: set[str] = field(default_factory=set)

    @staticmethod
    def begin(target: PostgresTarget, replaces: bool) -> Merge:
        """Create the temporary tables."""
        columns, table = target.columns, target.table
        for name, of in (("fresh", [*columns.types]), ("pruned", [*columns.identity, "as_of"])):
            target.cursor.execute(f"CREATE TEMP TABLE {name} ON COMMIT DROP AS SELECT {names(of)} FROM {table} LIMIT 0")
        takes_copies = target.takes_copies()
        is_empty = takes_copies and target.is_empty()
        last_us = target.last_us() if takes_copies and not replaces else None
        return Merge(target, last_us, is_empty, replaces and not is_empty)

    def add(self, fresh: pa.Table, pruned: pa.Table) -> None:
        """Copy rows of answers, and identities with `as_of`."""
        is_new = self._is_new(fresh)
        copy(self._cursor, self.target.table, select(fresh, is_new))
        self._copy("fresh", select(fresh, ~is_new))
        self._copy("pruned", select(pruned, ~self._is_new(pruned)))

    def _copy(self, table: str, rows: pa.Table) -> None:
        self.null_columns.update(name for name in self.target.columns.nullable if rows.column(name).null_count)
        copy(self._cursor, f"pg_temp.{table}", rows)

    def _is_new(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Test which rows are of answers without any version in the table, shape (n,)."""
        if self.is_empty or self.last_us is None or self.target.columns.horizon is None:
            return np.full(rows.num_rows, self.is_empty)
        horizon = rows.column(self.target.columns.horizon).cast(TIME).cast(pa.int64())
        return np.asarray(horizon) > self.last_us

    def remove(self, identities: pa.Table) -> None:
        """Copy the identities of answers that no longer have any version."""
        always = pa.repeat(_ALWAYS, identities.num_rows)
        self._copy("pruned", identities.append_column("as_of", always))

    def end(self) -> None:
        """Merge the rows of the temporary tables into the table."""
        for table in ("fresh", "pruned"):
            self._execute(f"ANALYZE pg_temp.{table}")
        if self.replaces:
            self._execute(f"DELETE FROM {self.target.table} t WHERE {self._is_not_fresh}")
        else:
            self._remove_older()
        self._execute(self._upsert())

    def _remove_older(self) -> None:
        """Remove rows that newer versions no longer have, and copied rows of versions older than the table's."""
        columns, table = self.target.columns, self.target.table
        identity, row_identity = columns.identity, columns.row_identity
        if set(identity) != set(row_identity):  # otherwise the upsert compares the versions
            is_older = f"{self._equal(identity, 't', 'f')} AND t.as_of > f.as_of"
            self._execute(f"DELETE FROM pg_temp.fresh f USING {table} t WHERE {is_older}")
        is_pruned = f"{self._equal(identity, 't', 'g')} AND t.as_of <= g.as_of"
        self._execute(f"DELETE FROM {table} t USING pg_temp.pruned g WHERE {is_pruned} AND {self._is_not_fresh}")

    @property
    def _is_not_fresh(self) -> str:
        return (
            f"NOT EXISTS (SELECT FROM pg_temp.fresh f WHERE {self._equal(self.target.columns.row_identity, 't', 'f')})"
        )

    def _upsert(self) -> str:
        columns = self.target.columns
        every, values = [*columns.types], [name for name in columns.types if name not in columns.row_identity]
        new, old = names(values, "excluded."), names(values, "t.")
        is_newer = f"ROW({new}) IS DISTINCT FROM ROW({old})"
        if not self.replaces:
            is_newer += " AND excluded.as_of >= t.as_of"
        return (
            f"INSERT INTO {self.target.table} AS t ({names(every)}) SELECT {names(every)} FROM pg_temp.fresh "
            f"ON CONFLICT ({names(columns.row_identity)}) DO UPDATE SET ({names(values)}) = ROW({new}) WHERE {is_newer}"
        )

    def _equal(self, columns: Sequence[str], one: str, other: str) -> str:
        """Return the condition that two rows are equal in some columns, where null equals null; fit for hash joins."""
        sides = []
        for side in (one, other):
            plain = [f"{side}.{quoted(name)}" for name in columns if name not in self.null_columns]
            for name in columns:
                if name in self.null_columns:
                    column = f"{side}.{quoted(name)}"
                    plain += [f"{column} IS NULL", f"coalesce({column}, {self._any_value(name)})"]
            sides.append(f"({', '.join(plain)})")
        return " = ".join(sides)

    def _any_value(self, name: str) -> str:
        dtype = self.target.columns.types[name]
        return _VALUES.get(dtype, f"'epoch'::{dtype}")

    @property
    def _cursor(self) -> Cursor:
        return self.target.cursor

    def _execute(self, statement: str) -> None:
        self._cursor.execute(statement)
