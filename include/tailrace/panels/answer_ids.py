"""The ids of answers in addresses: opaque texts that name an answer as long as it is there, whatever its version."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from tailrace.answers.model import AnswerModel
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.ground.times import TIMES
from tailrace.panels.answer_versions import near
from tailrace.panels.query_view import QueryView

_LONGEST = 200  # of a text that an id holds itself; an address has room for some thousand characters
_INTEGERS = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True)
class AnswerId:
    """The identity of an answer: its value of each column that identifies answers, a long text by its digest.

    Attributes
    ----------
    values : dict
        By column: an integer, a text, None, or a list with the digest of a text.
    """

    values: dict[str, Any]

    @staticmethod
    def of(identity: dict[str, Any]) -> AnswerId:
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
            When it is none of an answer of this model.
        """
        names = model.identity.columns
        try:
            padded = text + "=" * (-len(text) % 4)
            values = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode())
        except (ValueError, RecursionError):
            raise no_id(text) from None
        if not isinstance(values, list) or len(values) != len(names):
            raise no_id(text)
        found = dict(zip(names, values, strict=True))
        if not all(_is_value(value, name in TIMES, name in model.horizon_columns) for name, value in found.items()):
            raise no_id(text)
        return AnswerId(found)

    def find(self, view: QueryView) -> pa.Table | None:
        """Return the identity of the answer, one row, as the tables have it; None where they do not have it."""
        model = view.kind.answers
        horizons = [self.values[name] for name in model.horizon_columns if self.values[name] is not None]
        found = []
        for name in ("results", "corrections"):
            if not view.tables.has(name):
                continue
            schema, where = view.tables.schema(name), near(model, min(horizons), max(horizons))
            for column in model.identity.determining:
                if column not in TIMES:  # `near` has the times
                    where = where & self._equals(column, schema.field(column).type)
            rows = view.tables.read(name, model.identity.columns, where)
            found.append(rows.filter(pa.array([self._has_digests(row) for row in rows.to_pylist()], pa.bool_())))
        rows = pa.concat_tables(found) if found else None
        return None if rows is None or not rows.num_rows else rows.slice(0, 1)

    def _equals(self, column: str, dtype: pa.DataType) -> Any:
        """Return the condition on a column; of a text that is known by its digest alone, that there is one."""
        value = self.values[column]
        if value is None:
            return ds.field(column).is_null()
        if isinstance(value, list):
            return ds.field(column).is_valid()
        try:
            return ds.field(column) == pa.scalar(value).cast(dtype)
        except pa.ArrowInvalid:
            raise no_id(str(self)) from None

    def _has_digests(self, row: dict[str, Any]) -> bool:
        return all(_short(row[name]) == value for name, value in self.values.items() if isinstance(value, list))


def no_id(text: str) -> Refused:
    """Build the refusal of what is no id of an answer."""
    return refuse(f"id {text[:40]}", "it is the id of no answer of this query", "an id from the list of answers")


def _short(value: Any) -> Any:
    """Return a value as an id holds it: a long text as a list with its digest."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return [blake2b(value.encode(), digest_size=16).hexdigest()]
    return value


def _is_value(value: Any, is_time: bool, is_needed: bool) -> bool:
    """Test whether a value is one of an identity; times are integers that a calendar can print."""
    if value is None:
        return not is_needed
    if isinstance(value, list):
        return not is_time and len(value) == 1 and isinstance(value[0], str)
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = (EARLIEST_MS, LATEST_MS) if is_time else _INTEGERS
        return low <= value <= high
    return not is_time and isinstance(value, str)
