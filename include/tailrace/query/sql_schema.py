"""The part of the JSON Schema that allows SQL text in place of sections."""

from __future__ import annotations

from typing import Any

from tailrace.query.sql_form import KINDS, SQL
from tailrace.sql.fields_outside import SETTINGS

Json = dict[str, Any]

_SQL: Json = {
    "type": "string",
    "minLength": 1,
    "description": "SQL text in place of kind, window, aggregate or topk, and of the stream's key and where",
    "examples": [
        "SELECT country, sum(amount) AS revenue FROM events GROUP BY window(event_time, '5 minutes'), country"
    ],
}
_HAS_SQL: Json = {"required": [SQL]}


def or_sql(schema: Json) -> Json:
    """Return the schema of query files in sections, or with SQL text in place of some of them."""
    rules = [{**rule, "if": rule["if"] | {"not": _HAS_SQL}} for rule in schema["allOf"]]
    streams = next(rule["then"] for rule in rules if KINDS[0] in rule["if"]["properties"]["kind"]["enum"])["properties"]
    beside: Json = {name: {"type": "object", "propertyNames": {"enum": [own]}} for name, own in SETTINGS.items()}
    beside |= {"kind": {"enum": [*KINDS]}, "streams": streams["streams"]}
    beside |= dict.fromkeys(("aggregate", "emd_join", "spatial_join"), False)
    rules += [
        {"if": {"not": _HAS_SQL}, "then": {"required": ["kind"]}},
        {"if": _HAS_SQL, "then": {"properties": beside}},
    ]
    required = [name for name in schema["required"] if name != "kind"]
    return schema | {"properties": schema["properties"] | {SQL: _SQL}, "required": required, "allOf": rules}
