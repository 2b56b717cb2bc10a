from __future__ import annotations

import copy
import json
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from kit.draws.pair_query import PairQuery
from tailrace.disorder.k_slack import KSlack
from tailrace.disorder.no_slack import NoSlack
from tailrace.query.declared import declared_query
from tailrace.query.disorder_section import Disorder
from tailrace.query.json_schema import json_schema
from tailrace.query.query import Query

SMALLEST: dict[str, Any] = {
    "name": "loads",
    "kind": "aggregate",
    "streams": {"readings": {"source": {"format": "json", "path": "in"}, "event_time": "at", "id": "id"}},
    "window": {"size": "1 s", "slide": "1 s"},
    "aggregate": {"function": "count"},
}


def declare(**changes: Any) -> Query:
    return declared_query(copy.deepcopy(SMALLEST) | changes)


def test_omitted_fields_have_defaults() -> None:
    query = declare()
    name, stream = query.stream
    assert name == "readings"
    assert (stream.arrival_time, stream.key, query.aggregate.column) == (None, None, None)
    bounds = stream.bounds.earliest_ms, query.ahead_ms(stream), stream.bounds.skew_ms
    assert bounds == (946_684_800_000, 3_600_000, 60_000)
    assert (query.policy, query.parallelism) == (NoSlack(), 2)


@pytest.mark.parametrize(
    ("slide", "disorder", "tick_ms"),
    [
        ("1 s", {}, 100),
        ("30 ms", {}, 30),
        ("30 ms", {"tick": "1 s"}, 1000),
        ("1 s", {"tick": "0 ms"}, 0),
        ("1 s", {"policy": "mp_k_slack"}, 100),
    ],
)
def test_a_tick_is_at_most_the_slide_and_100_ms_unless_it_is_declared(
    slide: str, disorder: dict[str, str], tick_ms: int
) -> None:
    query = declare(window={"size": "1 s", "slide": slide}, disorder=disorder)
    assert query.tick_ms == tick_ms
    assert query.tick == timedelta(milliseconds=tick_ms)


def test_a_policy_s_settings_stand_beside_tick() -> None:
    expected = KSlack(policy="k_slack", k=timedelta(seconds=2))
    assert declare(disorder={"policy": "k_slack", "k": "2 s", "tick": "1 s"}).policy == expected
    assert declare(disorder=Disorder(policy=expected)).policy == expected


def test_durations_are_read_as_whole_milliseconds() -> None:
    window = declare(window={"size": "1 h", "slide": "15 min"}).window
    assert (window.size_ms, window.slide_ms) == (3_600_000, 900_000)


def test_a_query_is_frozen_and_can_be_pickled() -> None:
    query = declare()
    with pytest.raises(ValidationError):
        query.parallelism = 3  # type: ignore[misc]
    with pytest.raises(ValidationError):
        query.window.size = timedelta(seconds=9)  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(query)) == query


def test_a_relative_path_is_resolved_against_the_given_directory(tmp_path: Path) -> None:
    query = declared_query(SMALLEST, tmp_path / "queries")
    assert query.stream[1].source.path == tmp_path / "queries" / "in"


@pytest.mark.parametrize(
    "changes",
    [
        {"window": {"size": "1 s", "slide": "2 s"}},
        {"window": {"size": "0 s", "slide": "0 s"}},
        {"aggregate": {"function": "sum"}},
        {"aggregate": {"function": "quantile", "column": "v"}},
        {"aggregate": {"function": "median", "column": "v", "q": 0.5}},
        {"aggregate": {"function": "quantile", "q": 0.5}},
        {"aggregate": {"function": "quantile", "column": "v", "q": 0}},
        {"aggregate": {"function": "quantile", "column": "v", "q": 1}},
        {"aggregate": {"function": "quantile", "column": "v", "q": "nan"}},
        {"disorder": {"k": "2 s"}},
        {"parallelism": 0},
        {"parallelism": 65},
        {"name": "a" * 64},
        {"streams": {}},
    ],
)
def test_contradictory_or_out_of_range_fields_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        declare(**changes)


