"""Page of a report: a text with settings, tables and the verdicts on the paper's claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.progress import Row
from bench.verdicts import Claim, Tables, spaced, verdicts

_LARGE = 1000
_SHARE_PREFIXES = ("off", "windows off", "accuracy", "corrected", "to mp", "hit", "share")


class _Unmeasured:
    """Stands for a setting or table of a part that was never measured."""

    def __format__(self, spec: str) -> str:
        return "(not measured)"


class _Named(dict[str, Any]):
    def __missing__(self, name: str) -> _Unmeasured:
        return _Unmeasured()


Conclusion = Callable[[Tables], str]
"""What the tables of a page say, in words."""


def page(
    template: Path,
    settings: Mapping[str, Any],
    tables: Tables,
    claims: Sequence[Claim],
    conclusions: Mapping[str, Conclusion],
) -> str:
    """Return a page from a template that names settings, tables and conclusions.

    The paper's claims are judged by the tables: the template names the table `verdicts`.
    """
    shown = {**tables, "verdicts": verdicts(claims, tables)}
    named = _Named(settings) | {name: markdown(rows) for name, rows in shown.items()}
    for name, conclude in conclusions.items():
        with suppress(LookupError):  # a part that was not measured has no table
            named[name] = spaced(conclude(tables))
    return template.read_text(encoding="utf-8").format_map(_Named(named))


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
