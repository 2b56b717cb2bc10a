"""Report on a paper's experiments: parts that are measured together or one by one, a page and its tables as JSON.

A part that is not measured keeps its tables from the JSON beside the page. The table `measured` has the command, the
machine and the day of each part.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from bench.page import Conclusion, page
from bench.progress import Echo, Row
from bench.verdicts import Claim, Tables
from tailrace.ground.errors import refuse

_MEASURED = "measured"


@dataclass(frozen=True)
class Effort:
    """Extent of the measurements on Spark (rows, files, rounds), and the directories of the peers' environments."""

    rows: int
    files: int
    rounds: int
    flink: Path | None = None
    sedona: Path | None = None

    @property
    def options(self) -> str:
        """The options of the command that asks for it."""
        peers = "".join(f" --{name} DIR" for name in ("flink", "sedona") if getattr(self, name))
        return f"--rows {self.rows} --files {self.files} --rounds {self.rounds}{peers}"


@dataclass(frozen=True)
class Measured:
    """The result of a part.

    Attributes
    ----------
    tables : dict of list of dict
        Its tables, by the names by which the page's text has them.
    settings : dict
        The values that the page's text names, such as the seconds of a stream.
    plots : dict of callable
        Plots that need more than the tables: a function draws each into a file, by the name that follows the page's.
    """

    tables: dict[str, list[Row]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    plots: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """A plot that is drawn from tables of the page.

    Attributes
    ----------
    tables : sequence of str
        The names of the tables that `draw` takes, before the file.
    """

    name: str
    tables: Sequence[str]
    draw: Callable[..., None]


@dataclass(frozen=True)
class Report:
    """The report of a paper's experiments.

    Attributes
    ----------
    number : str
        The paper's number, which names the page.
    system : str
        What `tools/dev.py bench` takes.
    template : Path
        The page's text, with the names of settings and tables in braces.
    parts : dict of callable
        What measures each part, by name.
    plots : sequence of Plot
    claims : sequence of Claim
        The paper's claims, which the page's tables judge.
    conclusions : dict of callable
        Sentences that follow from the page's tables, by the names by which the page's text has them.
    """

    number: str
    system: str
    template: Path
    parts: Mapping[str, Callable[[Effort, Echo], Measured]]
    plots: Sequence[Plot]
    claims: Sequence[Claim]
    conclusions: Mapping[str, Conclusion] = field(default_factory=dict)

    def measure(self, effort: Effort, echo: Echo, only: Collection[str]) -> dict[str, list[Row]]:
        """Measure the named parts; return their tables."""
        return {name: rows for part in only for name, rows in self.parts[part](effort, echo).tables.items()}

    def write(self, directory: Path, effort: Effort, echo: Echo, only: Collection[str] = ()) -> Path:
        """Measure the named parts, or all, and write the page, its JSON and its plots; return the page's path.

        The page is written after each part, so that what was measured stays when a later part fails.

        Raises
        ------
        Refused
            When a name is no part's.
        """
        for part in only:
            if part not in self.parts:
                raise refuse(f"--only {part}", f"it is no part of {self.system}", ", ".join(self.parts))
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{self.number}.md"
        for part, measure in self.parts.items():
            if not only or part in only:
                echo(f"part {part}")
                self._add(file, part, self._command(effort, only), measure(effort, echo))
        return file

    def text(self, tables: Tables) -> str:
        """Return the page of these tables."""
        measured = tables.get(_MEASURED, [])
        settings = {name: value for row in measured for name, value in row["settings"].items()}
        shown = {**tables, _MEASURED: _by_command(measured)}
        return page(self.template, settings, shown, self.claims, self.conclusions)

    def _add(self, file: Path, part: str, command: str, result: Measured) -> None:
        """Put the tables of a part into the JSON, and write the page and the plots that are drawn from them."""
        stored = file.with_suffix(".json")
        tables: dict[str, list[Row]] = json.loads(stored.read_text()) if stored.exists() else {}
        row = {"part": part, "day": datetime.now(UTC).date().isoformat(), "command": command, "machine": _machine()}
        rows = {each["part"]: each for each in tables.get(_MEASURED, [])} | {part: row | {"settings": result.settings}}
        tables |= result.tables | {_MEASURED: [rows[name] for name in self.parts if name in rows]}
        stored.write_text(json.dumps(tables, indent=1) + "\n")
        for name, draw in result.plots.items():
            draw(self._image(file, name))
        self._draw(file, tables, result.tables)
        file.write_text(self.text(tables), encoding="utf-8")

    def _command(self, effort: Effort, only: Collection[str]) -> str:
        parts = "".join(f" --only {part}" for part in only)
        return f"tools/dev.py bench {self.system} {effort.options} --report docs/results{parts}"

    def _draw(self, file: Path, tables: Tables, changed: Collection[str]) -> None:
        for plot in self.plots:
            if any(name in changed for name in plot.tables) and all(tables.get(name) for name in plot.tables):
                plot.draw(*(tables[name] for name in plot.tables), self._image(file, plot.name))

    def _image(self, file: Path, name: str) -> Path:
        return file.with_name(f"{self.number}-{name}.png")


def _machine() -> str:
    return f"{os.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GiB, Python {platform.python_version()}"


def _by_command(measured: Sequence[Row]) -> list[Row]:
    """Return the table `measured` as the page shows it: a row for all parts of one command."""
    parts: dict[tuple[str, ...], list[str]] = {}
    for row in measured:
        parts.setdefault((row["day"], f"`{row['command']}`", row["machine"]), []).append(row["part"])
    return [
        {"parts": ", ".join(names), "day": day, "command": command, "machine": machine}
        for (day, command, machine), names in parts.items()
    ]
