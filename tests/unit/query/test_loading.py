from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, NamedTuple

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from kit.draws.pair_query import PairQuery
from tailrace.disorder.k_slack import KSlack
from tailrace.ground.errors import Problem, Refused
from tailrace.query import refusals
from tailrace.query.loading import load, parse
from tailrace.query.windowed import AggregateQuery
from tailrace.query.yaml_file import MAX_MESSAGE
from tailrace.topk.section import TopKSection

GOOD = """\
name: flights
kind: aggregate
streams:
  departures:
    source: {format: parquet, path: ../../samples/flights}
    event_time: scheduled
    arrival_time: actual
    id: flight
    key: origin
window: {size: 1 h, slide: 15 min}
disorder: {policy: k_slack, k: 30 min, tick: 1 min}
aggregate: {function: avg, column: delay}
parallelism: 2
"""
JARGON = re.compile(r"Input should|pydantic|union_tag|Value error|valid (string|dict|integer)|https?:|timedelta")


def write(directory: Path, text: str | bytes, name: str = "flights.yaml") -> Path:
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problems_of(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(Refused) as refusal:
        load(path)
    assert not JARGON.search(str(refusal.value))
    return refusal.value.problems


def test_a_good_file_is_loaded(tmp_path: Path) -> None:
    directory = tmp_path / "include" / "queries"
    directory.mkdir(parents=True)
    query = load(write(directory, GOOD))
    name, stream = query.stream
    assert (query.name, query.kind, query.parallelism) == ("flights", "aggregate", 2)
    assert (name, stream.event_time, stream.arrival_time) == ("departures", "scheduled", "actual")
    assert (stream.id, stream.key) == ("flight", "origin")
    assert (stream.source.format, stream.source.path) == ("parquet", tmp_path / "samples" / "flights")
    assert (query.window.size_ms, query.window.slide_ms, query.tick_ms) == (3_600_000, 900_000, 60_000)
    assert query.policy == KSlack(policy="k_slack", k=timedelta(minutes=30))
    assert (query.aggregate.function, query.aggregate.column) == ("avg", "delay")
    assert not query.aggregate.parameters_of("avg")


def test_an_absolute_path_is_kept(tmp_path: Path) -> None:
    text = GOOD.replace("../../samples/flights", str(tmp_path / "elsewhere"))
    assert load(write(tmp_path, text)).stream[1].source.path == tmp_path / "elsewhere"


def test_words_that_yaml_1_1_converts_to_other_types_stay_text(tmp_path: Path) -> None:
    text = GOOD.replace("origin", "on").replace("flight\n", "12:30\n").replace("scheduled", "010")
    stream = load(write(tmp_path, text.replace("actual", "null"))).stream[1]
    assert (stream.key, stream.id, stream.event_time, stream.arrival_time) == ("on", "12:30", "010", None)


def test_a_byte_order_mark_and_comments_are_ignored(tmp_path: Path) -> None:
    assert load(write(tmp_path, b"\xef\xbb\xbf# flights, late as ever\n" + GOOD.encode())).name == "flights"


class Wrong(NamedTuple):
    """A change that makes the good file wrong, and the line, the field and parts of the message about it."""

    old: str
    new: str
    line: int
    field: str
    wrong: str
    right: str


PLAIN = "k_slack, k: 30 min"
WRONG = [
    Wrong("name: flights\n", "", 1, "name", "missing", "name: ball_load"),
    Wrong("name: flights", "name: Flights-2", 1, "name", "'Flights-2'", "a-z, 0-9 and _"),
    Wrong("name: flights", "name:", 1, "name", "no value", "ball_load"),
    Wrong("parallelism: 2", "topk: {k: 5, score: delay}", 13, "topk", "kind aggregate takes no section topk", "topk"),
    Wrong("kind: aggregate", "kind: agregate", 2, "kind", "'agregate' is no kind", "aggregate (of"),
    Wrong(
        "  departures:", "  departures: x\n  more:", 4, "streams.departures", "'x' does not fit", "readings: {source: "
    ),
    Wrong(
        "parquet, path: ../../samples/flights",
        "kafka, servers: broker, topic: flights",
        5,
        "streams.departures.source.servers",
        "'broker'",
        "broker:9092",
    ),
    Wrong("parquet", "[parquet]", 5, "streams.departures.source.format", "is no format", "parquet, json"),
    Wrong("path: ../../samples/flights", "path: ''", 5, "streams.departures.source.path", "no value", "data/readings"),
    Wrong("path: ../../samples/flights", "path: [in]", 5, "streams.departures.source.path", "not fit", "data/readings"),
    Wrong("    id: flight\n", "", 4, "streams.departures.id", "missing", "column with the tuple's id"),
    Wrong("key:", "keys:", 9, "streams.departures.keys", "'keys' is no field", "key (of source"),
    Wrong("key: origin", "key: ''", 9, "streams.departures.key", "no value", "key: sensor"),
    Wrong("key: origin", "key: {a: b}", 9, "streams.departures.key", "does not fit", "key: sensor"),
    Wrong(
        "key: origin",
        "bounds: {earliest: 1 May}",
        9,
        "streams.departures.bounds.earliest",
        "'1 May' is no time",
        "2000-01-01T06:30:00Z",
    ),
    Wrong(
        "key: origin", "bounds: {earliest: 10}", 9, "streams.departures.bounds.earliest", "'10' is no", "an ISO 8601"
    ),
    Wrong("key: origin", "timezone: Berlin", 9, "streams.departures.timezone", "'Berlin' is no time zone", "IANA"),
    Wrong("key: origin", "timezone: Europe/Berlim", 9, "streams.departures.timezone", "is no", "Europe/Berlin"),
    Wrong("key: origin", "bounds: {ahead: -1 s}", 9, "streams.departures.bounds.ahead", "-1 s", "at least 0"),
    Wrong("size: 1 h", "size: 500", 10, "window.size", "500 has no unit", "write 500 ms, 500 s or 500 min; size: "),
    Wrong("size: 1 h", "size: 1.5", 10, "window.size", "1.5 has no unit", "write 1.5 s, 1.5 min or 1.5 h; size: "),
    Wrong("size: 1 h", "size: 1 hours ago", 10, "window.size", "is no duration", "size: 500 ms"),
    Wrong("size: 1 h", "size: 5 mn", 10, "window.size", "'5 mn' is no duration", "size: 5 min ("),
    Wrong("key: origin", "timezone: Europe/Wien", 9, "streams.departures.timezone", "is no", "Europe/Vienna or "),
    Wrong("key: origin", "timezone: New York", 9, "streams.departures.timezone", "is no", "America/New_York: a name"),
    Wrong("size: 1 h", "size: 0 s", 10, "window.size", "'0 s' does not fit", "not less than slide"),
    Wrong("slide: 15 min", "slide: -15 min", 10, "window.slide", "'-15 min' does not fit", "at most size"),
    Wrong("slide: 15 min", "slide: 2 h", 10, "window.slide", "slide is longer than size", "a larger size"),
    Wrong(
        "slide: 15 min", "slide: 1 ms", 10, "window.slide", "in 3,600,000 windows, more than 20,000", "180 ms or more"
    ),
    Wrong(
        "slide: 15 min",
        "slid: 15 min",
        10,
        "window.slid",
        "'slid' is no field",
        "slide (of size, slide, offset, timezone, session)",
    ),
    Wrong("kind: aggregate", "knd: aggregate", 1, "kind", "is missing, and 'knd' is no field", "kind in place of knd"),
    Wrong("format: ", "fromat: ", 5, "streams.departures.source.format", "'fromat' is no", "format in place of fromat"),
    Wrong("policy: ", "polcy: ", 11, "disorder.policy", "missing, and 'polcy' is no", "policy in place of polcy"),
    Wrong("function: ", "fuction: ", 12, "aggregate.function", "and 'fuction' is no", "function in place of fuction"),
    Wrong("window: {size: 1 h, slide: 15 min}", "window: [1 h]", 10, "window", "does not fit", "{size: 500 ms,"),
    Wrong("window: {size: 1 h, slide: 15 min}\n", "", 1, "window", "missing", "{size: 500 ms, slide: 100 ms}"),
    Wrong(PLAIN, "hybrid, risk: 0.05", 11, "disorder.error", "missing", "error: 0.05 (relative error"),
    Wrong(PLAIN, "quantile, error: 5, risk: 0.05", 11, "disorder.error", "'5' does not fit", "at most 1.0, as in"),
    Wrong(PLAIN, "quantile, error: 0, risk: 0.05", 11, "disorder.error", "error is always ≥ 0", "above 0, as 0.05"),
    Wrong(
        PLAIN,
        "quantile, error: 1, risk: 0.05",
        11,
        "disorder.error",
        "an answer that is missing is off by 1",
        "below 1",
    ),
    Wrong(PLAIN, "aq_k_slack, error: 0.05, risk: 0", 11, "disorder.risk", "no K waits for every tuple", "corrections"),
    Wrong(PLAIN, "hybrid, error: 0.05, risk: 1", 11, "disorder.risk", "all answers may be off", "below 1, as 0.05"),
    Wrong(
        PLAIN,
        "hybrid, error: 0.05, risk: 0.05, kp: -1",
        11,
        "disorder.kp",
        "'-1' does not fit",
        "at least 0.0, as",
    ),
    Wrong(PLAIN, "aq_k_slack, error: 0.05, risk: 0.05, kp: 1", 11, "disorder.kp", "'kp' is no field", "error, risk"),
    Wrong("k_slack", "kslack", 11, "disorder.policy", "'kslack' is no policy", "k_slack or mp_k_slack"),
    Wrong("policy: k_slack, ", "", 11, "disorder.policy", "missing", "policy: k_slack"),
    Wrong("k: 30 min, ", "", 11, "disorder.k", "missing", "k: 2 s"),
    Wrong("k: 30 min", "k: -30 min", 11, "disorder.k", "-30 min", "at least 0"),
    Wrong("k: 30 min", "k: 30", 11, "disorder.k", "30 has no unit", "write 30 ms"),
    Wrong("k_slack", "mp_k_slack", 11, "disorder.k", "'k' is no field", "policy, tick"),
    Wrong("tick: 1 min", "deduplicate: perhaps", 11, "disorder.deduplicate", "'perhaps' does not fit", "true"),
    Wrong(
        "tick: 1 min", "tik: 1 min", 11, "disorder.tik", "is no field", "tick (of policy, k, tick, deduplicate, idle)"
    ),
    Wrong("tick: 1 min", "idle: 0 ms", 11, "disorder.idle", "'0 ms' does not fit", "more than 0 ms"),
    Wrong("parallelism: 2", "correction: {schedule: daily}", 13, "correction.schedule", "no cron", "0 0 * * *"),
    Wrong("parallelism: 2", "correction: {schedule: '61 * * * *'}", 13, "correction.schedule", "no cron", "@daily"),
    Wrong("format: parquet", "format: replay", 5, "streams.departures.source.rate", "is missing", "rate: 2000"),
    Wrong(
        "format: parquet",
        "rate: 5, format: json",
        5,
        "streams.departures.source.rate",
        "format json takes no rate",
        "or no rate",
    ),
    Wrong(
        "format: parquet", "rate: 0, format: replay", 5, "streams.departures.source.rate", "'0' does not", "more than"
    ),
    Wrong(
        "avg", "mean", 12, "aggregate.function", "'mean' is no function", "avg (of sum, count, avg, min, max, first,"
    ),
    Wrong("avg", "quantile", 12, "aggregate.q", "is missing", "q: 0.9"),
    Wrong("avg", "median, q: 0.5", 12, "aggregate.q", "function median takes no q", "or no q"),
    Wrong("avg", "quantile, q: 90", 12, "aggregate.q", "'90' does not fit", "less than 1.0, as in q: 0.9"),
    Wrong("avg", "quantile, q: 0", 12, "aggregate.q", "'0' does not fit", "more than 0.0, as in q: 0.9"),
    Wrong("avg", "quantile, q: most", 12, "aggregate.q", "'most' does not fit", "q: 0.9 (share"),
    Wrong(", column: delay", "", 12, "aggregate.column", "is missing", "column: speed"),
    Wrong("parallelism: 2", "parallelism: 0", 13, "parallelism", "'0' does not fit", "at least 1"),
    Wrong("parallelism: 2", "parallelism: many", 13, "parallelism", "'many' does not fit", "from 1 to 64"),
    Wrong("parallelism: 2", "correction: {gap: 0 s}", 13, "correction.gap", "'0 s' does not fit", "more than 0 ms"),
    Wrong("parallelism: 2", "correction: {gap: 5}", 13, "correction.gap", "5 has no unit", "gap: 5 s"),
    Wrong("parallelism: 2", "paralelism: 2", 13, "paralelism", "'paralelism' is no field", "parallelism (of name"),
    Wrong("parallelism: 2", "name: again", 13, "name", "stands twice, first in line 1", "one of the two"),
    Wrong("parallelism: 2", "? [a]\n: b", 13, "", "no plain word", "a name, a colon"),
    Wrong("parallelism: 2", '"\\ud800": 2', 13, "", "no plain word", "a name, a colon"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case.field}-{case.new}"[:60])
def test_a_wrong_file_is_refused_with_line_and_remedy(tmp_path: Path, case: Wrong) -> None:
    assert case.old in GOOD
    path = write(tmp_path, GOOD.replace(case.old, case.new, 1))
    (problem,) = problems_of(path)
    assert problem.where == (f"{path}:{case.line}: {case.field}" if case.field else f"{path}:{case.line}")
    assert case.wrong in problem.fault
    assert case.right in problem.remedy


@pytest.mark.parametrize(
    ("text", "line", "wrong"),
    [
        ("", 1, "holds no fields"),
        ("# nothing but a comment\n", 1, "holds no fields"),
        ("- name: flights\n", 1, "holds no fields"),
        ("flights\n", 1, "holds no fields"),
        ("name: flights\nkind: &kind aggregate\n", 2, "anchors and aliases are not read (here kind)"),
        ("name: *flights\n", 1, "anchors and aliases are not read (here flights)"),
        ("name: !!str flights\n", 1, "tags are not read (here 'tag:yaml.org,2002:str')"),
        ("name: !python/name:os.system x\n", 1, "tags are not read"),
        ("name: flights\n---\nname: more\n", 2, "a second document begins"),
        ("name:\n  " + "[" * 20 + "]" * 20, 2, "deeper than 20 levels"),
        ("name: flights\nwindow: {size: 1 h\n", 3, "begins in line 2"),
        ("name: flights\n\tkind: aggregate\n", 2, "is no YAML"),
        ("name: flights\nkind: a: b\n", 2, "is no YAML"),
        ("name: flights\nkind: \x07\n", 2, "is no YAML"),
        ('name: "\\UFFFFFFFF"\n', 1, "is no YAML"),
    ],
)
def test_a_file_that_is_not_one_plain_mapping_is_refused(tmp_path: Path, text: str, line: int, wrong: str) -> None:
    path = write(tmp_path, text)
    (problem,) = problems_of(path)
    assert problem.where == f"{path}:{line}"
    assert wrong in problem.fault
    assert problem.remedy


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    (problem,) = problems_of(tmp_path / "flight.yaml")
    assert (problem.where, problem.remedy) == (str(tmp_path / "flight.yaml"), "flights.yaml")
    assert "No such file" in problem.fault
    assert "cannot be read" in problems_of(tmp_path)[0].fault


def test_a_file_that_is_not_utf_8_or_too_large_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, b"name: flights\nkind: \xff\n")
    (problem,) = problems_of(path)
    assert (problem.where, problem.fault) == (f"{path}:2", "is not UTF-8")
    (problem,) = problems_of(write(tmp_path, "#" * (64 * 1024 + 1)))
    assert "64 KiB" in problem.fault


def test_a_missing_slide_is_the_size(tmp_path: Path) -> None:
    query = load(write(tmp_path, GOOD.replace(", slide: 15 min", "")))
    assert (query.window.size_ms, query.window.slide_ms) == (3_600_000, 3_600_000)
    assert query.structure() == load(write(tmp_path, GOOD.replace("slide: 15 min", "slide: 1 h"))).structure()


def test_a_misspelt_field_is_named_beside_the_one_that_is_missing(tmp_path: Path) -> None:
    missing, misspelt = problems_of(write(tmp_path, GOOD.replace("window: ", "windo: ")))
    assert (missing.where.rpartition(": ")[2], missing.fault) == ("window", "is missing")
    assert misspelt.remedy.startswith("window (of ")  # `kind` is as near, but stands there


def test_the_section_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("kind: aggregate", "kind: topk"))
    missing, surplus = problems_of(path)
    assert (missing.where, missing.fault) == (f"{path}:1: topk", "is missing")
    assert (surplus.where, surplus.fault) == (f"{path}:12: aggregate", "kind topk takes no section aggregate")
    assert surplus.remedy == "kind: aggregate, or no such section"


