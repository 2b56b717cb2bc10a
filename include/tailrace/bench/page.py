"""Page of a report: a text with settings and tables, and the tables as JSON beside it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tailrace.bench.progress import Row

_LARGE = 1000
_SHARE_PREFIXES = ("off", "windows off", "accuracy", "corrected", "to mp", "hit", "share")


@dataclass(frozen=True)
class Effort:
    """Extent of the measurements on Spark (rows, files, rounds), and the directories of the peers' environments."""

    rows: int
    files: int
    rounds: int
    flink: Path | None = None
    sedona: Path | None = None


def write(
    file: Path, template: Path, system: str, effort: Effort, settings: dict[str, Any], tables: Mapping[str, list[Row]]
) -> Path:
    """Write a page from a template that names settings and tables, and the tables in a file `.json`."""
    file.with_suffix(".json").write_text(json.dumps(tables, indent=1) + "\n")
    peers = "".join(f" --{name} DIR" for name in ("flink", "sedona") if getattr(effort, name))
    options = f"--rows {effort.rows} --files {effort.files} --rounds {effort.rounds}"
    command = f"tailrace bench {system} {options}{peers} --report docs/results"
    machine = f"{os.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GiB, Python {platform.python_version()}"
    markdown_tables = {name: markdown(rows) for name, rows in tables.items()}
    text = template.read_text(encoding="utf-8").format(command=command, machine=machine, **settings, **markdown_tables)
    file.write_text(text, encoding="utf-8")
    return file


def markdown(rows: Sequence[Row]) -> str:
    """Format rows as a Markdown table, with short numbers and, in columns named as shares, percent."""
    if not rows:
        return "Nobody took part."
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cell(name, row[name]) for name in names)} |" for row in rows)])


def cell(name: str, value: Any) -> str:
    """Format a value of a column: short numbers, and percent in columns named as shares."""
    if value is None:
        return "–"
    if isinstance(value, float):
        share = name.startswith(_SHARE_PREFIXES)
        return f"{100 * value:.2f} %" if share else f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
