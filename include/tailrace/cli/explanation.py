"""The two forms of a query and a sample of its source, which `tailrace explain` prints beside the explanation."""

from __future__ import annotations

from typing import Any

import yaml

from tailrace.query.query import Query
from tailrace.query.sql_form import sections_of, sql_of
from tailrace.stream.sample_steps import FIRST_ROWS, sample_steps
from tailrace.stream.source_bins import with_bins_of_source
from tailrace.stream.source_sample import sample_sources
from tailrace.terminal import screen
from tailrace.terminal.answers import write_answers

_IN_BOTH = ("event_time", "id")
_NO_SQL = "none: a join has no such form"
_NO_SQL_OF_TEXTS = "none: an expression or a name in it is no part of a SELECT"


def print_sample(query: Query) -> None:
    """Print how many records of a sample each step of a stream keeps, and the first rows after `columns` and `where`.

    Raises
    ------
    Refused
        When a source is not there, or does not fit the query.
    """
    samples = sample_sources(query)
    for steps in sample_steps(with_bins_of_source(query, samples), samples):
        screen.out.print()
        for line in steps.lines():
            screen.out.print(line, markup=False, soft_wrap=True)
        if steps.rows.num_rows:
            write_answers(steps.rows, steps.rows.column_names, "table", None, FIRST_ROWS, wide=True)


def forms(query: Query) -> dict[str, str]:
    """Return the two forms of a query by their names: what SQL text can say, in sections and as SQL text."""
    sections = sections_of(query)
    if sections is None:
        return {"sql": _NO_SQL}
    written = sql_of(query)
    if written is None:
        return {"sections": _yaml(sections), "sql": _NO_SQL_OF_TEXTS}
    beside = _yaml(written.beside)
    return {"sections": _yaml(sections)} | ({"beside sql": beside} if beside else {}) | {"sql": written.sql}


def _yaml(sections: dict[str, Any]) -> str:
    """Return sections as YAML, without what stands in both forms; empty where there is nothing else."""
    ((name, stream),) = sections["streams"].items()
    said = {field: value for field, value in stream.items() if field not in _IN_BOTH}
    shown = {"streams": {name: said}} if said else {}
    shown |= {field: value for field, value in sections.items() if field != "streams"}
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return text.rstrip() if shown else ""