TOPK = GOOD.replace("kind: aggregate", "kind: topk").replace("aggregate: {function: avg, column: delay}", "TOPK")
WRONG_TOPK = [
    ("", 1, "topk", "is missing", "topk: {k: 5, score: price}"),
    ("topk: {score: delay}", 12, "topk.k", "is missing", "k: 5"),
    ("topk: {k: 5}", 12, "topk.score", "is missing", "score: price"),
    ("topk: {k: 0, score: delay}", 12, "topk.k", "'0' does not fit", "at least 1"),
    ("topk: {k: 5.5, score: delay}", 12, "topk.k", "'5.5' does not fit", "k: 5"),
    ("topk: {k: 5, score: delay, order: up}", 12, "topk.order", "'up' is no order", "descending, ascending"),
    ("topk: {k: 5, score: delay, method: min_topk}", 12, "topk.method", "'min_topk' is no method", "mintopk"),
    ("topk: {k: 5, score: delay, method: sma}", 12, "topk.method", "method sma does not wait", "policy: none"),
    ("topk: {k: 5, score: delay, column: delay}", 12, "topk.column", "'column' is no field", "score, order"),
]


@pytest.mark.parametrize(("section", "line", "field", "wrong", "right"), WRONG_TOPK, ids=lambda part: str(part)[:50])
def test_a_wrong_top_k_is_refused(tmp_path: Path, section: str, line: int, field: str, wrong: str, right: str) -> None:
    path = write(tmp_path, TOPK.replace("TOPK", section))
    (problem,) = problems_of(path)
    assert problem.where == f"{path}:{line}: {field}"
    assert wrong in problem.fault
    assert right in problem.remedy


