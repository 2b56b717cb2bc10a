"""Answers in the form for readers: the columns of a row, and the columns that identify it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tailrace.answers.model import AnswerModel
from tailrace.ground.arrow.key_lists import key_columns
from tailrace.ground.arrow.times import with_times
from tailrace.kind.protocol import Kind
from tailrace.query.query import Query
from tailrace.storage.results import public_columns
from tailrace.storage.table_schemas import schemas


@dataclass(frozen=True)
class PublicAnswers:
    """The columns of a query's answers for readers, with their identity.

    Attributes
    ----------
    schema : Schema
        The columns as in `tailrace results`, with times as in tables.
    identity : tuple of str
        The columns that identify an answer.
    row_identity : tuple of str
        The columns that identify a row of an answer.
    """

    model: AnswerModel
    schema: pa.Schema
    identity: tuple[str, ...]
    row_identity: tuple[str, ...]

    @staticmethod
    def from_query(query: Query, kind: Kind) -> PublicAnswers:
        """Return the form of a query's answers; a composite key has a column for each part."""
        results, keys = schemas(kind)["results"], tuple(query.key_names) or ("key",)

        fields = [
            pa.field(name, pa.float64()) if name == "coverage" else results.field(name)
            for name in public_columns(query, kind)
        ]

        def shown(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(part for name in names for part in (keys if name == "key" else (name,)))

        model = kind.answers
        return PublicAnswers(model, pa.schema(fields), shown(model.identity.determining), shown(model.row_identity))

    def rows(self, answers: pa.Table) -> pa.Table:
        """Return answers, with times in ms, as rows for readers."""
        return with_times(answers.select(self.schema.names), self.schema)

    def with_key_values(self, answers: pa.Table) -> pa.Table:
        """Add the columns of a composite key to identities of answers."""
        absent = [name for name in self.identity if name not in answers.column_names]
        types = {index: self.schema.field(name).type for index, name in enumerate(absent)}
        for name, values in zip(absent, key_columns(answers["key"], types) if absent else [], strict=True):
            answers = answers.append_column(name, values)
        return answers

    @property
    def horizon_is_fixed(self) -> bool:
        """Whether all versions of an answer have the same horizon, as it is part of the identity."""
        return set(self.model.horizon_columns) <= set(self.identity)