SIDE = {"source": {"format": "json", "path": "in"}, "event_time": "at", "id": "id"}
POINTS = {side: {"x": "lon", "y": "lat"} for side in ("left", "right")}
SPATIAL = {"geometry": POINTS, "relation": "dwithin", "distance": "1 km"}
PAIRS: dict[str, dict[str, Any]] = {
    "emd_join": {"window": {"size": "1 s"}, "emd_join": {"threshold": 1, "histogram": "h"}},
    "spatial_join": {"spatial_join": SPATIAL | {"join": "interval", "interval": {"lower": "0 s", "upper": "1 s"}}},
    "window": {"window": {"size": "1 s"}, "kind": "spatial_join", "spatial_join": SPATIAL | {"join": "window"}},
    "topk": {"streams": {"s": SIDE}, "window": {"size": "1 s"}, "topk": {"k": 1, "score": "v"}},
}
PAIRS = {
    kind: {"name": "q", "kind": kind, "streams": {"left": SIDE, "right": SIDE}} | fields
    for kind, fields in PAIRS.items()
}


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("policy", ["hybrid", "quantile", "aq_k_slack"])
def test_policies_that_promise_an_error_go_with_aggregates_alone(kind: str, policy: str) -> None:
    with pytest.raises(ValidationError, match="has no measure for"):
        declared_query(PAIRS[kind] | {"disorder": {"policy": policy, "error": 0.1, "risk": 0.1}})
    assert declare(disorder={"policy": policy, "error": 0.1, "risk": 0.1}, aggregate={"function": "count"})


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("policy", ["cache_duration", "mp_k_slack", "none"])
def test_policies_that_promise_an_accuracy_or_nothing_go_with_every_kind(kind: str, policy: str) -> None:
    assert declared_query(PAIRS[kind] | {"disorder": {"policy": policy}}).policy.policy == policy


def test_the_structure_maps_field_names_to_json_values() -> None:
    structure = declare().structure()
    assert json.loads(json.dumps(structure)) == structure
    assert structure == {
        "name": "loads",
        "kind": "aggregate",
        "streams.readings.source.format": "json",
        "streams.readings.source.delimiter": None,
        "streams.readings.source.decimal": None,
        "streams.readings.event_time": "at",
        "streams.readings.arrival_time": None,
        "streams.readings.id": "id",
        "streams.readings.key": None,
        "streams.readings.timezone": None,
        "streams.readings.where": None,
        "streams.readings.bounds.earliest": "2000-01-01T00:00:00Z",
        "streams.readings.bounds.ahead": "1 h",
        "streams.readings.bounds.skew": "1 min",
        "window.size": "1 s",
        "window.slide": "1 s",
        "window.offset": None,
        "window.timezone": None,
        "aggregate.function": "count",
        "parallelism": 2,
        "disorder.tick": 100,
        "disorder.deduplicate": False,
    }


@pytest.mark.parametrize(
    ("changes", "ahead"),
    [
        ({}, "1 h"),
        ({"window": {"size": "1 d", "slide": "1 h"}}, "1 d"),
        ({"disorder": {"policy": "k_slack", "k": "2 h"}}, "2 h"),
        ({"disorder": {"policy": "cache_duration", "initial": "3 h"}}, "3 h"),
        ({"disorder": {"policy": "mp_k_slack"}}, "1 h"),
        ({"disorder": {"policy": "k_slack", "k": "2 h"}, "window": {"size": "5 h", "slide": "1 h"}}, "5 h"),
    ],
)
def test_event_times_may_be_ahead_by_an_hour_the_window_or_k(changes: dict[str, Any], ahead: str) -> None:
    assert declare(**changes).structure()["streams.readings.bounds.ahead"] == ahead
    declared_bound = {"streams": {"readings": SMALLEST["streams"]["readings"] | {"bounds": {"ahead": "7 ms"}}}}
    assert declare(**changes | declared_bound).structure()["streams.readings.bounds.ahead"] == "7 ms"


@pytest.mark.parametrize(
    ("kind", "ahead_h"),
    [
        ({"kind": "emd_join", "window": {"size": "3 h"}, "emd_join": {"threshold": 1, "histogram": "h"}}, 3),
        ({"spatial_join": {"join": "interval", "interval": {"lower": "-4 h", "upper": "2 h"}}}, 4),
        ({"spatial_join": {"join": "window"}, "window": {"size": "5 h", "slide": "1 h"}}, 5),
    ],
)
def test_event_times_of_a_join_may_be_ahead_by_its_reach(kind: dict[str, Any], ahead_h: int) -> None:
    side = {"source": {"format": "json", "path": "in"}, "event_time": "at", "id": "id"}
    query: dict[str, Any] = {"name": "pairs", "kind": "spatial_join", "streams": {"left": side, "right": side}} | kind
    if "emd_join" in kind:
        query["emd_join"] = kind["emd_join"] | {"ground_distance": "line", "bins": 4}
    else:
        places = {"left": {"x": "x", "y": "y"}, "right": {"x": "x", "y": "y"}}
        query["spatial_join"] = {"geometry": places, "relation": "dwithin", "distance": "1 km"} | kind["spatial_join"]
    declared = declared_query(query)
    assert [declared.ahead_ms(stream) for stream in declared.streams.values()] == [ahead_h * 3_600_000] * 2