@pytest.mark.parametrize("method", ["sma", "mintopk", "gstopk"])
@pytest.mark.parametrize("policy", [PLAIN, "mp_k_slack", "cache_duration, initial: 1 min, accuracy: 0.9"])
def test_a_top_k_by_a_method_that_does_not_wait_refuses_policies_that_do(
    tmp_path: Path, method: str, policy: str
) -> None:
    text = TOPK.replace("TOPK", f"topk: {{k: 5, score: delay, method: {method}}}")
    assert load(write(tmp_path, text.replace(PLAIN, "none"))).topk.method == method
    for waiting in ("adaptive", "list"):
        assert load(write(tmp_path, text.replace(method, waiting).replace(PLAIN, policy))).topk.method == waiting
    (problem,) = problems_of(write(tmp_path, text.replace(PLAIN, policy)))
    assert problem.where.endswith(": topk.method")
    assert f"method {method} does not wait" in problem.fault


PROMISES = [f"{policy}, error: 0.05, risk: 0.05" for policy in ("quantile", "hybrid", "aq_k_slack")]


@pytest.mark.parametrize("policy", PROMISES)
def test_a_top_k_refuses_policies_that_promise_an_error(tmp_path: Path, policy: str) -> None:
    text = TOPK.replace("TOPK", "topk: {k: 5, score: delay}").replace(PLAIN, policy)
    (problem,) = problems_of(write(tmp_path, text))
    assert problem.where.endswith(":11: disorder.policy")
    assert "has no measure for" in problem.fault
    assert "cache_duration" in problem.remedy


