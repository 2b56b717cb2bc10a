"""The reference, which the site writes from the models, is complete: sections, fields, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import docs_site.commands
import docs_site.query_fields
from docs_site.reference import pages
from tailrace.ground.errors import Problem
from tailrace.ground.fields import Section
from tailrace.query.json_schema import json_schema

_FIELDS = "tools/docs_site/query_fields.py"


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
