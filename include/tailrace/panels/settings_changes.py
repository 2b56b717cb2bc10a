"""The changes of a query's disorder settings, each with its start, its text and its evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.dataset as ds

from tailrace.ground.arrow.ranges import Ints
from tailrace.panels.arrival_range import read_metrics
from tailrace.panels.panel import Shown
from tailrace.storage.tables import Tables

QUIET = "the streams were quiet: open windows closed"
SAME_SETTINGS = "the same settings"

_NAME_OF = {"k": "K", "initial": "K"}
_COLUMNS = ["about", "version", "from_tick", "value", "evidence"]


class Change(Shown):
    """A fact about the settings: a configuration change, with the tick from which it holds.

    Attributes
    ----------
    at : int or None
        The arrival time at which that tick begins, in ms; with tick 0, the arrival time of the batch that processed it.
        None for the stream's initial settings.
    what : str
        The change in words; `QUIET` if settings stayed, and windows closed because the streams were silent.
    """

    at: int | None
    tick: int
    about: str
    version: int
    what: str
    evidence: str


def read_changes(tables: Tables, tick_ms: int, since: int) -> list[Change]:
    """Read the change that was in force at an arrival time (ms), and those after it, the oldest first.

    There are none if the table `facts` does not exist. Older ones are not read, as there may be ten thousand.
    """
    if not tables.has("facts"):
        return []
    rows = tables.read("facts", _COLUMNS, ds.field("about") == "settings")
    rows = rows.sort_by([("version", "ascending"), ("from_tick", "ascending")])
    arrivals = _arrivals(tables, rows["from_tick"].to_numpy(), tick_ms)
    versions = rows["version"].to_pylist()
    is_new = [index == 0 or versions[index - 1] != version for index, version in enumerate(versions)]
    in_force = [index for index, at in enumerate(arrivals) if is_new[index] and (at is None or at <= since)]
    first = max(in_force, default=0)
    values = [json.loads(value) for value in rows["value"].slice(max(first - 1, 0)).to_pylist()]
    course = pairwise(values if first else [None, *values])
    return [
        Change(at=at, tick=row["from_tick"], what=describe(before, after) if new else QUIET, **_stamped(row))
        for row, at, new, (before, after) in zip(
            rows.slice(first).to_pylist(), arrivals[first:], is_new[first:], course, strict=True
        )
    ]


def _stamped(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("about", "version", "evidence")}


def within_range(changes: Sequence[Change], low: int, high: int) -> list[Change]:
    """Select the changes in (low, high], and the settings in force at its beginning."""
    before = [change for change in changes if change.what != QUIET and (change.at is None or change.at <= low)]
    return [*before[-1:], *(change for change in changes if change.at is not None and low < change.at <= high)]


def describe(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    """Describe how a policy's settings changed; without earlier ones, list the settings."""
    if before is None:
        return ", ".join(f"{_NAME_OF.get(name, name)} {_text(value)}" for name, value in after.items() if value)
    names = dict.fromkeys(_NAME_OF.get(name, name) for name in (*before, *after))
    old, new = ({_NAME_OF.get(name, name): value for name, value in each.items()} for each in (before, after))
    parts = [
        f"{name} {_text(old.get(name))} → {_text(new.get(name))}" for name in names if old.get(name) != new.get(name)
    ]
    return ", ".join(parts) or SAME_SETTINGS


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _arrivals(tables: Tables, ticks: Ints, tick_ms: int) -> list[int | None]:
    """Return the arrival times (ms) at which facts take effect, given their first ticks; None for the first fact."""
    if tick_ms:
        return [tick * tick_ms if tick > 0 else None for tick in ticks.tolist()]
    if not (ticks > 0).any() or not tables.has("metrics"):
        return [None] * len(ticks)
    taken = read_metrics(tables, ["newest_tick", "committed"]).drop_null().sort_by("newest_tick")
    position = np.searchsorted(taken["newest_tick"].to_numpy(), ticks)
    committed = taken["committed"].to_pylist()
    committed += committed[-1:] or [None]  # for a future tick, the time that it follows
    return [
        committed[index] if tick > 0 else None for tick, index in zip(ticks.tolist(), position.tolist(), strict=True)
    ]
