"""The explanation of a query: its plan with reasons, its chain of queries, and its forms as sections and SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tailrace.ground import html
from tailrace.ground.extras import missing_from, remedy_of
from tailrace.panels.explanation import explanation
from tailrace.query.chain import chain_of, upstream_of
from tailrace.query.query import Query
from tailrace.query.sql_form import sections_of, sql_of

_IN_BOTH = ("event_time", "id")
_NO_SQL = "none: a join has no such form"
_NO_SQL_OF_TEXTS = "none: an expression or a name in it is no part of a SELECT"


@dataclass(frozen=True)
class Explanation(Mapping[str, str]):
    """The explanation of a query: named texts.

    Attributes
    ----------
    plan : dict
        The query's plan: kind, partition, method and policy, and the reason for the method.
    forms : dict
        The part of the query that SQL can express, as sections and as SQL text.
    """

    plan: Mapping[str, str]
    forms: Mapping[str, str]

    @staticmethod
    def from_query(query: Query, file: Path | None) -> Explanation:
        return Explanation(explanation(query) | chain(query, file), forms(query))

    def __getitem__(self, name: str) -> str:
        return self.plan[name] if name in self.plan else self.forms[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.plan, *self.forms])

    def __len__(self) -> int:
        return len(self.plan) + len(self.forms)

    def __str__(self) -> str:
        plan = "\n".join(f"{name}: {text}" for name, text in self.plan.items())
        return "\n\n".join([plan, *(f"{name}:\n{text}" for name, text in self.forms.items())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.named_texts(self)


def chain(query: Query, file: Path | None) -> dict[str, str]:
    """Return the chain of queries that ends with this one, as a named text; empty if it reads no other query."""
    return {} if upstream_of(query) is None else {"chain": " → ".join(chain_of(query, file))}


def forms(query: Query) -> dict[str, str]:
    """Return a query's two forms by name: its sections, as far as SQL can express them, and its SQL text."""
    sections = sections_of(query)
    if sections is None:
        return {"sql": _NO_SQL}
    if (missing := missing_from("sql")) is not None:
        return {"sections": _yaml(sections), "sql": f"not shown, as {missing}; {remedy_of('sql')}"}
    written = sql_of(query)
    if written is None:
        return {"sections": _yaml(sections), "sql": _NO_SQL_OF_TEXTS}
    beside = _yaml(written.beside)
    return {"sections": _yaml(sections)} | ({"beside sql": beside} if beside else {}) | {"sql": written.sql}


def _yaml(sections: dict[str, Any]) -> str:
    """Return sections as YAML, without the fields that both forms share; empty if nothing is left."""
    ((name, stream),) = sections["streams"].items()
    said = {field: value for field, value in stream.items() if field not in _IN_BOTH}
    shown = {"streams": {name: said}} if said else {}
    shown |= {field: value for field, value in sections.items() if field != "streams"}
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return text.rstrip() if shown else ""
