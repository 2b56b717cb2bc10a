"""Whole queries, drawn, run as users run them: streamed answers are the plain oracle's, corrected ones one statement's.

A query has derived columns on top of each other, some of which fail for a record, a condition, a key or a list, windows
of any sort or sessions, aggregates of all functions with conditions, and expressions over them, by name or in place. It
is read from a query file, runs on the local engine in batches and tasks, dies at a write, goes on from SQL text that
says the same, and is corrected.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.drawn_queries import cases, write_records
from kit.oracles.drawn_truth import by_one_statement, by_window, differences, kept, over_all, streamed
from kit.runs.deaths import deaths
from kit.runs.local_driver import Driver, correct_here
from kit.suite.examples import drawn
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


@drawn(40)
@given(st.data(), cases())
def test_streamed_is_the_oracle_and_corrected_is_one_statement(tmp_path_factory, data, case):
    rows, query = case
    directory = tmp_path_factory.mktemp("drawn")
    forms = {}
    for form, text in (("sections", query.sections("in")), ("sql", query.sql_file("in"))):
        (directory / f"{form}.yaml").write_text(text)
        forms[form] = load(directory / f"{form}.yaml")
    if not query.hidden:  # calls in expressions have several spellings
        assert forms["sql"] == forms["sections"]
    assert forms["sql"].structure() == forms["sections"].structure()

    cut = data.draw(st.integers(0, len(rows)), label="restart")
    driver = Driver(forms["sections"], directory / "wh")
    batch_rows = data.draw(st.sampled_from([3, 7, 100]), label="rows of a batch")
    write_records(rows, directory / "in", 0, [0, cut])
    with pytest.MonkeyPatch.context() as patch:
        steps = deaths(patch)
        with steps.after(data.draw(st.sampled_from([None, 3, 8, 15]), label="writes before its death")):
            driver.run(batch_rows)
        driver.query = forms["sql"]
        write_records(rows, directory / "in", 1, [cut, len(rows)])
        driver.run(batch_rows, flush=True)

    tuples, filtered, quarantined = kept(query, rows)
    segments = Tables(Layout.for_query(directory / "wh", "drawn")).read("segments").to_pylist()
    counts = {name: sum(row[name] for row in segments) for name in ("accepted", "filtered", "quarantined")}
    assert counts == {
        "accepted": len(rows) - filtered - quarantined,
        "filtered": filtered,
        "quarantined": quarantined,
    }

    expected, found = streamed(query, tuples), by_window(query, forms["sql"], directory / "wh", streamed=True)
    assert found.keys() == expected.keys()
    for window, answer in expected.items():
        assert (found[window]["as_of"], found[window]["k_ms"]) == (answer.as_of, answer.k_ms)
        assert differences(query, found[window], answer.value, answer.value) == [], window

    correct_here(forms["sql"], directory / "wh")
    right = by_one_statement(query, rows)
    sizes = over_all(query, rows)
    corrected = by_window(query, forms["sections"], directory / "wh", streamed=False)
    assert corrected.keys() == right.keys() == sizes.keys()
    for window, answer in right.items():
        assert differences(query, corrected[window], answer, sizes[window]) == [], window
