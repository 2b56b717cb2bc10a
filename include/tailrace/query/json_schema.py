"""JSON Schema of query files, generated from the models in query.py, for completion and checks in editors.

It describes a file as an editor's YAML parser reads it: plain scalars become numbers and booleans, whereas loading.py
reads each as text. So a column may be a number here, since one may be called 5. The schema accepts every file that
loading.py accepts. Some refusals of loading.py can't be expressed in a schema: slide ≤ size, a cron expression,
anchors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import yaml
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from tailrace.aggregate.named_section import NAMED
from tailrace.ground.duration import _UNIT_OF, format_duration, ms
from tailrace.query.declared import ADAPTER
from tailrace.query.sql_schema import or_sql
from tailrace.query.window_section import NAMED_LENGTHS

Json = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Patterns of the number of a duration, by its lower bound of zero: at least (ge), more than (gt), or no bound.
NUMBERS = {"ge": r"(\d+(\.\d+)?|-0+(\.0+)?)", "gt": r"(?=[0.]*[1-9])\d+(\.\d+)?", "": r"-?\d+(\.\d+)?"}
UNITS, CALENDAR_UNITS = (
    "|".join("".join(f"[{letter}{letter.upper()}]" for letter in unit) for unit in units)
    for units in (sorted(_UNIT_OF), NAMED_LENGTHS)
)
TIME = r"^\s*\d{4}(-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])|-?W\d{2}(-?[1-7])?)(.\d{2}[\d:.,+\-Z ]*)?\s*$"
FIRST_DAY, LAST_DAY = 1_01_01, 9999_12_31  # 2000-01-01 may be written 20000101, which YAML reads as a number
QUOTED = r"^\s*[+-]?[\d_]*\.?\d+\.?([eE][+-]?\d+)?\s*$"  # numbers that YAML parsers read as text: quoted, or 1_000
_AS_YAML = ("integer", "number", "boolean", "array")  # types whose examples are not texts
_HOLDS_SECTIONS: Json = {"not": {"additionalProperties": {"not": {"type": "object"}}}}
"""An object with a value that is an object."""

_WORDS = ("true", "false", "yes", "no", "on", "off", "t", "f", "y", "n")
_BOOLEAN: Json = {
    "type": ["boolean", "string", "integer"],
    "pattern": "^(" + "|".join(["0", "1", *("".join(f"[{x}{x.upper()}]" for x in word) for word in _WORDS)]) + ")$",
    "minimum": 0,
    "maximum": 1,
}


def json_schema(query: TypeAdapter[Any] = ADAPTER) -> Json:
    """Return the JSON Schema (draft 2020-12) of the files that declare a query."""
    root = query.json_schema(schema_generator=_Generator)
    sections = {name: _in_file(section) for name, section in root.pop("$defs", {}).items()}
    for section in sections.values():
        _spread_policy(section, sections)
    for section in [*sections.values()]:
        _merge_members(section, sections)
    whole = or_sql(_merged(root, sections)) if "discriminator" in root else _in_file(root)
    schema = {"$schema": DIALECT, "title": "A tailrace query", **whole}
    text = json.dumps([schema, sections])
    return schema | {"$defs": {name: section for name, section in sections.items() if f'"#/$defs/{name}"' in text}}


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, with defaults as written in a file, and with the rules of the validators."""

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> Json:
        return {"type": "string", "format": "duration", **{bound: "PT0S" for bound in ("ge", "gt") if bound in schema}}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, timedelta):
            return format_duration(ms(dft))
        if not isinstance(dft, BaseModel):
            return super().encode_default(dft)
        if isinstance(word := dft.model_dump(), str):  # a section that may be written as a word
            return word
        section: Json = {}
        for name, field in type(dft).model_fields.items():
            value = self.encode_default(getattr(dft, name))
            section |= value if field.discriminator else {} if value is None else {name: value}
        return section

    def model_schema(self, schema: core_schema.ModelSchema) -> Json:
        section = super().model_schema(schema)
        section.pop("title", None)
        section["description"] = section.get("description", "").partition("\n\n")[0]
        return section


