"""The part of a page that has each question of analysts as SQL text and as sections."""

from __future__ import annotations

import re
from pathlib import Path

import tailrace

QUESTIONS = "tests/data/questions.sql"
"""Each question: its title, perhaps a time zone, its SQL text, and the statement of DuckDB that has its answer."""

_QUESTION = re.compile(r"^-- (\d+\. .*)\n(?:-- time zone (.*)\n)?((?:.*\n)*?);\n", re.MULTILINE)
STREAM = {
    "source": {"format": "csv", "path": "orders.csv"},
    "event_time": "ts",
    "arrival_time": "came",
    "id": "id",
}


def question_part(root: Path) -> str:
    """Return the questions, each with both forms of its query."""
    found = _QUESTION.findall((root / QUESTIONS).read_text())
    return "\n\n".join(
        f"### {title}\n\n```sql\n{sql}```\n{_beside(zone)}\n```yaml\n{_sections(sql, zone)}```"
        for title, zone, sql in found
    )


def _beside(zone: str) -> str:
    """Return the line on what stands beside SQL text whose windows are those of a time zone."""
    return f"\nSQL names no zone: `window: {{timezone: {zone}}}` stands beside the text.\n" if zone else ""


def _sections(sql: str, zone: str) -> str:
    """Return the sections of a query that the page does not say of all."""
    beside = {"window": {"timezone": zone}} if zone else {}
    sections = tailrace.sql(sql, {"orders": STREAM}, **beside).explain().forms["sections"]
    return "".join(f"{line}\n" for line in sections.splitlines() if line and line != "kind: aggregate")