def stream_with(**changes: Any) -> dict[str, Any]:
    return {"readings": SMALLEST["streams"]["readings"] | changes}


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"disorder": {"policy": "k_slack", "k": "2 s"}}, set()),
        ({"disorder": {"tick": "100 ms"}}, set()),
        ({"window": {"size": "1000 ms", "slide": "1 s"}}, set()),
        ({"streams": stream_with(source={"format": "json", "path": "elsewhere"})}, set()),
        ({"streams": stream_with(bounds={"earliest": "2000-01-01T01:00:00+01:00"})}, set()),
        ({"streams": stream_with(key="sensor")}, {"streams.readings.key", "streams.readings.null_key"}),
        ({"streams": stream_with(bounds={"ahead": "1 h"})}, set()),
        ({"streams": stream_with(bounds={"ahead": "1 d"})}, {"streams.readings.bounds.ahead"}),
        ({"streams": stream_with(bounds={"skew": "2 min"})}, {"streams.readings.bounds.skew"}),
        ({"disorder": {"policy": "k_slack", "k": "2 h"}}, {"streams.readings.bounds.ahead"}),
        ({"window": {"size": "2 s", "slide": "1 s"}, "parallelism": 3}, {"window.size", "parallelism"}),
        ({"disorder": {"tick": "10 ms"}}, {"disorder.tick"}),
        ({"aggregate": {"function": "sum", "column": "v"}}, {"aggregate.function", "aggregate.column"}),
        (
            {"aggregate": {"function": "quantile", "column": "v", "q": 0.9}},
            {"aggregate.function", "aggregate.column", "aggregate.q"},
        ),
    ],
)
def test_the_structure_names_what_changed_and_leaves_policy_and_path_free(
    changes: dict[str, Any], names: set[str]
) -> None:
    before, after = declare().structure(), declare(**changes).structure()
    assert {field for field in before | after if before.get(field) != after.get(field)} == names


ONE_STREAM = SMALLEST["streams"]["readings"]


def declare_join(**streams: Any) -> PairQuery:
    return PairQuery.model_validate({"name": "pairs", "kind": "pairs", "streams": streams})


def test_a_join_takes_left_and_right_in_this_order() -> None:
    query = declare_join(right=ONE_STREAM | {"id": "r"}, left=ONE_STREAM | {"id": "l"})
    assert [(name, stream.id) for name, stream in query.streams.items()] == [("left", "l"), ("right", "r")]
    with pytest.raises(ValueError, match="too many values"):
        query.stream  # noqa: B018 (it has two)


@pytest.mark.parametrize(
    ("names", "summary"),
    [
        ((), "no stream"),
        (("left",), "1 stream: left"),
        (("left", "other"), "2 streams: left, other"),
        (("left", "right", "other"), "3 streams: left, right, other"),
    ],
)
def test_a_join_of_other_streams_is_refused(names: tuple[str, ...], summary: str) -> None:
    with pytest.raises(ValidationError) as error_info:
        declare_join(**dict.fromkeys(names, ONE_STREAM))
    (error,) = error_info.value.errors()
    assert error["loc"] == ("streams",)
    assert error["ctx"]["fault"] == f"kind pairs takes the 2 streams left and right, here is {summary}"
    assert error["ctx"]["remedy"] == "the 2 streams left and right"


def test_the_structure_of_a_join_leaves_the_paths_and_rates_of_both_streams_free() -> None:
    replayed = {"source": {"format": "replay", "path": "in", "rate": 5}}
    before = declare_join(left=ONE_STREAM, right=ONE_STREAM | replayed).structure()
    replayed = {"source": {"format": "replay", "path": "elsewhere", "rate": 6}}
    moved = {"source": {"format": "json", "path": "elsewhere"}}
    assert declare_join(left=ONE_STREAM | moved, right=ONE_STREAM | replayed).structure() == before
    changed = declare_join(left=ONE_STREAM, right=ONE_STREAM | replayed | {"key": "k"}).structure()
    assert {field for field in before if before[field] != changed[field]} == {"streams.right.key"}
    assert changed.keys() - before.keys() == {"streams.right.null_key"}


def test_the_schema_of_a_join_takes_left_and_right_alone() -> None:
    validator = Draft202012Validator(json_schema(TypeAdapter(PairQuery)))

    def is_valid(*names: str) -> bool:
        return validator.is_valid({"name": "pairs", "kind": "pairs", "streams": dict.fromkeys(names, ONE_STREAM)})

    assert is_valid("left", "right")
    assert not any(map(is_valid, ("left", "right")))
    assert not is_valid("left", "other")
    assert not is_valid("left", "right", "other")
