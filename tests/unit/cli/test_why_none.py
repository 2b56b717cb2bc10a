"""Answers of a query that has none: each reader says why, in the first line."""

from __future__ import annotations

import pytest

import tailrace
from tailrace.api import why_none
from tailrace.storage.answer_range import ALL
from tailrace.storage.layout import Layout

ROWS = {"at": ["2024-05-01T00:00:01Z", "2024-05-01T00:00:05Z"], "id": [1, 2]}
FAR = ROWS | {"at": ["2094-05-01T00:00:01Z"] * 2}
READ = "no answers yet: read 2 records, 2 accepted, 0 rejected; "
END = "run with bounded and without keep_open"


def query(rows: dict[str, list] = ROWS, having: str | None = None, **fields: str) -> tailrace.Query:
    stream = tailrace.Stream(rows, event_time="at", id="id", **fields)
    counts = {"n": {"function": "count"}} | ({} if having is None else {"having": having})
    return tailrace.query("aggregate", name="none", streams={"rows": stream}, window="1 min", aggregate=counts)


@pytest.mark.parametrize(
    ("asked", "keep_open", "why"),
    [
        (query(), True, f"{READ}no window has closed: 2 rows wait in an open tick; later records close one,"),
        (
            query({**ROWS, "came": ["2024-05-01T00:00:02Z", "2024-05-01T00:00:06Z"]}, arrival_time="came"),
            True,
            f"{READ}no window has closed: 1 row waits in an open tick, "
            "the newest event time before that is 2024-05-01T00:00:01.000Z, K is 0 ms;",
        ),
        (query(having="n > 5"), False, f"{READ}1 answer withheld, as having is not true for them"),
        (query(FAR), False, "no answers: read 2 records, 0 accepted, 2 rejected; quarantine shows the rejected ones"),
        (
            query(where="id > 5"),
            False,
            "no answers: read 2 records, 0 accepted, 2 filtered, 0 rejected; where is false or null for",
        ),
    ],
    ids=["an open tick", "an open window", "having", "rejected", "where"],
)
def test_a_query_without_answers_says_why(asked, keep_open, why):
    answers = asked.run(keep_open=keep_open, strict=False).results()
    assert answers.why_none.startswith(why)
    assert answers.why_none.endswith(END) == keep_open
    assert repr(answers).endswith(f": {answers.why_none})")
    assert f"<caption>{answers.why_none}</caption>" in answers._repr_html_()


def test_answers_that_were_not_asked_for_are_no_reason():
    run = query().run()
    assert run.results().why_none == run.results(limit=0).why_none == ""
    assert run.results(start="2025-01-01").why_none == "none of 1 streamed answer is in this range, or of this key"
    assert run.results(where="n > 5").why_none == "none of 1 answer meets where"
    assert run.quality().why_none.startswith("nothing is measured yet: a correction")
    run.correct()
    assert run.quality().why_none == ""


def test_a_null_key_is_asked_for_by_where():
    run = query(ROWS | {"key": [None, "null k"]}, key="key").run()
    for key in ("", "null", "None"):
        why = run.results(key=key).why_none
        assert why.endswith("or of this key; some have a key that is null: where 'key is null'"), why
    assert run.results(key="nil").why_none.endswith("or of this key")
    assert len(run.results(where="key is null")) == 1
    assert query(ROWS | {"key": ["a", "b"]}, key="key").run().results(key="null").why_none.endswith("or of this key")


def test_the_command_says_why_in_place_of_an_empty_table(tailrace, tmp_path):
    where = "--warehouse", tmp_path / "wh"
    run = query().at(tmp_path / "wh").run(keep_open=True)
    table = tailrace("results", "none", *where)
    assert not table.stdout
    assert table.stderr.startswith(f"{READ}no window has closed")
    assert table.stderr.endswith("run with --bounded and without --keep-open\n")
    assert tailrace("results", "none", *where, "--format", "csv").stdout.count("\n") == 1
    assert tailrace("quality", "none", *where).stderr.startswith("nothing is measured yet")
    run.correct()
    assert tailrace("quality", "none", *where).stderr.startswith("nothing is measured: the corrections so far")


def test_a_table_of_answers_that_is_behind_is_a_reason(tmp_path):
    query().at(tmp_path).run()
    why = why_none.why_no_answers(Layout.for_query(tmp_path, "none"), ALL, is_current=True)
    assert why.startswith("no answers: corrections took back the ")
    assert why.endswith(" of the stream, or the table current will have them within a minute")