def _in_file(node: Json) -> Json:
    """Return Pydantic's schema of a section or field, with leaves as a YAML parser reads them."""
    node = {key: value for key, value in node.items() if key != "default" or value is not None}
    if "properties" in node:
        node["properties"] = {name: _in_file(child) for name, child in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _in_file(node[key])
    if "anyOf" in node:
        first, *others = node["anyOf"] = [_in_file(child) for child in node["anyOf"]]
        if others == [{"type": "null"}] and "type" in first and "enum" not in first:  # optional: null joins its types
            types = first["type"] if isinstance(first["type"], list) else [first["type"]]
            del node["anyOf"]
            node = first | {"type": [*types, "null"]} | node
        elif others == [{"type": "null"}] and "$ref" in first:  # if/then makes editors report the wrong field
            del node["anyOf"]
            node |= {"if": {"not": {"type": "null"}}, "then": first}
    if "enum" not in node and "const" not in node:
        node |= _leaf(node, node.pop("format", None))
        meaning, _, example = node.get("description", "").partition(": ")
        if example and "type" in node and node["type"] not in ("object", "array", "null"):
            first = node["type"] if isinstance(node["type"], str) else node["type"][0]
            node["examples"] = [yaml.safe_load(example) if first in _AS_YAML else example]
            if "pattern" in node:  # editors show this instead of the pattern
                node["patternErrorMessage"] = f"right would be: {example} ({meaning})"
    return node


def _leaf(node: Json, form: str | None) -> Json:
    match node.get("type"), form:
        case "string" | ["object", "string"], "duration" | "window length":
            number = NUMBERS["gt" if node.pop("gt", None) else "ge" if node.pop("ge", None) else ""]
            length = rf"{number}\s*({UNITS})"
            length = length if form == "duration" else rf"({length}|1\s*({CALENDAR_UNITS}))"
            return {"pattern": rf"^\s*{length}\s*$"}
        case "string", "date-time":
            return {"type": ["string", "integer"], "pattern": TIME, "minimum": FIRST_DAY, "maximum": LAST_DAY}
        case "string", "path":
            return {"type": ["string", "number", "boolean"], "minLength": 1}
        case "string", None:
            search = re.compile(node.get("pattern", "")).search
            return {"type": ["string", *(["number"] if search("5") else []), *(["boolean"] if search("true") else [])]}
        case "integer" | "number" | "boolean" as first, _:
            return _BOOLEAN if first == "boolean" else {"type": [first, "string"], "pattern": QUOTED}
    return {}


def _members(node: Json, sections: Mapping[str, Json]) -> dict[str, Json]:
    """Return the sections of a discriminated union, by tag."""
    return {tag: sections[reference.split("/")[-1]] for tag, reference in node["discriminator"]["mapping"].items()}


def _spread_policy(section: Json, sections: Mapping[str, Json]) -> None:
    """Move the settings of a policy up to the section's own fields, where a file has them."""
    fields = section["properties"]
    for name in [name for name, node in fields.items() if node.get("discriminator", {}).get("propertyName") == name]:
        node = fields[name]
        members = _members(node, sections)
        summary = "; ".join(f"{tag}: {member['description']}" for tag, member in members.items())
        fields[name] = {"type": "string", "enum": [*members], "description": f"{node['description']} ({summary})"}
        settings = dict.fromkeys(key for member in members.values() for key in member["properties"] if key != name)
        rules = section.setdefault("allOf", [])
        for tag, member in members.items():
            own = {key: value for key, value in member["properties"].items() if key != name}
            required = [key for key in member.get("required", []) if key != name]
            rules.append(_when(name, [tag], {"required": required, "properties": dict.fromkeys(settings, False) | own}))
        rules += [{"if": {"required": [key]}, "then": {"required": [name]}} for key in settings]
        fields |= {key: {} for key in settings}  # known fields; the rules above define each policy's


def _merge_members(section: Json, sections: dict[str, Json]) -> None:
    """Merge the members of each field that is a union into one section, so that editors report the wrong field."""
    for name, node in section["properties"].items():
        if "discriminator" in node:
            title = name.capitalize()
            named = node["discriminator"]["mapping"].pop(NAMED, None)
            if title not in sections:
                sections[title] = _merged(node, sections) | {"description": node["description"].partition(": ")[0]}
            one: Json = {"$ref": f"#/$defs/{title}"}
            if named is not None:  # in a file the names are in the section itself
                one = {
                    "type": "object",
                    "if": _HOLDS_SECTIONS,
                    "then": _by_name(sections[named.split("/")[-1]]),
                    "else": one,
                }
            section["properties"][name] = one | {"description": node["description"]}


def _by_name(section: Json) -> Json:
    """Return the schema of a section whose free names stand beside its other fields, and may equal one of them."""
    each = section["properties"]["each"]
    own = {name: node for name, node in section["properties"].items() if name not in ("each", "function")}
    beside = {
        name: {"if": {"type": "object"}, "then": each["additionalProperties"], "else": node}
        for name, node in own.items()
    }
    return {**each, "properties": beside}


def _merged(union: Json, sections: Mapping[str, Json]) -> Json:
    """Return a section with the fields of all members, and rules about the fields that each tag allows."""
    name, members = union["discriminator"]["propertyName"], _members(union, sections)
    fields = dict.fromkeys(key for member in members.values() for key in member["properties"])
    required = [key for key in fields if all(key in member.get("required", []) for member in members.values())]
    properties: Json = {}
    for key in fields:
        nodes = [member["properties"].get(key) for member in members.values()]
        node = next(node for node in nodes if node is not None)
        shared = all(other == node for other in nodes)
        properties[key] = node if shared else {"description": node["description"]}
    tag = next(iter(members.values()))["properties"][name]
    properties[name] = {"type": "string", "enum": [*members], "description": tag["description"]}
    rules = []
    for member in {id(member): member for member in members.values()}.values():
        own = {
            key: member["properties"].get(key, False)
            for key in fields
            if key != name and member["properties"].get(key) != properties[key]
        }
        needed = [key for key in member.get("required", []) if key not in required]
        tags = [tag for tag, other in members.items() if other is member]
        rules.append(_when(name, tags, {"required": needed, "properties": own}))
        rules += member.get("allOf", [])
    schema = {"type": "object", "description": next(iter(members.values()))["description"], "properties": properties}
    return schema | {
        "required": required,
        "additionalProperties": False,
        "allOf": [rule for rule in rules if rule["then"]],
    }


def _when(name: str, values: list[Any], then: Json) -> Json:
    condition = {"properties": {name: {"enum": values}}, "required": [name]}
    return {"if": condition, "then": {key: value for key, value in then.items() if value}}
