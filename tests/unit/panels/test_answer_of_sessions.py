"""The page of a session: what came late for it, and what has become of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.oracles.oracle import Settings, Tuple
from kit.runs.local_driver import correct_here
from kit.runs.panel_stream import PanelStream
from kit.runs.warehouse import EPOCH, query_fields, write_files
from tailrace.panels import answer
from tailrace.panels.answer import AnswerRequest
from tailrace.panels.answer_ids import AnswerId
from tailrace.query.declared import declared_query


def streamed(directory: Path, *rows: tuple[str, int], **fields: Any) -> PanelStream:
    """A stream of sessions with a gap of 10 ms; each row, a key and an event time, is a tick of its own. K is 0."""
    tuples = [Tuple(EPOCH + event, EPOCH + 1000 + 2 * n, f"t{n}", key, 1.0) for n, (key, event) in enumerate(rows)]
    write_files(tuples, directory / "in", [0, 2, 3, len(tuples)])
    declared = query_fields(directory / "in", Settings(10, 10, 1, "count")) | {"window": {"session": "10 ms"}}
    stream = PanelStream(declared_query(declared | fields), directory / "wh", tuples)
    stream.driver.run(100, flush=True)
    return stream


def page(stream: PanelStream, start: int, end: int) -> answer.AnswerShown:
    session = {"key": "a", "window_start": EPOCH + start, "window_end": EPOCH + end}
    return answer.read(stream.view, AnswerRequest(id=str(AnswerId.from_identity(session))))


@pytest.mark.parametrize("late", [2, 19])
def test_a_session_that_a_late_tuple_lengthens_lists_it_and_names_the_one_in_its_place(tmp_path, late):
    stream = streamed(tmp_path, ("a", 10), ("b", 50), ("a", late), ("b", 51))
    before = page(stream, 10, 20)
    assert [each.id for each in before.late] == ["t2"]
    assert "1 tuple that came late is in no correction yet" in before.summary
    correct_here(stream.query, stream.warehouse)
    after = page(stream, 10, 20)
    first, last = min(10, late), max(10, late) + 10
    assert f"from 2020-01-01T00:00:00.0{first:02}Z to 2020-01-01T00:00:00.0{last:02}Z now" in after.summary
    assert [each.id for each in page(stream, first, last).late] == ["t2"]


def test_a_late_tuple_that_a_session_holds_may_join_it_with_another(tmp_path):
    stream = streamed(tmp_path, ("a", 0), ("b", 12), ("a", 9), ("b", 13), ("b", 40), ("b", 41))
    waiting = page(stream, 9, 19)
    assert [each.id for each in waiting.late] == ["t2"]
    assert "it may change" in waiting.summary
    assert waiting.versions[0].coverage == 0.5
    correct_here(stream.query, stream.warehouse)
    joined = page(stream, 0, 19)
    assert [each.id for each in joined.late] == ["t2"]
    assert joined.summary.endswith("No late tuple is left to be corrected.")


def test_an_answer_that_does_not_meet_having_any_more_says_so(tmp_path):
    having = {"aggregate": {"number": {"function": "count"}, "having": "number < 2"}, "window": "10 ms"}
    stream = streamed(tmp_path, ("a", 0), ("b", 50), ("a", 5), ("b", 51), **having)
    correct_here(stream.query, stream.warehouse)
    assert "took it back: it does not meet the query's having" in page(stream, 0, 10).summary
