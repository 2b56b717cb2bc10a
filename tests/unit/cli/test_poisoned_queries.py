"""Poisoned query files: each is refused with its line, what is wrong and what would be right; nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

GOOD = """\
name: flights
kind: aggregate
streams:
  departures:
    source: {format: parquet, path: in}
    event_time: t
    arrival_time: a
    id: flight
    key: origin
window: {size: 1 h, slide: 15 min}
disorder: {policy: k_slack, k: 30 min, tick: 1 min}
aggregate: {function: avg, column: delay}
correction: {schedule: '@daily'}
parallelism: 2
"""


def changed(before: str, after: str) -> bytes:
    assert before in GOOD
    return GOOD.replace(before, after, 1).encode()


CASES = [
    ("an empty file", b"", "1", "holds no fields"),
    ("a comment alone", b"# nothing\n", "1", "holds no fields"),
    ("a list in place of fields", b"- name: flights\n", "1", "holds no fields"),
    ("a word alone", b"flights\n", "1", "holds no fields"),
    ("larger than 64 KiB", GOOD.encode() + b"#" * 70000, "", "is larger than 64 KiB, so hardly a query file"),
    ("NUL bytes", changed("flights", "fli\0ghts"), "1", "is no YAML: special characters are not allowed"),
    ("bytes that are no UTF-8", changed("flights", "fl\xe4").decode().encode("latin-1"), "1", "is not UTF-8"),
    ("UTF-16", GOOD.encode("utf-16"), "1", "is not UTF-8"),
    (
        "an indentation by a tab",
        changed("    event_time", "\tevent_time"),
        "6",
        "is no YAML: found character '\\t' that cannot start any token",
    ),
    (
        "an open bracket",
        changed("path: in}", "path: in"),
        "6",
        "is no YAML: expected ',' or '}', but got ':' in what begins in line 5",
    ),
    (
        "an open quote",
        changed("@daily'", "@daily"),
        "15",
        "is no YAML: found unexpected end of stream in what begins in line 13",
    ),
    (
        "a bomb of aliases",
        b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n" + GOOD.encode(),
        "1",
        "anchors and aliases are not read (here a)",
    ),
    ("a merge key", b"<<: *x\n" + GOOD.encode(), "1", "anchors and aliases are not read (here x)"),
    (
        "a python tag",
        changed("name: flights", "name: !!python/object/apply:os.system [ls]"),
        "1",
        "tags are not read (here 'tag:yaml.org,2002:python/object/apply:os.system')",
    ),
    (
        "a binary tag",
        changed("name: flights", "name: !!binary aGk="),
        "1",
        "tags are not read (here 'tag:yaml.org,2002:binary')",
    ),
    ("a duplicate field", GOOD.encode() + b"name: other\n", "15: name", "stands twice, first in line 1"),
    ("a second document", GOOD.encode() + b"---\nname: b\n", "15", "a second document begins (---)"),
    ("a deep nesting", b"name: " + b"[" * 50 + b"]" * 50 + b"\n", "1", "nested deeper than 20 levels"),
    ("a very deep nesting", b"name: " + b"[" * 10000 + b"]" * 10000 + b"\n", "1", "nested deeper than 20 levels"),
    ("an impossible escape", changed("flights", '"\\UFFFFFFFF"'), "1", "is no YAML: "),
    ("a field that is a list", b"[a]: b\n" + GOOD.encode(), "1", "a field's name is no plain word"),
    ("an unknown field", changed("parallelism", "paralelism"), "14: paralelism", "'paralelism' is no field here"),
    ("an unknown kind", changed("kind: aggregate", "kind: agregate"), "2: kind", "'agregate' is no kind here"),
    ("no kind", changed("kind: aggregate\n", ""), "1: kind", "is missing"),
    ("no name", changed("name: flights\n", ""), "1: name", "is missing"),
    ("a name with ..", changed("name: flights", "name: ../flights"), "1: name", "'../flights' does not fit"),
    ("a name with /", changed("name: flights", "name: a/b"), "1: name", "'a/b' does not fit"),
    ("a name too long", changed("name: flights", "name: " + "a" * 300), "1: name", "'aaaaaaaa"),
    ("a name of a newline", changed("name: flights", 'name: "a\\nb"'), "1: name", "'a\\nb' does not fit"),
    ("a duration without unit", changed("1 h", "60"), "10: window.size", "60 has no unit"),
    ("an unknown unit", changed("1 h", "1 fortnight"), "10: window.size", "'1 fortnight' is no duration"),
    ("a negative duration", changed("1 h", "-1 h"), "10: window.size", "'-1 h' does not fit"),
    (
        "a huge duration",
        changed("1 h", "999999999999 h"),
        "10: window.size",
        "'999999999999 h' is longer than a hundred years",
    ),
    ("a huge number of digits", changed("1 h", "9" * 5000 + " h"), "10: window.size", "'99999999"),
    ("a window of nothing", changed("1 h", "0 ms"), "10: window.size", "'0 ms' does not fit"),
    ("a span that is no number", changed("1 h", "nan h"), "10: window.size", "'nan h' is no duration"),
    ("a slide longer than the window", changed("15 min", "2 h"), "10: window.slide", "slide is longer than size"),
    (
        "windows beyond reason",
        changed("15 min", "1 ms").replace(b"1 h", b"365 d"),
        "10: window.slide",
        "a tuple would lie in 31,536,000,000 windows, more than 20,000",
    ),
    ("a negative slack", changed("30 min", "-30 min"), "11: disorder.k", "-30 min does not fit"),
    ("an unknown policy", changed("k_slack", "kslack"), "11: disorder.policy", "'kslack' is no policy here"),
    ("an unknown function", changed("avg", "mean"), "12: aggregate.function", "'mean' is no function here"),
    (
        "an unknown format",
        changed("format: parquet", "format: parkett"),
        "5: streams.departures.source.format",
        "'parkett' is no format here",
    ),
    (
        "a URL for a path",
        changed("path: in", "path: 'https://bucket/in'"),
        "5: streams.departures.source.path",
        "https://bucket/in is no URL of an object store",
    ),
    ("a cron that never fires", changed("@daily", "0 0 31 2 *"), "13: correction.schedule", "'0 0 31 2 *' never comes"),
    (
        "a cron of nonsense",
        changed("@daily", "every day"),
        "13: correction.schedule",
        "'every day' is no cron expression",
    ),
    ("no tasks", changed("parallelism: 2", "parallelism: 0"), "14: parallelism", "'0' does not fit"),
    (
        "too many tasks",
        changed("parallelism: 2", "parallelism: 99999999999999999999"),
        "14: parallelism",
        "'99999999999999999999' does not fit",
    ),
    ("tasks in words", changed("parallelism: 2", "parallelism: two"), "14: parallelism", "'two' does not fit"),
    (
        "a section as a word",
        changed("disorder: {policy: k_slack, k: 30 min, tick: 1 min}", "disorder: k_slack"),
        "11: disorder",
        "'k_slack' does not fit",
    ),
    (
        "a section as a list",
        changed("window: {size: 1 h, slide: 15 min}", "window: [1 h]"),
        "10: window",
        "['1 h'] does not fit",
    ),
    (
        "an aggregate of nothing",
        changed("aggregate: {function: avg, column: delay}", "aggregate: {}"),
        "12: aggregate.function",
        "is missing",
    ),
    ("section of another kind", GOOD.encode() + b"topk: {k: 3}\n", "15: topk", "kind aggregate takes no section topk"),
    ("column null", changed("column: delay", "column:"), "12: aggregate.column", "has no value"),
]
"""The poison's name, the file, the place that the refusal names, and how its first reason begins."""


def test_the_file_without_poison_is_right(tailrace, tmp_path: Path) -> None:
    file = tmp_path / "flights.yaml"
    file.write_text(GOOD)
    assert tailrace("validate", file).stdout == f"{file}: no fault found\n"


@pytest.mark.parametrize(("poison", "place", "reason"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_poison_is_refused(tailrace, tmp_path: Path, poison: bytes, place: str, reason: str) -> None:
    file = tmp_path / "flights.yaml"
    file.write_bytes(poison)
    printed = tailrace("validate", file, code=2)
    where = f"{file}:{place}" if place else str(file)
    assert printed.stdout == ""
    assert f"{where}: {reason}" in printed.stderr
    assert "right would be: " in printed.stderr
    assert "Traceback" not in printed.stderr
    assert list(tmp_path.iterdir()) == [file]
