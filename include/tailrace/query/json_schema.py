"""A JSON Schema of query files, by which editors complete and check them; made from the models in query.py.

It describes a file as an editor's YAML parser gives it, which makes numbers and booleans of plain scalars; declare.py
takes each as text. So a column may be a number here, as one may be called 5. What declare.py accepts, the schema
accepts; some of what it refuses, a schema can't say: slide ≤ size, a cron expression, anchors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from tailrace.ground.duration import _UNIT_OF, format_duration, ms
from tailrace.query.query import Query
from tailrace.query.trial import Needs, needs, sizes

Json = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Of a duration, by its lower bound, which is zero: not less (ge), more (gt), or none.
NUMBERS = {"ge": r"(\d+(\.\d+)?|-0+(\.0+)?)", "gt": r"(?=[0.]*[1-9])\d+(\.\d+)?", "": r"-?\d+(\.\d+)?"}
UNITS = "|".join("".join(f"[{letter}{letter.upper()}]" for letter in unit) for unit in sorted(_UNIT_OF))
TIME = r"^\s*\d{4}(-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])|-?W\d{2}(-?[1-7])?)(.\d{2}[\d:.,+\-Z ]*)?\s*$"
FIRST_DAY, LAST_DAY = 1_01_01, 9999_12_31  # 2000-01-01 may be written 20000101, a number
QUOTED = r"^\s*[+-]?[\d_]*\.?\d+\.?([eE][+-]?\d+)?\s*$"  # a number that parsers leave text: in quotes, or 1_000


def json_schema(query: type[BaseModel] = Query) -> Json:
    """The schema, draft 2020-12, of the files that declare a query."""
    found = query.model_json_schema(schema_generator=_Generator)
    sections = {name: _in_file(section) for name, section in found.pop("$defs", {}).items()}
    for section in sections.values():
        _spread(section, sections)
    schema = {"$schema": DIALECT, "title": "A tailrace query", **_in_file(found)}
    told = json.dumps([schema, sections])
    return schema | {"$defs": {name: section for name, section in sections.items() if f'"#/$defs/{name}"' in told}}


class _Generator(GenerateJsonSchema):
    """Pydantic's own, with defaults as a file has them, and with what validators ask for."""

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> Json:
        return {"type": "string", "format": "duration", **{bound: "PT0S" for bound in ("ge", "gt") if bound in schema}}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, timedelta):
            return format_duration(ms(dft))
        if not isinstance(dft, BaseModel):
            return super().encode_default(dft)
        section: Json = {}
        for name, field in type(dft).model_fields.items():
            value = self.encode_default(getattr(dft, name))
            section |= value if field.discriminator else {} if value is None else {name: value}
        return section

    def model_schema(self, schema: core_schema.ModelSchema) -> Json:
        model: type[BaseModel] = schema["cls"]
        found = super().model_schema(schema)
        found.pop("title", None)
        found["description"] = found.get("description", "").partition("\n\n")[0]
        for name, (least, most) in sizes(model).items():
            found["properties"][name] |= {"minProperties": least} | ({} if most is None else {"maxProperties": most})
        if rules := needs(model):
            found["allOf"] = [_rule(rule) for rule in rules]
        return found


def _in_file(node: Json) -> Json:
    """What pydantic says of a section or a field, with the leaves that a YAML parser makes of a file."""
    node = {key: value for key, value in node.items() if key != "default" or value is not None}
    if "properties" in node:
        node["properties"] = {name: _in_file(child) for name, child in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _in_file(node[key])
    if "anyOf" in node:
        first, *others = node["anyOf"] = [_in_file(child) for child in node["anyOf"]]
        if others == [{"type": "null"}] and "type" in first and "enum" not in first:  # one that may be left empty
            types = first["type"] if isinstance(first["type"], list) else [first["type"]]
            del node["anyOf"]
            node = first | {"type": [*types, "null"]} | node
        elif others == [{"type": "null"}] and "$ref" in first:  # said so, a wrong field in it is what is told
            del node["anyOf"]
            node |= {"if": {"not": {"type": "null"}}, "then": first}
    if "enum" not in node and "const" not in node:
        node |= _leaf(node, node.pop("format", None))
        what, _, example = node.get("description", "").partition(": ")
        if example and "type" in node and node["type"] not in ("object", "array"):
            node["examples"] = [json.loads(example) if {"integer", "number"} & {node["type"][0]} else example]
            if "pattern" in node:  # editors show this in the place of a pattern
                node["patternErrorMessage"] = f"right would be: {example} ({what})"
    return node


def _leaf(node: Json, form: str | None) -> Json:
    match node.get("type"), form:
        case "string", "duration":
            number = NUMBERS["gt" if node.pop("gt", None) else "ge" if node.pop("ge", None) else ""]
            return {"pattern": rf"^\s*{number}\s*({UNITS})\s*$"}
        case "string", "date-time":
            return {"type": ["string", "integer"], "pattern": TIME, "minimum": FIRST_DAY, "maximum": LAST_DAY}
        case "string", "path":
            return {"type": ["string", "number", "boolean"], "minLength": 1}
        case "string", None:
            fits = re.compile(node.get("pattern", "")).search
            return {"type": ["string", *(["number"] if fits("5") else []), *(["boolean"] if fits("true") else [])]}
        case "integer" | "number" as number, _:
            return {"type": [number, "string"], "pattern": QUOTED}
    return {}


def _spread(section: Json, sections: Mapping[str, Json]) -> None:
    """Put the settings of a union's members beside the section's own fields, where a file has them."""
    fields = section["properties"]
    for name in [name for name, node in fields.items() if "discriminator" in node]:
        node = fields[name]
        members = {tag: sections[place.split("/")[-1]] for tag, place in node["discriminator"]["mapping"].items()}
        told = "; ".join(f"{tag}: {member['description']}" for tag, member in members.items())
        fields[name] = {"type": "string", "enum": [*members], "description": f"{node['description']} ({told})"}
        settings = dict.fromkeys(key for member in members.values() for key in member["properties"] if key != name)
        rules = section.setdefault("allOf", [])
        for tag, member in members.items():
            own = {key: value for key, value in member["properties"].items() if key != name}
            required = [key for key in member.get("required", []) if key != name]
            then = {"required": required, "properties": dict.fromkeys(settings, False) | own}
            rules.append(_when(name, [tag], then | {"allOf": member.get("allOf")}))
        rules += [{"if": {"required": [key]}, "then": {"required": [name]}} for key in settings]
        fields |= {key: {} for key in settings}  # what they hold is said by policy


def _rule(of: Needs) -> Json:
    held: Json = {name: {"type": "null"} for name in of.excluded}
    held |= {name: {"not": {"type": "null"}} for name in of.needed}
    return _when(of.choice, of.values, {"required": of.needed, "properties": held}, of.by_default)


def _when(name: str, values: list[Any], then: Json, by_default: bool = False) -> Json:
    chosen = {"properties": {name: {"enum": values}}, "required": [] if by_default else [name]}
    return {"if": chosen, "then": {key: value for key, value in then.items() if value}}
