"""The ids of answers in addresses: opaque texts that name an answer, independent of its version."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.model import AnswerModel
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.panels.query_view import QueryView
from tailrace.storage.answer_range import near_horizons
from tailrace.tables.every import ANSWER_TIMES

_LONGEST = 200  # characters of a text within an id; addresses have room for some thousand
_INTEGERS = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True)
class AnswerId:
    """The identity of an answer: its values in the identifying columns, with a digest for a long text.

    Attributes
    ----------
    values : dict
        By column: an integer, a boolean, a text (for a date or a timestamp its ISO 8601 form), None, or a list with the
        digest of a text.
    """

    values: dict[str, Any]

    @staticmethod
    def from_identity(identity: dict[str, Any]) -> AnswerId:
        """Return the id of an answer, given its identity."""
        return AnswerId({name: _short(value) for name, value in identity.items()})

    def __str__(self) -> str:
        text = json.dumps([*self.values.values()], ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @staticmethod
    def parse(text: str, model: AnswerModel) -> AnswerId:
        """Read the text of an id.

        Raises
        ------
        Refused
            When it does not fit an answer of this model.
        """
        names = model.identity.columns
        try:
            padded = text + "=" * (-len(text) % 4)
            values = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode())
            json.dumps(values, ensure_ascii=False).encode()  # JSON can escape lone surrogates, which no text has
        except (ValueError, RecursionError):
            raise no_id(text) from None
        if not isinstance(values, list) or len(values) != len(names):
            raise no_id(text)
        identity_values = dict(zip(names, values, strict=True))
        if not all(
            _is_value(value, name in ANSWER_TIMES, name in model.horizon_columns)
            for name, value in identity_values.items()
        ):
            raise no_id(text)
        return AnswerId(identity_values)

    def find(self, view: QueryView) -> pa.Table | None:
        """Return the identity of the answer from the tables, as one row; None if they lack it."""
        model = view.kind.answers
        horizons = [self.values[name] for name in model.horizon_columns if self.values[name] is not None]
        where = near_horizons(model, min(horizons) - 1, max(horizons))
        for name in ("results", "corrections"):
            if view.tables.has(name):
                for batch in view.tables.batches(name, [*model.identity.columns], where):
                    if (rows := self._matching(batch, model.identity.determining)).num_rows:
                        return rows.slice(0, 1)
        return None

    def _matching(self, rows: pa.Table, columns: Iterable[str]) -> pa.Table:
        """Return the rows that have the id's values in some columns."""
        for column in columns:
            rows = rows.filter(self._is_in(rows[column], self.values[column]))
        return rows

    def _is_in(self, column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
        """Test which values of a column equal the id's value."""
        if isinstance(value, list):
            is_long = pc.greater(pc.utf8_length(column), _LONGEST) if pa.types.is_string(column.type) else None
            if is_long is None:
                raise no_id(str(self))
            same = [
                each and _short(text) == value
                for each, text in zip(is_long.to_pylist(), column.to_pylist(), strict=True)
            ]
            return pa.chunked_array([pa.array(same, pa.bool_())])
        try:
            return pc.is_in(column, pa.array([value]).cast(column.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise no_id(str(self)) from None


def no_id(text: str) -> Refused:
    """Build the refusal of a text that is not an id of an answer."""
    return refuse(
        f"id {text[:40]}", "it is the id of no answer of this query", "to take an id from the list of answers"
    )


def _short(value: Any) -> Any:
    """Return a value in the form of ids: a long text as a list with its digest, a date or a timestamp as text."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and len(value) > _LONGEST:
        return [blake2b(value.encode(), digest_size=16).hexdigest()]
    return value


def _is_value(value: Any, is_time: bool, is_needed: bool) -> bool:
    """Test whether a value can be part of an identity; times are integers that a calendar can print."""
    if value is None:
        return not is_needed
    if isinstance(value, list):
        return not is_time and len(value) == 1 and isinstance(value[0], str)
    if isinstance(value, bool):
        return not is_time
    if isinstance(value, int):
        low, high = (EARLIEST_MS, LATEST_MS) if is_time else _INTEGERS
        return low <= value <= high
    return not is_time and isinstance(value, str)
