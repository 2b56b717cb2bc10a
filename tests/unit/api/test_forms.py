"""Rows of other libraries as streams, answers in their forms, and what a notebook shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tailrace
from tailrace.api import rows as rows_module
from tailrace.ground.errors import Problem

TABLE = pa.table(
    {
        "at": pa.array([datetime(2024, 5, 1, 12, 0, second) for second in range(6)], pa.timestamp("us")),
        "id": ["a", "b", "c", "d", "e", "f"],
        "street": ["<b>", "&", "<b>", "&", "<b>", "&"],
        "speed": [1, 2, 3, 4, 5, 6],
    }
)
FORMS = {
    "table": TABLE,
    "batch": TABLE.to_batches()[0],
    "reader": TABLE.to_reader(),
    "dicts": TABLE.to_pylist(),
    "columns": TABLE.to_pydict(),
    "pandas": TABLE.to_pandas(),
    "pandas with an index": TABLE.to_pandas().set_index(pd.Index(range(10, 16))),
    "categories": TABLE.to_pandas().astype({"street": "category"}),
    "polars": pl.from_arrow(TABLE),
    "polars of categories": pl.from_arrow(TABLE).with_columns(pl.col("street").cast(pl.Categorical)),
    "duckdb": duckdb.from_arrow(TABLE),
    "views": TABLE.cast(pa.schema([TABLE.schema.field(0), ("id", pa.string_view()), *list(TABLE.schema)[2:]])),
}


def query(rows: object) -> tailrace.Query:
    stream = tailrace.Stream(rows, event_time="at", id="id", key="street")
    total = {"total": {"function": "sum", "column": "speed"}}
    return tailrace.query("aggregate", streams={"rows": stream}, window="1 min", aggregate=total)


@pytest.fixture(scope="module")
def answers() -> tailrace.Answers:
    return query(TABLE).run().results()


def test_rows_of_every_form_are_one_stream():
    expected = tailrace.Stream(TABLE, "at").table
    for name, form in FORMS.items():
        table = tailrace.Stream(form, "at").table
        assert table.column_names == expected.column_names, name
        assert table.to_pylist() == expected.to_pylist(), name


@pytest.mark.parametrize("name", ["pandas", "categories", "polars of categories", "views"])
def test_a_stream_over_rows_of_another_library_gives_the_same_answers(name, answers):
    tailrace.testing.assert_answers_equal(query(FORMS[name]).run().results(), answers, ["key", "total"])


@pytest.mark.parametrize(
    ("rows", "fault"),
    [(5, "int is no table"), ([1, 2], "list is no table"), ({"a": [1, [2]]}, "no table of columns of one type each")],
    ids=["a number", "no dicts", "two types"],
)
def test_what_is_no_table_is_refused(rows, fault):
    with pytest.raises(tailrace.Refused, match=fault):
        tailrace.Stream(rows, "at")


def test_times_as_texts_are_read_with_a_zone_or_without_and_others_are_refused():
    def times(*texts: str) -> list:
        return tailrace.Stream({"at": list(texts), "id": [1] * len(texts)}, "at").table["at"].to_pylist()

    assert times("2024-05-01T00:00:01+02:00") == [pd.Timestamp("2024-04-30T22:00:01Z")]
    assert times("2024-05-01 00:00:01.5") == [datetime(2024, 5, 1, 0, 0, 1, 500_000)]
    for wrong in (["noon"], ["2024-05-01T00:00:01Z", "2024-05-01T00:00:01"]):
        with pytest.raises(tailrace.Refused, match=r"rows: column at: a text is no time"):
            times(*wrong)


def test_answers_come_in_every_form(answers):
    expected = [9, 12]
    times = pa.timestamp("ms", "UTC")
    arrow = answers.arrow()
    assert sorted(arrow["total"].to_pylist()) == expected
    assert {arrow.schema.field(name).type for name in ("window_start", "window_end", "as_of")} == {times}
    assert sorted(answers.pandas()["total"]) == expected
    assert answers.pandas()["window_end"].dt.tz is not None
    assert sorted(answers.polars()["total"]) == expected
    assert answers.duckdb().aggregate("sum(total)").fetchone() == (21,)
    assert sorted(row["total"] for row in answers) == expected
    assert len(answers) == 2
    assert repr(answers).startswith("Answers(2 rows of key, window_start")


def test_without_polars_its_form_is_refused(answers, monkeypatch):
    monkeypatch.setattr(rows_module, "find_spec", lambda name: None)
    with pytest.raises(tailrace.Refused, match=r"Polars is not installed\n.*pip install polars"):
        answers.polars()


def test_a_notebook_shows_no_text_unescaped(answers):
    asked = query(TABLE)
    run = asked.run()
    planned = run.rebuild(dry_run=True)
    assert repr(planned).startswith("Rebuilt(a new checkpoint; all answers and corrections stay as they are; 6 rows")
    for shown in (answers, asked, run, asked.explain(), run.late(), run.quality(), run.status(), planned):
        html = shown._repr_html_()
        assert html.startswith("<table>")
        assert html.endswith("</table>")
        assert "<b>" not in html
    assert "&lt;b&gt;" in answers._repr_html_()
    assert "2 rows" in answers._repr_html_()
    assert "<td>9</td>" in answers._repr_html_()
    status = run.status()._repr_html_()
    assert "<th>frontier</th><td>2024-05-01T12:01:00.000Z</td>" in status
    assert "<th>accepted</th><td>6</td>" in status


def test_a_correction_is_shown_in_words():
    late = {"at": [datetime(2024, 5, 1, 12, minute) for minute in (0, 3, 0)], "id": ["a", "b", "c"]}
    came = [datetime(2024, 5, 1, 12, minute) for minute in (1, 4, 5)]
    stream = tailrace.Stream({**late, "came": came}, event_time="at", arrival_time="came", id="id")
    counts = {"n": {"function": "count"}}
    run = tailrace.query("aggregate", streams={"rows": stream}, window="1 min", aggregate=counts).run()
    part = run.correct(end="2024-05-01T12:01:00Z")
    counted = "1 of 1 answer changed, 0 taken back, 1 late tuple since the stream began"
    assert repr(part) == f"CorrectionReport(corrected event times to 2024-05-01T12:01:00.000Z: {counted})"
    assert f"<td>{counted}</td>" in part._repr_html_()
    assert "<td>all event times</td>" in run.correct()._repr_html_()
    hostile = replace(part, where_failed=1, where_failure="<b>")
    assert "&lt;b&gt;" in hostile._repr_html_()


def test_a_notebook_shows_the_first_rows_of_many():
    table = {"at": np.arange(1_700_000_000_000, 1_700_000_060_000, 1000), "id": range(60)}
    stream = tailrace.Stream(table, event_time="at", id="id")
    run = tailrace.query("aggregate", streams={"r": stream}, window="1 s", aggregate={"function": "count"}).run()
    html = run.results()._repr_html_()
    assert html.count("<tr>") == 21
    assert "the first 20 of 60 rows" in html


def test_errors_in_a_notebook_are_their_texts_in_which_nothing_is_a_command():
    refused = tailrace.Refused([Problem("file.yaml:3: \x1b[31mname", "is no name", "a name")])
    assert refused._render_traceback_() == [
        "refused",
        "file.yaml:3: \\x1b[31mname: is no name",
        "    right would be: a name",
    ]


def test_a_failed_run_in_a_notebook_sends_no_command_to_a_terminal():
    run = SimpleNamespace(lines=lambda: ["  3 for: \x1b[2J"])
    assert tailrace.Failed(run)._render_traceback_()[-1] == "  3 for: \\x1b[2J"


def test_a_query_is_drawn_in_a_notebook_and_into_a_file(tmp_path):
    run = query(TABLE).run()
    picture = run.plot(start="2024-01-01", key="&")
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert repr(picture) == "<picture of aggregate>"
    drawn = picture.save(tmp_path / "load.svg").read_text()
    assert drawn.startswith("<?xml")
    assert "<!-- Promise: none -->" in drawn, "nothing is promised"
    with pytest.raises(tailrace.Refused, match="says no form of picture"):
        picture.save(tmp_path / "load.gif")
    with pytest.raises(tailrace.Refused, match=r"^start, end: the range is empty\n.*start before end"):
        run.plot(start="2024-01-02", end="2024-01-01")
