"""The section `window`: its short form, offsets, and the days, weeks and months of a time zone."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tailrace.ground.errors import Refused
from tailrace.query.loading import load
from tailrace.query.windowed import WindowedQuery
from tailrace.storage.manifest import CheckpointManifest, changes
from tailrace.windows.calendar import Calendar
from tailrace.windows.sessions import Sessions
from tailrace.windows.sliding import Sliding
from tailrace.windows.windows import Windows
from unit.query.test_json_schema import complaints
from unit.query.test_loading import GOOD, write

HOUR = 3_600_000
WINDOW = "{size: 1 h, slide: 15 min}"


def query_with(tmp_path: Path, window: str) -> WindowedQuery:
    query = load(write(tmp_path, GOOD.replace(WINDOW, window)))
    assert isinstance(query, WindowedQuery)
    return query


@pytest.mark.parametrize(
    ("window", "windows"),
    [
        ("5 min", Sliding(300_000, 300_000)),
        ("'5 minutes'", Sliding(300_000, 300_000)),
        ("{size: 1 h, slide: 15 min, offset: 5 min}", Sliding(HOUR, HOUR // 4, 300_000)),
        ("{size: 1 h, offset: -5 min}", Sliding(HOUR, HOUR, -300_000)),
        ("{size: 1 h, offset: 0 s}", Sliding(HOUR, HOUR)),
        ("{size: 1 h, offset: , timezone: }", Sliding(HOUR, HOUR)),
        ("{size: 1 d, timezone: Europe/Berlin}", Calendar("day", "Europe/Berlin")),
        ("{size: 1 WEEK, timezone: UTC}", Calendar("week", "UTC")),
        ("{size: 1 month, timezone: Asia/Beirut, offset: 14 d}", Calendar("month", "Asia/Beirut", 14 * 24 * HOUR)),
        ("{size: 1 quarter, timezone: Asia/Kathmandu}", Calendar("quarter", "Asia/Kathmandu")),
        ("{size: 1 year, timezone: UTC, offset: 90 d}", Calendar("year", "UTC", 90 * 24 * HOUR)),
        ("{size: 1 d, slide: 1 d, timezone: UTC, offset: -6 h}", Calendar("day", "UTC", -6 * HOUR)),
        ("{session: 30 min}", Sessions(HOUR // 2)),
        ("{session: '30 minutes', offset: , timezone: }", Sessions(HOUR // 2)),
        ("{size: 1 h, session: }", Sliding(HOUR, HOUR)),
    ],
)
def test_a_window_is_declared(tmp_path: Path, window: str, windows: Windows) -> None:
    query = query_with(tmp_path, window)
    assert query.window.windows == windows
    assert complaints(GOOD.replace(WINDOW, window)) == []
    again = query.model_dump(mode="json")["window"]
    assert query_with(tmp_path, yaml.safe_dump(again, default_flow_style=True).strip()).window == query.window


@pytest.mark.parametrize(
    ("window", "field", "fault", "remedy"),
    [
        ("5", "window", "5 has no unit", "5 ms"),
        ("1 month", "window", "a month begins by a calendar, and there is no timezone", "timezone: UTC"),
        ("1 quarter", "window", "a quarter begins by a calendar, and there is no timezone", "timezone: UTC"),
        ("{size: 1 year}", "window.size", "a year begins by a calendar, and there is no timezone", "timezone: UTC"),
        ("{size: 3 months, timezone: UTC}", "window.size", "is no duration", "1 quarter"),
        ("{size: 1 week}", "window.size", "a week begins by a calendar", "size: 7 d"),
        ("{size: 60 d, slide: 1 month}", "window.slide", "a month begins by a calendar", "timezone: UTC"),
        ("{size: 2 weeks, timezone: UTC}", "window.size", "is no duration", "1 week"),
        (
            "{size: 1 h, timezone: UTC}",
            "window.size",
            "1 h is no part of it",
            "size: 1 d, 1 week, 1 month, 1 quarter or 1 year",
        ),
        (
            "{size: 2 d, timezone: UTC}",
            "window.size",
            "2 d is no part of it",
            "size: 1 d, 1 week, 1 month, 1 quarter or 1 year",
        ),
        ("{size: 1 d, slide: 1 h, timezone: UTC}", "window.slide", "lie side by side", "no slide, or no timezone"),
        ("{size: 1 d, timezone: Europe/Berlim}", "window.timezone", "is no time zone", "Europe/Berlin"),
        ("{size: 1 d, timezone: UTC, offset: 1 d}", "window.offset", "offset is 1 d", "less than slide"),
        ("{size: 1 d, timezone: UTC, offset: 5 ms}", "window.offset", "by seconds", "whole seconds"),
        ("{size: 1 h, slide: 15 min, offset: 15 min}", "window.offset", "offset is 15 min", "less than slide"),
        ("{size: 1 h, slide: 15 min, offset: -20 min}", "window.offset", "offset is -20 min", "less than slide"),
        ("{session: 30 min, size: 1 h}", "window.size", "and size stands beside it", "session without size"),
        ("{session: 30 min, size: }", "window.size", "and size stands beside it", "session without size"),
        ("{session: 30 min, slide: }", "window.slide", "and slide stands beside it", "session without slide"),
        ("{}", "window.size", "is missing", "or session in its place"),
        ("{session: 30 min, slide: 1 h}", "window.slide", "and slide stands beside it", "session without slide"),
        ("{session: 30 min, offset: 1 h}", "window.offset", "and offset stands beside it", "session without offset"),
        ("{session: 30 min, timezone: UTC}", "window.timezone", "and timezone stands", "session without timezone"),
        ("{session: 30}", "window.session", "30 has no unit", "30 min"),
        ("{session: 0 ms}", "window.session", "does not fit", "more than 0 ms"),
        ("{session: 1 month}", "window.session", "is no duration", "session: 30 min"),
        ("{session: ''}", "window.session", "has no value", "session: 30 min"),
        ("{sesion: 30 min}", "window.sesion", "is no field here", "session"),
        ("{session: }", "window.session", "has no value", "session: 30 min"),
        ("{session: , slide: 5 min}", "window.session", "has no value", "session: 30 min"),
    ],
)
def test_a_window_that_means_nothing_is_refused(
    tmp_path: Path, window: str, field: str, fault: str, remedy: str
) -> None:
    with pytest.raises(Refused) as refusal:
        query_with(tmp_path, window)
    (problem,) = refusal.value.problems
    path = problem.where.partition(":10: ")[2]
    assert path.removesuffix(".size") == field.removesuffix(".size")
    assert fault in problem.fault
    assert remedy in problem.remedy


def test_windows_of_a_calendar_are_offered_the_zone_that_the_stream_states(tmp_path: Path) -> None:
    text = GOOD.replace("    key: origin\n", "    timezone: Europe/Berlin\n").replace(WINDOW, "1 month")
    with pytest.raises(Refused) as refusal:
        load(write(tmp_path, text))
    (problem,) = refusal.value.problems
    assert problem.remedy == "timezone: Europe/Berlin, the stream's, below window"


@pytest.mark.parametrize(
    ("old", "new", "field", "remedy"),
    [
        ("POLICY", "{policy: quantile, error: 0.1, risk: 0.1}", "disorder.policy", "k_slack, with a fixed wait"),
        ("POLICY", "{policy: hybrid, error: 0.1, risk: 0.1}", "disorder.policy", "k_slack, with a fixed wait"),
        ("POLICY", "{policy: cache_duration, initial: 1 s}", "disorder.policy", "k_slack, with a fixed wait"),
        ("kind: aggregate", "kind: topk\ntopk: {k: 5, score: delay}", "window.session", "kind: aggregate"),
        ("{function: count}", "{function: count, estimate: true}", "aggregate.n.estimate", "no estimate"),
        ("{format: csv, path: a}", "{format: tailrace, query: other}", "window.session", "window: {size: …}"),
    ],
)
def test_what_needs_windows_with_a_size_is_refused_beside_sessions(
    tmp_path: Path, old: str, new: str, field: str, remedy: str
) -> None:
    stream = "{source: {format: csv, path: a}, event_time: window_end, id: id, key: k}"
    text = f"name: q\nkind: aggregate\nstreams: {{s: {stream}}}\nwindow: {{session: 30 min}}\n"
    text += "aggregate: {n: {function: count}}\ndisorder: POLICY\n"
    text = text.replace(old, new).replace("POLICY", "{policy: none, deduplicate: true}")
    text = text.replace(", id: id", "") if "tailrace" in new else text
    text = text.replace("aggregate: {n: {function: count}}\n", "") if "topk" in new else text
    with pytest.raises(Refused) as refusal:
        load(write(tmp_path, text))
    (problem,) = refusal.value.problems
    assert problem.where.endswith(field)
    assert remedy in problem.remedy


def test_no_lookup_of_sessions_is_corrected_by_the_newest_version(tmp_path: Path) -> None:
    lookup = "lookup: {products: {path: products.csv, key: k, columns: [category], corrections: newest}}"
    stream = f"{{source: {{format: csv, path: a}}, event_time: at, id: id, key: category, {lookup}}}"
    text = f"name: q\nkind: aggregate\nstreams: {{s: {stream}}}\nwindow: {{session: 30 min}}\n"
    text += "aggregate: {function: count}\n"
    with pytest.raises(Refused, match="from session to session"):
        load(write(tmp_path, text))


def test_a_checkpoint_of_before_sessions_has_no_field_of_them(tmp_path: Path) -> None:
    assert "window.session" not in query_with(tmp_path, "5 min").structure()
    assert query_with(tmp_path, "{session: 5 min}").structure()["window.session"] == "5 min"


@pytest.mark.parametrize("field", ["offset: 5 min", "timezone: UTC"])
def test_joins_take_no_offset_and_no_time_zone(tmp_path: Path, field: str) -> None:
    joined: dict[str, Any] = yaml.safe_load(GOOD)
    stream = joined["streams"]["departures"]
    stream.pop("key")
    del joined["aggregate"], joined["disorder"]
    joined |= {"kind": "emd_join", "streams": {"left": stream, "right": deepcopy(stream)}}
    joined |= {"emd_join": {"threshold": 0.5, "histogram": "h"}, "window": yaml.safe_load(f"{{size: 1 d, {field}}}")}
    with pytest.raises(Refused, match="is no field here"):
        load(write(tmp_path, yaml.safe_dump(joined)))


def test_a_checkpoint_of_before_offsets_still_fits_and_one_of_another_offset_does_not(tmp_path: Path) -> None:
    query = query_with(tmp_path, "5 min")
    old = {name: value for name, value in query.structure().items() if name not in ("window.offset", "window.timezone")}
    assert changes(CheckpointManifest.new(old, {}, {}, {}), query) == {}
    moved = query_with(tmp_path, "{size: 5 min, offset: 1 min}")
    assert changes(CheckpointManifest.new(old, {}, {}, {}), moved) == {"window.offset": (None, "1 min")}
