"""Finds edits of a query file that are not in force, as its driver runs the deployed copy."""

from __future__ import annotations

from pathlib import Path

from tailrace.ground.errors import Refused
from tailrace.ground.words import counted
from tailrace.query.differences import Difference, changed_fields
from tailrace.query.loading import parse
from tailrace.query.yaml_file import read
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout

_SHOWN = 5


def not_in_force(layout: Layout, now: DeployedQuery) -> list[Difference]:
    """Return the settings of a query file, and options, that differ from the driver's deployed ones.

    There are none without a record of what was deployed.
    """
    before = DeployedQuery.read(layout)
    if before is None or before == now:
        return []
    options = changed_fields(dict(before.options), dict(now.options))
    return options if before.text == now.text else before.edits(now.query()) + options


def warning(layout: Layout, file: Path) -> str | None:
    """Return a warning of an edit that is not in force; None if the file equals the deployed copy."""
    before = DeployedQuery.read(layout)
    if before is None:
        return None
    try:
        text = read(file)
        changed = [] if text == before.text else before.edits(parse(file, text))
    except Refused as refused:
        problem = refused.problems[0]
        name, as_deployed = layout.home.name, "its driver runs what was deployed"
        return f"{name}: the file would be refused ({problem.where}: {problem.fault}); {as_deployed}"
    return in_words(layout, changed) if changed else None


def in_words(layout: Layout, changed: list[Difference]) -> str:
    """Describe settings that are not in force, and the remedy, a line for each."""
    name = layout.home.name
    fault = f"{name}: {counted(len(changed), 'setting')} not in force, its driver runs what was deployed:"
    more = [f"and {len(changed) - _SHOWN} more"] if len(changed) > _SHOWN else []
    remedy = f"to put it in force: tailrace drain {name}, then tailrace deploy {name}"
    return "\n    ".join([fault, *map(str, changed[:_SHOWN]), *more, remedy])
