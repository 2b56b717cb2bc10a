"""The reference is written from the models: every field of a section, every option of a command."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from pydantic import ValidationError

import tailrace
from docs_site import commands, errors, hooks, query_fields, reference
from kit.suite.doc_pages import ROOT
from tailrace.query.declared import declared_query
from unit.query.test_query import SMALLEST

PAGES = reference.pages()
SECTIONS = query_fields.sections()
ROW = r"^\| `{name}` \| [^|]"


def part(page: str, heading: str) -> str:
    """The part of a page below a heading, up to the next one."""
    (found,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGES[page], re.MULTILINE | re.DOTALL)
    return found


def rows(text: str) -> set[str]:
    """What the first column of the tables in a text names."""
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


@pytest.mark.parametrize(
    "model", [model for model in SECTIONS if model not in query_fields.QUERIES], ids=lambda each: each.__name__
)
def test_a_section_has_every_field(model):
    section = SECTIONS[model]
    page = f"reference/{section.page}.md"
    (heading,) = re.findall(rf"^## (.*\{{#{section.anchor}\}})$", PAGES[page], re.MULTILINE)
    assert rows(part(page, heading)) == {*query_fields.fields(model)}


@pytest.mark.parametrize("model", SECTIONS, ids=lambda each: each.__name__)
def test_the_first_colon_of_a_description_stands_before_its_example(model):
    """Refusals and the JSON Schema part a description there."""
    for name, field in model.model_fields.items():
        meaning, _, example = (field.description or "").partition(": ")
        assert query_fields._parted(field.description or "") == (meaning, example), name


def test_the_top_has_the_fields_of_every_kind():
    fields = {name for query in query_fields.QUERIES for name in query.model_fields}
    assert rows(part("reference/query.md", "Top of the file")) == fields | {"sql"}
    kinds = {name for query in query_fields.QUERIES for name in get_args(query.model_fields["kind"].annotation)}
    (kind,) = re.findall(r"^\| `kind` \| ([^|]*) \|", PAGES["reference/query.md"], re.MULTILINE)
    assert {*re.findall(r"`(\w+)`", kind)} == kinds


def test_a_default_on_a_page_is_the_one_of_a_file():
    query = declared_query(SMALLEST | {"name": "smallest"})
    assert "| `parallelism` | integer | `2` |" in PAGES["reference/query.md"]
    assert query.parallelism == 2
    assert "| `idle` | duration | `1 min` |" in PAGES["reference/disorder.md"]
    with pytest.raises(ValidationError):
        declared_query({name: value for name, value in SMALLEST.items() if name != "name"})
    assert "| `name` | text | *required* |" in PAGES["reference/query.md"]


@pytest.mark.parametrize("name", commands.commands())
def test_a_command_has_every_option(name):
    command = commands.commands()[name]
    expected = {
        option.metavar or option.name.upper()
        for option in commands.options(command)
        if option.param_type_name == "argument"
    }
    expected |= {
        ", ".join([*option.opts, *option.secondary_opts])
        for option in commands.options(command)
        if option.param_type_name == "option"
    }
    assert rows(part("reference/commands.md", f"tailrace {name}")) == {each.replace("|", "\\|") for each in expected}


# ---------------------------------------------------------------- errors


OF_THE_CONSOLE = {"NotFound"}
"""Refusals that are answers of the console's routes alone."""


def refusals() -> set[str]:
    """The names of `Refused` and of the package's classes below it, by their text: some modules need an extra."""
    text = "\n".join(file.read_text() for file in (ROOT / "include" / "tailrace").rglob("*.py"))
    bases = dict(re.findall(r"^class (\w+)\((\w+)", text, re.MULTILINE))
    found = {"Refused"}
    while more := {name for name, base in bases.items() if base in found} - found:
        found |= more
    return found


def test_an_exception_that_a_user_meets_has_a_row():
    names = [error.__name__ for error in errors.ERRORS]
    assert sorted(names) == sorted((refusals() | {"Failed"}) - OF_THE_CONSOLE)
    public = {name for name in tailrace.__all__ if isinstance(getattr(tailrace, name), type)}
    assert {name for name in public if issubclass(getattr(tailrace, name), Exception)} <= {*names}
    shown = re.findall(r"^\| `(?:tailrace\.)?(\w+)`[^|]* \| \d \|", PAGES["reference/errors.md"], re.MULTILINE)
    assert shown == names


@pytest.mark.parametrize("error", errors.ERRORS, ids=lambda each: each.__name__)
def test_an_exception_says_when_it_is_raised_and_what_to_do(error):
    when, what_to_do, *_ = (error.__doc__ or "").split("\n\n")
    assert when.startswith("Raised ")
    assert "---" not in what_to_do
    assert " ".join(what_to_do.split()) in PAGES["reference/errors.md"]


def test_a_public_class_comes_before_the_name_that_a_user_catches():
    assert "\n| `tailrace.Busy` | 1 | when" in PAGES["reference/errors.md"]
    assert "\n| `ChangedQuery`, a `tailrace.Refused` | 2 | for" in PAGES["reference/errors.md"]


# ---------------------------------------------------------------- links


def test_no_link_of_the_readme_leads_out_of_the_site():
    """MkDocs checks the links of Markdown alone, and the README has some in HTML."""
    readme = hooks.from_top((ROOT / "README.md").read_text())
    assert readme.count('href="pictures/') == readme.count("<a href=") > 0
    assert not re.search(r'(\]\(|=")docs/', readme)
