"""A page of a report: a text with settings and tables, and the tables as JSON beside it."""

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
_SHARES = ("off", "windows off", "accuracy", "corrected", "to mp", "hit", "share")


@dataclass(frozen=True)
class Effort:
    """How much is measured: rows and rounds of what runs on Spark, and where Flink's environment is."""

    rows: int
    files: int
    rounds: int
    flink: Path | None = None


def write(
    file: Path, template: Path, system: str, effort: Effort, settings: dict[str, Any], tables: Mapping[str, list[Row]]
) -> Path:
    """Write a page, and a file `.json` of its tables; the template names the settings and the tables."""
    file.with_suffix(".json").write_text(json.dumps(tables, indent=1) + "\n")
    flink = " --flink DIR" if effort.flink else ""
    much = f"--rows {effort.rows} --files {effort.files} --rounds {effort.rounds}"
    command = f"tailrace bench {system} {much}{flink} --report docs/results"
    machine = f"{os.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GiB, Python {platform.python_version()}"
    shown = {name: markdown(rows) for name, rows in tables.items()}
    text = template.read_text(encoding="utf-8").format(command=command, machine=machine, **settings, **shown)
    file.write_text(text, encoding="utf-8")
    return file


def markdown(rows: Sequence[Row]) -> str:
    """A table; numbers short, shares in percent by their name."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    return "\n".join([*lines, *(f"| {' | '.join(_cell(name, row[name]) for name in names)} |" for row in rows)])


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        share = name.startswith(_SHARES)
        return f"{100 * value:.2f} %" if share else f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
