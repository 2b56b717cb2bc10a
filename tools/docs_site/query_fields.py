"""Writes the reference of query files: each section with its fields, from the models that read the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tailrace.aggregate.named_section import NamedAggregateSection, NamedAggregatesSection
from tailrace.disorder.policies import POLICIES
from tailrace.ground.duration import format_duration, ms
from tailrace.query.joins import EmdJoinQuery, SpatialJoinQuery
from tailrace.query.windowed import AggregateQuery, TopKQuery

QUERIES: tuple[type[BaseModel], ...] = (AggregateQuery, TopKQuery, EmdJoinQuery, SpatialJoinQuery)
PAGES = {
    "query": ("The query file", "The fields at the top of a file, and the sections that every kind takes."),
    "streams": ("Streams and sources", "The section `streams`: columns, expressions, lookups, and sources by format."),
    "disorder": ("Policies", "The section `disorder`, and the settings of each policy, which stand beside `tick`."),
    "kinds": ("Kinds", "The section of each kind: what it answers, and how."),
}
"""The pages, by name: heading and first line."""
_PAGE_OF_ROOM = {"sources": "streams", "disorder": "disorder", "query": "query"}
_PAGE_OF_SECTION = {
    "Stream": "streams",
    "Bounds": "streams",
    "LookupSection": "streams",
    "Disorder": "disorder",
    "KafkaTopic": "query",
    "PostgresTable": "query",
}
_SIMPLE = {str: "text", int: "integer", float: "number", bool: "boolean", datetime: "time", date: "date"}
_SIMPLE |= {timedelta: "duration", Path: "path", Any: "any", NoneType: "nothing"}

IN_FILE = {NamedAggregatesSection: dict[str, NamedAggregateSection]}
"""What stands in a file where a model is another."""


@dataclass(frozen=True)
class Documented:
    """A section: its model, and the fields under which a file has it."""

    model: type[BaseModel]
    where: list[str]

    @property
    def page(self) -> str:
        room = self.model.__module__.split(".")[1]
        return _PAGE_OF_SECTION.get(self.model.__name__, _PAGE_OF_ROOM.get(room, "kinds"))

    @property
    def anchor(self) -> str:
        return self.model.__name__.lower()


def sections() -> dict[type[BaseModel], Documented]:
    """Return every section that a query file may have, in the order in which a reader meets them."""
    found: dict[type[BaseModel], Documented] = {}
    waiting: list[tuple[type[BaseModel], str]] = [(query, "") for query in QUERIES]
    while waiting:
        model, where = waiting.pop(0)
        if model in found:
            found[model].where.append(where)
            continue
        found[model] = Documented(model, [where])
        for name, field in model.model_fields.items():
            path = f"{where}.{name}".lstrip(".")
            waiting += [(inner, path + below) for inner, below in _models(field.annotation)]
    return found


def _models(annotation: Any, below: str = "") -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the sections that a field may hold, each with what stands for its name below the field."""
    annotation = IN_FILE.get(annotation, annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, below
    below = ".NAME" if get_origin(annotation) is dict else below
    for part in () if get_origin(annotation) is Literal else get_args(annotation):
        yield from _models(part, below)


def pages() -> dict[str, str]:
    """Return the pages of the query file's reference, by name."""
    found = sections()
    texts = {name: [f"# {title}\n\n{about}\n"] for name, (title, about) in PAGES.items()}
    texts["query"].append(_top())
    for section in found.values():
        if section.model not in QUERIES:
            texts[section.page].append(_section(section, found))
    return {name: "\n".join(parts) for name, parts in texts.items()}


def _top() -> str:
    """Return the table of the fields at the top of a file, for all kinds."""
    found = sections()
    top: dict[str, FieldInfo] = {}
    kinds: dict[str, list[str]] = {}
    for query in QUERIES:
        (kind,) = get_args(query.model_fields["kind"].annotation)
        for name, field in query.model_fields.items():
            top.setdefault(name, field)
            kinds.setdefault(name, []).append(kind)
    rows = ["## Top of the file\n", "| field | type | default | meaning | example |", "| --- | --- | --- | --- | --- |"]
    every = Literal[tuple(name for query in QUERIES for name in get_args(query.model_fields["kind"].annotation))]
    top["kind"] = FieldInfo(annotation=every, description=QUERIES[0].model_fields["kind"].description)
    for name, field in top.items():
        of = "" if len(kinds[name]) == len(QUERIES) else f" (kind {', '.join(f'`{kind}`' for kind in kinds[name])})"
        rows.append(_row(name, field, found, "query", of))
    sql = "SQL text in place of `kind`, `window`, `aggregate` or `topk`, and of the stream's `key` and `where`"
    rows.append(f"| `sql` | text | – | {sql}: see [SQL](../sql.md) | |")
    return "\n".join([*rows, ""])


def _section(section: Documented, found: dict[type[BaseModel], Documented]) -> str:
    model = section.model
    about = _about(model)
    where = ", ".join(f"`{place}`" for place in dict.fromkeys(place for place in section.where if place))
    rows = [f"## {_title(section)} {{#{section.anchor}}}", "", about, ""]
    if where:
        rows += [f"In a file: {where}.", ""]
    rows += ["| field | type | default | meaning | example |", "| --- | --- | --- | --- | --- |"]
    rows += [_row(name, model.model_fields[name], found, section.page) for name in fields(model)]
    return "\n".join([*rows, ""])


def fields(model: type[BaseModel]) -> list[str]:
    """Return the fields that a file may give a section: a field whose type is None alone refuses every value."""
    return [name for name, field in model.model_fields.items() if field.annotation is not NoneType]


def _title(section: Documented) -> str:
    if section.model in POLICIES:
        (name,) = get_args(section.model.model_fields["policy"].annotation)
        return f"Policy `{name}`"
    formats = section.model.model_fields.get("format")
    if section.model.__module__.startswith("tailrace.sources") and formats is not None:
        names = [name for name in _literals(formats.annotation) if name]
        if names and section.where != ["spatial_join.table"]:
            return "Source " + ", ".join(f"`{name}`" for name in names)
    names = [name for name in section.where[0].split(".") if name != "NAME"]
    return f"`{names[-1]}`: {section.model.__name__}"


def _literals(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return [*get_args(annotation)]
    return [value for part in get_args(annotation) for value in _literals(part)]


def _about(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").partition("\n\n")[0].split())


def _row(name: str, field: FieldInfo, found: dict[type[BaseModel], Documented], page: str, of: str = "") -> str:
    meaning, example = _parted(field.description or "")
    cells = [f"`{name}`", _type(field.annotation, found, page), _default(field), meaning + of, _code(example)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _parted(description: str) -> tuple[str, str]:
    """Part a description at the first colon that stands in no braces: what a field means, and an example."""
    parts = description.split(": ")
    for end in range(1, len(parts)):
        meaning = ": ".join(parts[:end])
        if meaning.count("{") == meaning.count("}"):
            return meaning, ": ".join(parts[end:])
    return description, ""


def _type(annotation: Any, found: dict[type[BaseModel], Documented], page: str) -> str:
    """Return the type of a field in words, with links to sections."""
    annotation = IN_FILE.get(annotation, annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in parts)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        section = found[annotation]
        address = "" if section.page == page else f"{section.page}.md"
        return f"[{annotation.__name__}]({address}#{section.anchor})"
    inner = [_type(part, found, page) for part in parts if isinstance(part, type) or get_origin(part)]
    if origin is Annotated:
        return inner[0]
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(each for each in inner if each != _SIMPLE[NoneType]))
    if origin is not None:
        return f"mapping of names to {inner[1]}" if origin is dict else f"list of {' or '.join(dict.fromkeys(inner))}"
    return _SIMPLE.get(annotation) or str(getattr(annotation, "__name__", annotation)).lower()


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    value = field.default
    if field.default_factory is not None or value is None or value in ({}, (), [], ""):
        return "–"
    if isinstance(value, BaseModel):
        return "its defaults"
    if isinstance(value, timedelta):
        return f"`{format_duration(ms(value))}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:%Y-%m-%d}`" if isinstance(value, datetime) else f"`{value}`"


def _code(example: str) -> str:
    return f"`{example}`" if example else ""
