"""Facts (configuration changes) with the arrival time from which each holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.ground.time_limits import EARLIEST_MS
from tailrace.panels.cells import plain
from tailrace.panels.panel import Shown
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import Tables
from tailrace.tables.stream import FACTS, SEGMENTS

_COLUMNS = ("version", "from_tick", "from_segment", "value", "evidence")


class StampedFact(Shown):
    """A fact. Settings hold from a tick on; partition plans and versions of a dimension table, from a segment on.

    Attributes
    ----------
    at : int or None
        The arrival time (ms) from which it holds; None for the stream's beginning, or if unknown.
    value : Any
        The new configuration.
    evidence : str
        The reason for it, in words.
    """

    about: str
    version: int
    from_tick: int | None
    from_segment: int | None
    at: int | None
    value: Any
    evidence: str


def newest_facts(tables: Tables, about: str, tick_ms: int, most: int) -> tuple[list[StampedFact], int]:
    """Read the newest facts about a subject, oldest first, and the number of all facts about it.

    Values are only read for the newest facts, as a stream may have a million plans.

    Parameters
    ----------
    tick_ms : int
        The length of the query's ticks.
    """
    where = ds.field("about") == about
    versions = tables.read_or_empty(FACTS, ["version"], where)["version"]
    if not len(versions):
        return [], 0
    newest = pc.sort_indices(versions, sort_keys=[("", "descending")])[:most]
    least = versions[newest[-1].as_py()].as_py()
    facts = _read(tables, about, tick_ms, where & (ds.field("version") >= least))
    return facts[-most:], len(versions)


def plans_from(tables: Tables, low: int, high: int, most: int) -> tuple[list[StampedFact], int]:
    """Read the plan in force at an arrival time `low`, and the plans that took effect in (low, high].

    Return them oldest first, and their total number. If there are more than `most`, every n-th one and the last are
    read. The arrival of a plan's first segment counts, as a join's streams may differ in arrival.
    """
    first, last = _segments_within(tables, low, high)
    is_plan, segment = ds.field("about") == "plan", ds.field("from_segment")
    since = tables.read_or_empty(FACTS, ["from_segment"], is_plan & (segment <= last))["from_segment"].sort()
    earlier = pc.sum(pc.less(since, first)).as_py() or 0
    since = since[max(earlier - 1, 0) :]
    if len(since) > most:
        chosen = since.to_numpy()[np.linspace(0, len(since) - 1, most).astype(int)]
        plans = _read(tables, "plan", 0, is_plan & segment.isin(pa.array(chosen)))
    elif len(since):
        plans = _read(tables, "plan", 0, is_plan & (segment >= since[0].as_py()) & (segment <= last))
    else:
        plans = []
    before = [plan for plan in plans if plan.at is None or plan.at <= low]
    return before[-1:] + [plan for plan in plans if plan.at is not None and low < plan.at <= high], len(since)


def _segments_within(tables: Tables, low: int, high: int) -> tuple[int, int]:
    """Return the ordinals of the first and the last segment that came in (low, high].

    Without any, the last one is the newest before that time, and the first one is the next.
    """
    end = ds.field("before_end")
    ordinals = tables.read_or_empty(SEGMENTS, ["ordinal"], (end > low) & (end <= high))["ordinal"]
    if len(ordinals):
        return pc.min(ordinals).as_py(), pc.max(ordinals).as_py()
    before = tables.read_or_empty(SEGMENTS, ["ordinal"], end <= low)["ordinal"]
    last = pc.max(before).as_py() if len(before) else -1
    return last + 1, last


def _read(tables: Tables, about: str, tick_ms: int, where: Any) -> list[StampedFact]:
    """Read facts about one subject in the order in which they hold."""
    rows = tables.read_or_empty(FACTS, _COLUMNS, where)
    order = [("version", "ascending"), ("from_tick", "ascending"), ("from_segment", "ascending")]
    facts = rows.sort_by(order).to_pylist()
    arrived = _arrival_of(tables, {row["from_segment"] for row in facts} - {None})
    return [
        StampedFact(
            about=about,
            at=_of_tick(row["from_tick"], tick_ms) if about == "settings" else arrived.get(row["from_segment"]),
            value=_parsed(row.pop("value")),
            **row,
        )
        for row in facts
    ]


def _of_tick(tick: int | None, tick_ms: int) -> int | None:
    """Return the start of a tick; None for the first one, or for a tick of a single tuple (tick 0)."""
    return tick * tick_ms if tick and tick_ms and tick * tick_ms > EARLIEST_MS else None


def _arrival_of(tables: Tables, ordinals: Iterable[int]) -> dict[int, int | None]:
    """Return for each segment the arrival time up to which everything before it was read; None before the first tick.

    A future segment follows everything that was committed.
    """
    wanted = sorted(ordinals)
    if not wanted:
        return {}
    ordinal = ds.field("ordinal")
    where = (ordinal >= wanted[0]) & (ordinal <= wanted[-1]) & ordinal.isin(wanted)
    rows = tables.read_or_empty(SEGMENTS, ["ordinal", "before_end"], where)
    ends = zip(rows["ordinal"].to_pylist(), rows["before_end"].to_pylist(), strict=True)
    arrived = {number: end if end is not None and end > EARLIEST_MS else None for number, end in ends}
    to_come = wanted if not arrived else [number for number in wanted if number > max(arrived)]
    return arrived | (dict.fromkeys(to_come, committed_until(tables)) if to_come else {})


def _parsed(value: str) -> Any:
    """Return the parsed value of a fact, or the text itself if it is not JSON."""
    try:
        return plain(json.loads(value))
    except (ValueError, TypeError, RecursionError):
        return value
