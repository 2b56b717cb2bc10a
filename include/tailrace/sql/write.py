"""Writes the sections of a query as SQL text, which `translate` reads back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

from tailrace.ground.arrow.answer_columns import HAVING, VALUE
from tailrace.ground.duration import ms, parse_duration
from tailrace.sql.call_forms import call_text
from tailrace.sql.derived import generated_name, quoted
from tailrace.sql.fields_outside import SETTINGS
from tailrace.sql.keys import KEY
from tailrace.sql.over_aggregates import each_share, over_names, section_within, with_calls, with_names
from tailrace.sql.tokens import tokenize
from tailrace.sql.translate import translate

_SECOND_MS = 1000
_UNITS = (("DAY", 86_400_000), ("HOUR", 3_600_000), ("MINUTE", 60_000))
_RANK = "rank"


class Written(NamedTuple):
    """SQL text, and the fields of the declaration beside it."""

    sql: str
    beside: dict[str, Any]


def write(fields: Mapping[str, Any]) -> Written | None:
    """Return the SQL text of a declaration; None where SQL can't express it.

    Parameters
    ----------
    fields : mapping
        A declaration as plain data: one stream with its columns, its window, and `aggregate` or `topk`.
    """
    if fields.get("kind") not in ("aggregate", "topk"):
        return None
    fields = _as_sql_says(fields)
    ((_, stream),) = fields["streams"].items()
    columns = stream.get("columns") or {}
    inline = {column for column, text in columns.items() if column == generated_name(text)}
    for chosen in (inline, set()) if inline else (inline,):
        written = Written(_Writer(fields, chosen).sql(), _beside(fields, chosen))
        if _says(written, fields):
            return written
    return None


def _as_sql_says(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a declaration with expressions in the form of SQL text."""
    section = fields.get("aggregate")
    if section is None:
        return fields
    parts = {name: each for name, each in section.items() if isinstance(each, Mapping)}
    named = {name: each for name, each in parts.items() if not each.get("expression")}
    if not parts:
        named = {VALUE: {name: value for name, value in section.items() if name != HAVING}}
    read = {
        name: {**each, "expression": over_names(each["expression"], named)}
        for name, each in parts.items()
        if each.get("expression")
    }
    having = {HAVING: over_names(section[HAVING], named)} if isinstance(section.get(HAVING), str) else {}
    return {**fields, "aggregate": {**section, **read, **having}}


def _says(written: Written, fields: Mapping[str, Any]) -> bool:
    """Test whether SQL text is equivalent to a declaration, including the order of derived columns."""
    try:
        declared = translate(*written).fields
    except ValueError:  # the expression can't stand in a SELECT, as it contains a word of its clauses
        return False
    orders = [[*(stream.get("columns") or {})] for each in (declared, fields) for stream in each["streams"].values()]
    return plain(declared) == plain(fields) and orders[0] == orders[1]


def _beside(fields: Mapping[str, Any], inline: Collection[str]) -> dict[str, Any]:
    """Return the fields of a declaration beside its SQL text, which contains some of the derived columns."""
    rest = {name: value for name, value in fields.items() if name not in ("kind", "aggregate")}
    for name, own in SETTINGS.items():
        section = rest.pop(name, None)
        if isinstance(section, Mapping) and section.get(own) is not None:
            rest[name] = {own: section[own]}
    ((name, stream),) = fields["streams"].items()
    columns = {column: text for column, text in (stream.get("columns") or {}).items() if column not in inline}
    kept = {key: value for key, value in stream.items() if key not in ("key", "where", "columns")}
    rest["streams"] = {name: kept | ({"columns": columns} if columns else {})}
    return rest


def plain(value: Any) -> Any:
    """Return plain data in a normal form: scalars as text, empty values dropped, durations in one unit."""
    if isinstance(value, Mapping):
        items = {name: plain(part) for name, part in value.items()}
        return {name: part for name, part in items.items() if part not in (None, {}, [])}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value).strip()


