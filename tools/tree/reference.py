"""The reference, which the site writes from the models, is complete: tables, columns, sections, fields, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

import docs_site.commands
import docs_site.query_fields
import docs_site.tables
from docs_site.reference import pages
from kind_samples import SAMPLES, kind_of
from tailrace.ground.errors import Problem
from tailrace.ground.fields import Section
from tailrace.query.json_schema import json_schema
from tailrace.sources import history
from tailrace.storage import table_columns
from tailrace.storage.table_schemas import (
    ACTIVITY,
    CALIBRATION_TABLES,
    CORRECTION_TABLES,
    PROPOSALS,
    STREAM_TABLES,
    UPSTREAM,
    schemas,
)

_TABLES = "tools/docs_site/tables.py"
_FIELDS = "tools/docs_site/query_fields.py"


def tables(_: Path) -> Iterator[Problem]:
    """Yield the tables of a query, and their columns, that the reference does not have as they are."""
    page = docs_site.tables.page()
    headings = {*re.findall(r"^## `(\w+)`$", page, re.MULTILINE)}
    every = {*STREAM_TABLES, *CORRECTION_TABLES, *CALIBRATION_TABLES, "activity", "current", UPSTREAM}
    for name in sorted(every ^ headings):
        fault = f"the table {name} is missing" if name in every else f"there is no table {name}"
        yield Problem(_TABLES, fault, "a line of _PAGES for each table")
    yield from dict.fromkeys(_wrong_columns({name: documented(page, name) for name in headings}))


def documented(page: str, table: str) -> list[str]:
    """Return the columns of a table by the page."""
    part = "".join(re.findall(rf"^## `{table}`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    return re.findall(r"^\| `(\w+|\(values\))` \| [^|]+ \| [^|]+ \|$", part, re.MULTILINE)


def _wrong_columns(shown: dict[str, list[str]]) -> Iterator[Problem]:
    """Yield the tables whose columns on the page are others, or in another order, than those of their schema."""
    values = {"(values)": pa.float64()}
    due = [("history", history.schema(pa.string(), pa.string(), values).names), ("proposals", PROPOSALS.names)]
    due += [("activity", ACTIVITY.names), (UPSTREAM, [*table_columns.UPSTREAM])]
    before = {"results": [], "corrections": shown["results"]}
    for sample in SAMPLES:
        kind = kind_of(sample)
        for table, schema in schemas(kind).items():
            answers = [*kind.answer.names, *before[table]] if table in before else []
            if table in before and schema.names[: len(answers)] != answers:
                yield Problem(_TABLES, f"{table} begins with other columns than {answers}", "those of its schema")
            due.append((table, schema.names[len(answers) :]))
    for table, names in due:
        present = [name for name in shown.get(table, []) if table != "late" or name in names]
        if present != names:
            yield Problem(_TABLES, f"{table} has the columns {', '.join(present)}", ", ".join(names))


def sections(_: Path) -> Iterator[Problem]:
    """Yield the sections that no query file reaches, and the fields of the JSON Schema that no page has."""
    reached = {*docs_site.query_fields.sections(), *docs_site.query_fields.IN_FILE}
    for model in _below(Section):
        if model not in reached and not model.__subclasses__() and model.__module__.startswith("tailrace."):
            yield Problem(
                f"include/{model.__module__.replace('.', '/')}.py", f"no query has {model.__name__}", "a field"
            )
    texts = [text for page, text in pages().items() if page not in ("reference/commands.md", "reference/errors.md")]
    known = {name for text in texts for name in re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)}
    for name in sorted(_names(json_schema()) - known):
        yield Problem(_FIELDS, f"the field {name} of the JSON Schema is on no page", "a page for its section")


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for child in model.__subclasses__():
        yield child
        yield from _below(child)


def _names(node: Any) -> set[str]:
    """Return the names of all fields that a JSON Schema knows."""
    if isinstance(node, list):
        return {name for child in node for name in _names(child)}
    if not isinstance(node, dict):
        return set()
    own = {name for name, field in node.get("properties", {}).items() if field not in (False, {"type": "null"})}
    return own | {name for child in node.values() for name in _names(child)}


def commands(_: Path) -> Iterator[Problem]:
    """Yield the commands that say nothing of themselves."""
    for name, command in docs_site.commands.commands().items():
        if not command.help:
            yield Problem("include/tailrace/cli", f"tailrace {name} has no help", "a docstring: what it does")
