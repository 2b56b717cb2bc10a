"""What `run` and `correct` say to do next: a correction that is due, a changed query, a misspelt column."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace import load
from tailrace.storage.changed_query import rebuild_of
from tailrace.storage.layout import Layout

ROWS = [  # seconds of event time and arrival, in order of arrival; the third is late
    (1, 2, "a", 1),
    (31, 32, "a", 2),
    (4, 40, "a", 3),
    (32, 41, "b", 4),
    (61, 62, "b", 5),
]
QUERY = """\
name: own
kind: aggregate
streams:
  records:
    source: {format: csv, path: own.csv}
    event_time: at
    arrival_time: came
    id: id
    key: key
    columns: {number: cast(value as double)}
window: 10 s
disorder: {policy: k_slack, k: 0 s}
aggregate:
  mean: {function: avg, column: number}
"""
RUN = ("--engine", "local", "--warehouse", "out", "--bounded")


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """Return a folder where a query with a late tuple has run, for tests that change nothing in its warehouse."""
    folder = tmp_path_factory.mktemp("begun")
    write(folder)
    load(folder / "own.yaml", warehouse=folder / "out").run()
    return folder


@pytest.fixture
def refusal(begun, monkeypatch, tailrace) -> Callable[..., str]:
    """Run a command on the query after edits of its file; return what it refused."""

    def run(*edits: tuple[str, str], command: str = "run", extra: str = "") -> str:
        monkeypatch.chdir(begun)
        text = QUERY + extra
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        Path("own.yaml").write_text(text)
        said: str = tailrace(command, "own.yaml", *(RUN if command == "run" else RUN[:4]), code=2).stderr
        return said[said.index("refused") :].strip()

    return run


def write(folder: Path) -> None:
    (folder / "own.yaml").write_text(QUERY)
    times = [(f"2026-03-01T08:00:{at % 60:02}Z".replace(":00:", f":{at // 60:02}:"), came) for at, came, *_ in ROWS]
    lines = [
        f"r{number},{at},2026-03-01T08:{came // 60:02}:{came % 60:02}Z,{key},{value}"
        for number, ((at, came), (*_, key, value)) in enumerate(zip(times, ROWS, strict=True))
    ]
    (folder / "own.csv").write_text("\n".join(["id,at,came,key,value", *lines, ""]))


def commands_in(text: str) -> list[list[str]]:
    """Return the words of each command of tailrace in a text, after the name."""
    return [shlex.split(each)[1:] for each in re.findall(r"tailrace [^,;\n]*", text)]


def test_a_run_says_how_many_late_tuples_wait_and_the_command_that_corrects_them(tmp_path, monkeypatch, tailrace):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    last = tailrace("run", "own.yaml", *RUN).stderr.splitlines()[-1]
    assert last == "1 late tuple waits for tailrace correct own.yaml --warehouse out --engine local"
    (command,) = commands_in(last)
    first, second = tailrace(*command).stderr.splitlines()
    assert first == "correcting all event times"
    assert (
        second == "corrected all event times: 1 of 4 answers changed, 0 taken back, 1 late tuple since the stream began"
    )
    times = ("--from", "2026-03-01T08:00:30Z", "--to", "2026-03-01T08:01:00Z")
    first, second = tailrace(*command, *times).stderr.splitlines()
    words = "event times from 2026-03-01T08:00:30.000Z to 2026-03-01T08:01:00.000Z"
    assert first == f"correcting {words}"
    counts = "0 of 2 answers changed, 0 taken back, 1 late tuple since the stream began"
    assert second == f"corrected {words}: {counts}", "they are corrected"
    assert tailrace("run", "own.yaml", *RUN).stderr.strip() == "nothing new to read"


def test_a_run_with_its_correction_asks_for_no_other_one_and_a_rebuild_by_the_refusals_commands(
    tmp_path, monkeypatch, tailrace
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    said = tailrace("run", "own.yaml", *RUN, "--correct").stderr
    assert "waits" not in said
    assert said.splitlines()[-1].startswith("corrected all event times: 1 of 4 answers changed")
    Path("own.yaml").write_text(QUERY.replace("window: 10 s", "window: 20 s"))
    refused, right = tailrace("run", "own.yaml", *RUN, code=2).stderr.strip().splitlines()
    assert refused.startswith("refused own.yaml:11: window.size: it is '20 s', but the stream in ")
    assert refused.endswith("was begun with '10 s'")
    assert "driver" not in right
    rebuild, correct = commands_in(right.replace(" and then", ";"))
    assert rebuild == ["rebuild", "own.yaml", "--warehouse", "out", "--engine", "local"]
    assert correct == ["correct", *rebuild[1:]]
    tailrace(*rebuild)
    assert "1 of 4 answers changed" in tailrace(*correct).stderr


def test_several_changes_are_one_problem(refusal):
    fault, right = refusal(("window: 10 s", "window: 20 s"), ("k: 0 s", "tick: 1 s, k: 0 s")).splitlines()
    assert "own.yaml:12: disorder.tick: it is 1000, " in fault
    assert fault.endswith("was begun with 100; window.size is '20 s', not '10 s'")
    assert "right would be: the old values; or" in right


def test_a_query_of_a_driver_is_rebuilt_once_it_is_drained(refusal, begun):
    deployed = Layout.for_query(begun / "out", "own").deployed
    deployed.write_text("{}")
    try:
        said = refusal(("window: 10 s", "window: 20 s"))
    finally:
        deployed.unlink()
    assert "--engine local, once the driver is drained: it answers all of history again" in said
    assert "tailrace correct" not in said, "its corrections go on by themselves"


def test_a_change_without_other_answers_needs_no_correction():
    said = rebuild_of({"parallelism": (2, 3)}, lambda verb: f"tailrace {verb}", has_driver=False, has_late_tuples=True)
    assert said == "tailrace rebuild, which spreads the state over the tasks again and keeps all answers"


@pytest.mark.parametrize(
    ("old", "new", "where", "right"),
    [
        (
            "column: number",
            "column: nunber",
            "aggregate.mean.column",
            "number; one of at, came, id, key, number, value",
        ),
        ("cast(value as", "cast(valeu as", "streams.records.columns.number", "value"),
        ("key: key", "key: kee", "streams.records.key", "key; one of at, came, id, key, number, value"),
    ],
)
@pytest.mark.parametrize("command", ["run", "correct"])
def test_a_misspelt_column_is_said_before_the_change_of_the_query(refusal, old, new, where, right, command):
    fault, remedy = refusal((old, new), ("window: 10 s", "window: 20 s"), command=command).splitlines()
    assert f": {where}: " in fault
    assert "it has no column" in fault
    assert remedy.strip() == f"right would be: {right}"


def test_a_source_that_is_gone_hides_no_change(refusal, begun):
    said = refusal(("path: own.csv", "path: gone.csv"), ("window: 10 s", "window: 20 s"))
    assert "window.size: it is '20 s'" in said