@pytest.mark.parametrize("method", ["two_scales", "search", "paper"])
@pytest.mark.parametrize(
    "function", ["count", "median, column: delay", "count_distinct, column: delay, approximate: true"]
)
def test_functions_that_keep_values_alone_are_not_calibrated_directly(
    tmp_path: Path, method: str, function: str
) -> None:
    policy = f"cache_duration, method: {method}"
    topk = TOPK.replace("TOPK", "topk: {k: 5, score: delay}").replace(PLAIN, policy)
    assert load(write(tmp_path, topk)).policy.method == method
    aggregate = topk.replace("kind: topk", "kind: aggregate").replace(
        "topk: {k: 5, score: delay}", f"aggregate: {{function: {function}}}"
    )
    if method != "two_scales" or "median" not in function:
        assert load(write(tmp_path, aggregate)).policy.method == method
        return
    (problem,) = problems_of(write(tmp_path, aggregate))
    assert problem.where.endswith(": disorder.method")
    assert "median needs all values of a window" in problem.fault
    assert problem.remedy == "method: search"


def test_an_aggregate_in_an_expression_that_keeps_values_is_not_calibrated_directly(tmp_path: Path) -> None:
    text = TOPK.replace("TOPK", "aggregate: {r: {expression: median(delay) + 1}}").replace(
        "kind: topk", "kind: aggregate"
    )
    (problem,) = problems_of(write(tmp_path, text.replace(PLAIN, "cache_duration, method: two_scales")))
    assert "median needs all values of a window" in problem.fault


