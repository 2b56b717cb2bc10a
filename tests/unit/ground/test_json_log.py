"""The log in JSON: each line is an object, whatever is printed and however it is cut."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.ground import json_log
from tailrace.ground.errors import Refused
from tailrace.ground.json_log import VARIABLE, JsonLog


def objects(target: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in target.getvalue().splitlines()]


@given(st.lists(st.text(alphabet='ab "\\{\n\u2028é', max_size=9), max_size=9))
def test_what_is_printed_is_there_line_by_line_however_it_is_cut(parts):
    target = io.StringIO()
    log = JsonLog(target, {"command": "run"})
    for part in parts:
        assert log.write(part) == len(part)
    lines = target.getvalue().split("\n")
    found = [json.loads(line) for line in lines if line]
    *whole, _ = "".join(parts).split("\n")
    assert [one["message"] for one in found] == [line.rstrip() for line in whole if line.strip()]
    assert all(one["command"] == "run" for one in found)


def test_a_line_has_time_and_level():
    target = io.StringIO()
    log = JsonLog(target, {})
    print("refused x: y", file=log)
    print("written", file=log)
    first, second = objects(target)
    assert datetime.fromisoformat(first["time"]).tzinfo is not None
    assert (first["level"], first["message"]) == ("error", "refused x: y")
    assert second["level"] == "info"


def test_stderr_is_the_log_only_where_it_is_asked_for(monkeypatch):
    target = io.StringIO()
    monkeypatch.setattr(sys, "stderr", target)
    monkeypatch.delenv(VARIABLE, raising=False)
    json_log.use_if_asked(command="run")
    json_log.write_event("batch", batch=1)
    assert sys.stderr is target
    assert target.getvalue() == ""
    monkeypatch.setenv(VARIABLE, "json")
    json_log.use_if_asked(command="run")
    json_log.use_if_asked(command="again")
    json_log.name(query="flights")
    json_log.write_event("batch", batch=1)
    [line] = objects(target)
    assert {name: line[name] for name in ("command", "query", "event", "batch")} == {
        "command": "run",
        "query": "flights",
        "event": "batch",
        "batch": 1,
    }


def test_another_format_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "xml")
    with pytest.raises(Refused, match=r"TAILRACE_LOG.*'xml'"):
        json_log.use_if_asked()
