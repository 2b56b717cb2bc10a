"""The texts of this tree that follow from code."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import docs_site.tables
from tailrace.expressions.documentation import function_table
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.errors import Problem
from tailrace.sql.call_forms import CallForm, forms_of
from tree.derived import Derived
from tree.measurements import REPORTS, tables_of, verdict_sentence, verdict_table
from tree.questions import question_part

DURATIONS = "tests/durations.json"
GAUGES = "include/tailrace/orchestration/driver_metrics.py"


def derived(root: Path) -> list[Derived]:
    """Return every text that follows from code."""
    return [
        Derived("docs/expressions.md", lambda _: function_table(), "functions"),
        Derived("docs/aggregates.md", lambda _: aggregate_table(), "aggregate functions"),
        Derived("docs/questions.md", lambda _: question_part(root), "questions"),
        Derived("docs/metrics.md", lambda _: gauge_table((root / GAUGES).read_text()), "gauges"),
        Derived("docs/warehouse-tables.md", lambda _: docs_site.tables.overview(), "tables"),
        Derived("docs/measured.md", lambda _: verdict_table(root), "verdicts"),
        Derived("README.md", lambda _: verdict_sentence(root), "verdicts"),
        *(
            Derived(f"docs/results/{each.number}.md", lambda _, each=each: each.text(tables_of(each, root)))
            for each in REPORTS
        ),
        Derived(DURATIONS, lambda text: living_durations(text, root)),
    ]


def stale(root: Path) -> Iterator[Problem]:
    """Yield the texts that are not what the code gives."""
    for each in derived(root):
        yield from each.problems(root)


def mend(root: Path) -> list[str]:
    """Write the texts anew; return the files that have changed."""
    return [each.file for each in derived(root) if each.mend(root)]


def aggregate_table() -> str:
    """Return the table of the aggregate functions."""
    rows = ["| function | takes | gives | in SQL text |", "| --- | --- | --- | --- |"]
    for name, each in FUNCTIONS.items():
        beside = [f"`{field}`" for field in (*each.columns, *each.parameters) if field != "column"]
        takes = ", with ".join([each.takes, *beside]) + ("" if each.needs_column else ", or no column")
        rows.append(f"| `{name}` | {takes} | {each.gives} | {', '.join(map(_spelled, forms_of(each).values()))} |")
    return "\n".join(rows)


def _spelled(form: CallForm) -> str:
    """Return a call, as the table of functions says it."""
    calls = " or ".join(f"`{text}`" for text in form.spellings)
    return calls if form.option is None else f"{calls}, which sets `{form.option}`"


def gauge_table(source: str) -> str:
    """Return the table of the gauges; they are read from their source, since Airflow takes seconds to import."""
    (gauges,) = [
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GAUGES"
    ]
    rows = ["| gauge | what | unit |", "| --- | --- | --- |"]
    for name, gauge in zip(gauges.keys, gauges.values, strict=True):
        what, unit, _ = gauge.args
        rows.append(f"| `{name.value}` | {what.value} | {unit.value} |")
    return "\n".join(rows)


def living_durations(text: str, root: Path) -> str:
    """Return the durations on record without those of files and groups that are no more."""
    seconds = json.loads(text)
    sources = "".join(file.read_text() for file in (root / "tests").rglob("*.py"))
    living = {
        unit: s
        for unit, s in seconds.items()
        if ((root / unit).is_file() if unit.endswith(".py") else f'"{unit}"' in sources)
    }
    return text if living == seconds else json.dumps(living, indent=1) + "\n"