def test_a_good_top_k_is_loaded(tmp_path: Path) -> None:
    query = load(write(tmp_path, TOPK.replace("TOPK", "topk: {k: 5, score: delay}")))
    assert query.topk == TopKSection(k=5, score="delay")
    assert (query.topk.order, query.topk.method) == ("descending", "adaptive")
    assert "topk.k" in query.structure()
    assert not any(name.startswith("aggregate") for name in query.structure())


def test_a_second_stream_is_refused(tmp_path: Path) -> None:
    stream = GOOD[GOOD.index("  departures:") : GOOD.index("window:")]
    text = GOOD.replace("window:", stream.replace("departures", "arrivals") + "window:")
    (problem,) = problems_of(write(tmp_path, text))
    assert problem.where.endswith(":3: streams")
    assert "2 streams: departures, arrivals" in problem.fault


def test_all_problems_are_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        GOOD.replace("name: flights", "name: Flights")
        .replace("    id: flight\n", "")
        .replace("1 h, slide: 15 min", "15, slide: 15")
        .replace("k_slack", "kslack")
        .replace("avg", "mean")
        .replace("parallelism: 2", "kind: topk\ncorrection: {gap: 0 s}")
    )
    path = write(tmp_path, text)
    assert [problem.where.removeprefix(f"{path}:") for problem in problems_of(path)] == [
        "1: name",
        "4: streams.departures.id",
        "9: window.size",
        "9: window.slide",
        "10: disorder.policy",
        "11: aggregate.function",
        "12: kind",
        "13: correction.gap",
    ]


