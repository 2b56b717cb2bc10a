"""The reference is complete: every field, table, column, command, option and environment variable stands on a page."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from doc_pages import ROOT, WRITTEN, site_module
from tailrace.ground.fields import Section
from tailrace.query.declared import declared_query
from tailrace.query.json_schema import json_schema
from unit.query.test_query import SMALLEST

PAGES = site_module("reference").pages()
FIELDS, COMMANDS = site_module("query_fields"), site_module("commands")
SECTIONS = FIELDS.sections()
ROW = r"^\| `{name}` \| [^|]"


def part(page: str, heading: str) -> str:
    """The part of a page below a heading, up to the next one."""
    (found,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGES[page], re.MULTILINE | re.DOTALL)
    return found


def rows(text: str) -> set[str]:
    """What the first column of the tables in a text names."""
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


def names_in(node: Any) -> set[str]:
    """The names of all fields that the JSON Schema of query files knows."""
    if isinstance(node, list):
        return {name for child in node for name in names_in(child)}
    if not isinstance(node, dict):
        return set()
    own = {name for name, field in node.get("properties", {}).items() if field not in (False, {"type": "null"})}
    return own | {name for child in node.values() for name in names_in(child)}


@pytest.mark.parametrize(
    "model", [model for model in SECTIONS if model not in FIELDS.QUERIES], ids=lambda each: each.__name__
)
def test_a_section_has_every_field(model):
    section = SECTIONS[model]
    page = f"reference/{section.page}.md"
    (heading,) = re.findall(rf"^## (.*\{{#{section.anchor}\}})$", PAGES[page], re.MULTILINE)
    assert rows(part(page, heading)) == {*FIELDS.fields(model)}


def test_the_top_has_the_fields_of_every_kind():
    fields = {name for query in FIELDS.QUERIES for name in query.model_fields}
    assert rows(part("reference/query.md", "Top of the file")) == fields | {"sql"}
    kinds = {name for query in FIELDS.QUERIES for name in get_args(query.model_fields["kind"].annotation)}
    (kind,) = re.findall(r"^\| `kind` \| ([^|]*) \|", PAGES["reference/query.md"], re.MULTILINE)
    assert {*re.findall(r"`(\w+)`", kind)} == kinds


def test_every_field_that_the_schema_knows_is_on_a_page():
    known = {name for page, text in PAGES.items() if page != "reference/commands.md" for name in rows(text)}
    assert names_in(json_schema()) - known == set()


def test_every_section_is_reached_from_a_query():
    def below(model: type[BaseModel]) -> set[type[BaseModel]]:
        return {each for child in model.__subclasses__() for each in {child} | below(child)}

    concrete = {
        model for model in below(Section) if not model.__subclasses__() and model.__module__.startswith("tailrace.")
    }
    assert concrete - SECTIONS.keys() == FIELDS.IN_FILE.keys()


def test_a_default_on_a_page_is_the_one_of_a_file():
    query = declared_query(SMALLEST | {"name": "smallest"})
    assert "| `parallelism` | integer | `2` |" in PAGES["reference/query.md"]
    assert query.parallelism == 2
    assert "| `idle` | duration | `1 min` |" in PAGES["reference/disorder.md"]
    with pytest.raises(ValidationError):
        declared_query({name: value for name, value in SMALLEST.items() if name != "name"})
    assert "| `name` | text | *required* |" in PAGES["reference/query.md"]


@pytest.mark.parametrize("name", COMMANDS.commands())
def test_a_command_has_every_option(name):
    command = COMMANDS.commands()[name]
    expected = {
        option.metavar or option.name.upper()
        for option in COMMANDS.options(command)
        if option.param_type_name == "argument"
    }
    expected |= {
        ", ".join([*option.opts, *option.secondary_opts])
        for option in COMMANDS.options(command)
        if option.param_type_name == "option"
    }
    assert rows(part("reference/commands.md", f"tailrace {name}")) == {each.replace("|", "\\|") for each in expected}
    assert command.help


def test_every_environment_variable_is_on_its_page():
    files = [
        *(ROOT / "include" / "tailrace").rglob("*.py"),
        *(ROOT / "deploy").rglob("*.*"),
        ROOT / "docker-compose.yaml",
    ]
    used = {
        name
        for file in files
        if file.suffix != ".json"
        for name in re.findall(r"(?<![\w}])TAILRACE_[A-Z_]*[A-Z]\b", file.read_text())
    }
    assert used - {*re.findall(r"TAILRACE_[A-Z_]+", WRITTEN["docs/environment.md"])} == set()


def test_the_exit_codes_of_the_product_are_on_their_page():
    text = "".join(file.read_text() for file in (ROOT / "include" / "tailrace" / "cli").glob("*.py"))
    codes = {"0", "1", "2", *re.findall(r"^(?:_INTERRUPTED|CLOSED_PIPE) = (\d+)", text, re.MULTILINE)}
    assert codes <= {*re.findall(r"^\| (\d+) \|", WRITTEN["docs/exit-codes.md"], re.MULTILINE)}