class _Writer:
    """The parts of a declaration as SQL text."""

    def __init__(self, fields: Mapping[str, Any], inline: Collection[str]) -> None:
        self.fields = fields
        self.inline = inline
        ((self.stream, self.declaration),) = fields["streams"].items()
        self.columns = self.declaration.get("columns") or {}
        key = self.declaration.get("key")
        self.keys: list[str] = [key] if isinstance(key, str) else [*(key or ())]
        self.is_plain_key = isinstance(key, str)

    def sql(self) -> str:
        return self._aggregate() if self.fields["kind"] == "aggregate" else self._topk()

    def _aggregate(self) -> str:
        section = self.fields["aggregate"]
        windows = bounds = ["window_start", "window_end"]
        if (call := self._session_window()) is not None:
            bounds, windows = [f"session_{name.replace('_', '.')} AS {name}" for name in bounds], [call]
        items = [*self._keys(), *bounds, *self._aggregates(section)]
        groups = ", ".join([*windows, *map(self._value, self.keys)])
        listed = ",\n  ".join(items)
        return f"SELECT\n  {listed}\nFROM {self._source()}{self._where()}\nGROUP BY {groups}{self._having(section)}"

    def _topk(self) -> str:
        topk = self.fields["topk"]
        partition = ", ".join(["window_start", "window_end", *map(self._value, self.keys)])
        order = "DESC" if topk.get("order", "descending") == "descending" else "ASC"
        over = f"PARTITION BY {partition} ORDER BY {self._value(topk['score'])} {order}"
        items = ["window_start", "window_end", *self._keys(), *map(quoted, topk.get("select") or ())]
        number = f"row_number() OVER ({over}) AS {_RANK}"
        inner = f"SELECT {', '.join([*items, number])}\n  FROM {self._source()}{self._where('  ')}"
        return f"SELECT * FROM (\n  {inner}\n)\nWHERE {_RANK} <= {topk['k']}"

    def _keys(self) -> list[str]:
        return [f"{self._value(name)} AS {KEY}" if self.is_plain_key else self._value(name) for name in self.keys]

    def _aggregates(self, section: Mapping[str, Any]) -> list[str]:
        if isinstance(section.get("function"), str):
            return [self._call(section)]
        return [
            f"{self._expression(each['expression']) if each.get('expression') else self._call(each)} AS {quoted(name)}"
            for name, each in section.items()
            if isinstance(each, Mapping)
        ]

    def _call(self, section: Mapping[str, Any]) -> str:
        return call_text(section, self._value)

    def _expression(self, text: str) -> str:
        """Return an expression in which values of aggregates are written in place, if they were derived so."""
        return with_calls(tokenize(text), partial(each_share, text_of=lambda call: self._call(section_within(call))))

    def _value(self, column: str) -> str:
        """Return a column, or its expression if it is derived in place."""
        return self.columns[column] if column in self.inline else quoted(column)

    def _where(self, indent: str = "") -> str:
        where = self.declaration.get("where")
        return f"\n{indent}WHERE {where}" if where else ""

    def _having(self, section: Mapping[str, Any]) -> str:
        having = section.get(HAVING)
        if not isinstance(having, str):
            return ""
        if isinstance(section.get("function"), str):  # in SQL text the answer has no name
            having = with_names(having, {VALUE: self._call(section)})
        return f"\nHAVING {self._expression(having)}"

    def _session_window(self) -> str | None:
        """Return the call that groups by sessions; None for other windows."""
        window = self.fields["window"]
        if isinstance(window, str) or not window.get("session"):
            return None
        return f"session_window({quoted(self.declaration['event_time'])}, '{_spark_length(window['session'])}')"

    def _source(self) -> str:
        window = self.fields["window"]
        if self._session_window() is not None:
            return quoted(self.stream)
        window = {"size": window} if isinstance(window, str) else window
        size, slide, offset = (window.get(name) for name in ("size", "slide", "offset"))
        is_tumbling = slide is None or slide == size
        lengths = [*([] if is_tumbling else [slide]), size, *([offset] if offset else [])]
        table = f"TABLE {quoted(self.stream)}, DESCRIPTOR({quoted(self.declaration['event_time'])})"
        return f"{'TUMBLE' if is_tumbling else 'HOP'}({table}, {', '.join(map(_interval, lengths))})"


def _spark_length(length: str) -> str:
    """Return a length of time in the form of Spark's window functions."""
    number, unit = _interval(length).removeprefix("INTERVAL ").split(" ")
    return f"{number[1:-1]} {unit.lower()}s"


def _interval(length: str) -> str:
    number, _, unit = length.partition(" ")
    if unit in ("week", "month", "quarter", "year"):
        return f"INTERVAL '{number}' {unit.upper()}"
    value_ms = ms(parse_duration(length))
    for name, unit_ms in _UNITS:
        if value_ms % unit_ms == 0:
            return f"INTERVAL '{value_ms // unit_ms}' {name}"
    seconds = f"{value_ms / _SECOND_MS:.3f}".rstrip("0").rstrip(".")
    return f"INTERVAL '{seconds}' SECOND"