def test_a_message_stays_short(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, GOOD.replace("1 h", "9" * 5000)))
    assert max(len(problem.fault), len(problem.remedy)) <= MAX_MESSAGE


def test_a_wrong_stream_of_a_join_is_explained_by_the_join_s_own_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Annotated[AggregateQuery | PairQuery, Field(discriminator="kind")]
    monkeypatch.setattr(refusals, "AnyQuery", both)
    with pytest.raises(ValidationError) as error_info:
        TypeAdapter(both).validate_python({"name": "a", "kind": "pairs", "streams": {"left": 5}})
    (path, wrong, right) = refusals.explain(error_info.value.errors()[0])
    assert path == ("streams", "left")
    assert "left: {source: ..., id: ...}, right: {source: ..., id: ...}" in right, wrong


def test_a_file_in_a_directory_whose_name_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / os.fsdecode(b"caf\xe9")
    directory.mkdir()
    (problem,) = problems_of(write(directory, GOOD))
    assert "its name is no UTF-8" in problem.fault
    assert str(problem).isascii(), "it can be printed"


def test_an_expression_that_a_flow_mapping_ends_at_a_comma_is_to_be_quoted() -> None:
    text = """
name: q
kind: aggregate
streams:
  s: {source: {format: csv, path: in}, event_time: at, id: id, columns: {net: COLUMN}}
window: 1 min
aggregate: {function: count}
"""
    with pytest.raises(Refused) as refused:
        parse(Path("q.yaml"), text.replace("COLUMN", "round(price, 1)"))
    (problem,) = refused.value.problems
    assert problem.where == "q.yaml:5: streams.s.columns.1)"
    assert problem.remedy.startswith("quote an expression with a comma; columns: ")
    parse(Path("q.yaml"), text.replace("COLUMN", "'round(price, 1)'"))
    with pytest.raises(Refused) as refused:
        parse(Path("q.yaml"), text.replace("COLUMN", ""))
    assert "quote" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", b"at,id\n1,2\n"),
        ("data.csv", b'"at","id"\n1,2\n'),
        ("DATA.CSV", b"at,id\n" + b"1,2\n" * 20_000),
        ("data.csv", b"at,id\n1,\xff\n"),
        ("data.json", b'{"at": 1}\n{"at": 2}\n'),
        ("data.parquet", b"PAR1\xff\x00"),
        ("data/a.csv", b"at,id\n1,2\n"),
    ],
)
def test_data_in_place_of_a_query_file_is_refused_with_the_command_that_writes_one(tmp_path, name, content):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    given = tmp_path / name.partition("/")[0]
    with pytest.raises(Refused) as error_info:
        load(given)
    assert error_info.value.problems[0].remedy == f"tailrace init {given} writes a query file for this data"


@pytest.mark.parametrize("name", ["data", "other.txt", "none.csv"])
def test_what_is_no_data_is_refused_without_that_command(tmp_path, name):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes.txt").write_text("a")
    (tmp_path / "other.txt").write_text("a")
    with pytest.raises(Refused) as error_info:
        load(tmp_path / name)
    assert "tailrace init" not in error_info.value.problems[0].remedy
