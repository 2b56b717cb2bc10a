"""SQL text in a query file, and in a file of its own: loaded as the sections that it says, or refused at its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from pydantic import ValidationError

from kit.suite.examples import drawn
from tailrace.ground.errors import Problem, Refused
from tailrace.query.declared import declared_query
from tailrace.query.loading import load
from tailrace.query.sql_form import sections_of, sql_of
from tailrace.sql.translate import translate
from unit.sql.test_write import declarations

STREAMS = """\
name: flights
streams:
  departures:
    source: {format: parquet, path: in}
    event_time: scheduled
    id: flight
disorder: {policy: k_slack, k: 30 min}
"""
SECTIONS = STREAMS.replace("    id: flight\n", "    id: flight\n    key: [origin]\n") + (
    "kind: aggregate\nwindow: {size: 1 h, slide: 15 min}\n"
    "aggregate: {delay: {function: avg, column: minutes}, flights: {function: count}}\n"
)
SQL = """\
SELECT origin, avg(minutes) AS delay, count(*) AS flights
FROM HOP(TABLE departures, DESCRIPTOR(scheduled), INTERVAL '15' MINUTES, INTERVAL '1' HOUR)
GROUP BY window_start, window_end, origin
"""


def block(sql: str) -> str:
    return "sql: |\n" + "".join(f"  {line}\n" for line in sql.splitlines())


def files(directory: Path, sql: str = SQL, streams: str = STREAMS, name: str = "flights.sql") -> tuple[Path, Path]:
    (directory / name).write_text(sql)
    (directory / "streams.yaml").write_text(streams)
    return directory / name, directory / "streams.yaml"


def problems(*paths: Path) -> list[Problem]:
    with pytest.raises(Refused) as refused:
        load(*paths)
    assert refused.value.exit_code == 2
    return list(refused.value.problems)


@pytest.mark.parametrize("text", [block(SQL), f"sql: {' '.join(SQL.split())}\n", f"kind: aggregate\n{block(SQL)}"])
def test_sql_text_in_a_query_file_is_the_query_of_its_sections(tmp_path, text):
    for name, content in [("sections.yaml", SECTIONS), ("sql.yaml", STREAMS + text)]:
        (tmp_path / name).write_text(content)
    by_sections, by_sql = load(tmp_path / "sections.yaml"), load(tmp_path / "sql.yaml")
    assert by_sql == by_sections
    assert by_sql.structure() == by_sections.structure()


def test_sql_text_in_a_file_of_its_own_has_its_streams_in_another(tmp_path):
    (tmp_path / "sections.yaml").write_text(SECTIONS)
    assert load(*files(tmp_path)) == load(tmp_path / "sections.yaml")


def test_a_query_is_named_as_its_sql_file_unless_its_streams_file_names_it(tmp_path):
    nameless = STREAMS.replace("name: flights\n", "")
    assert load(*files(tmp_path, streams=nameless, name="delays.sql")).name == "delays"
    assert load(*files(tmp_path, name="delays.sql")).name == "flights"
    (problem,) = problems(*files(tmp_path, streams=nameless, name="Delays.sql"))
    assert problem.where == f"{tmp_path / 'streams.yaml'}:1: name"


def test_sql_text_is_refused_by_line_and_column_of_its_file(tmp_path):
    sql, streams = files(tmp_path, SQL.replace("DESCRIPTOR(scheduled)", "DESCRIPTOR(actual)"))
    (problem,) = problems(sql, streams)
    assert problem.where == f"{sql}:2:39"
    assert "another column" in problem.fault
    assert "scheduled" in problem.remedy


def test_sql_text_in_a_query_file_is_refused_by_its_line_there_too(tmp_path):
    path = tmp_path / "flights.yaml"
    wrong = SQL.replace("DESCRIPTOR(scheduled)", "DESCRIPTOR(actual)")
    path.write_text(STREAMS + block(wrong))
    (problem,) = problems(path)
    assert problem.where == f"{path}:10: sql, at 2:39"
    path.write_text(f"{STREAMS}sql: {' '.join(wrong.split())}\n")
    (problem,) = problems(path)
    assert problem.where == f"{path}:8: sql, at 1:97"


@pytest.mark.parametrize(
    ("old", "new", "place", "fault"),
    [
        ("AS delay", "AS Delay", "1:16", "aggregate.Delay: 'Delay' is no name of a column of answers"),
        ("AS delay", "AS tuples", "1:16", "aggregate.tuples: answers have a column tuples already"),
        ("'15' MINUTES", "'2' HOURS", "2:51", "window.slide: slide is longer than size"),
        ("avg(minutes)", "collect_list(minutes, 0)", "1:16", "aggregate.delay.limit: '0' does not fit"),
    ],
)
def test_what_the_sections_of_sql_text_refuse_has_its_place_in_the_text(tmp_path, old, new, place, fault):
    sql, streams = files(tmp_path, SQL.replace(old, new))
    (problem,) = problems(sql, streams)
    assert problem.where == f"{sql}:{place}"
    assert fault in problem.fault


def test_what_stands_beside_sql_text_is_refused_at_its_own_place(tmp_path):
    sql, streams = files(tmp_path, streams=STREAMS.replace("k: 30 min", "k: 30"))
    (problem,) = problems(sql, streams)
    assert problem.where == f"{streams}:7: disorder.k"
    (problem,) = problems(*files(tmp_path, streams=STREAMS.replace("id: flight", "id: flight\n    key: origin")))
    assert problem.where == f"{streams}:7: streams.departures.key"
    assert "sql says key already" in problem.fault


@pytest.mark.parametrize("text", ["sql:\n", "sql: ''\n", "sql: {a: b}\n", "sql: [SELECT]\n"])
def test_a_field_without_sql_text_is_refused(tmp_path, text):
    (tmp_path / "flights.yaml").write_text(STREAMS + text)
    (problem,) = problems(tmp_path / "flights.yaml")
    assert problem.where == f"{tmp_path / 'flights.yaml'}:8: sql"
    assert "SELECT" in problem.remedy


def test_each_sort_of_file_is_refused_where_the_other_one_belongs(tmp_path):
    sql, streams = files(tmp_path)
    assert "--streams STREAMS.yaml" in problems(sql)[0].remedy
    assert problems(streams, streams)[0].where == f"--streams {streams}"
    streams.write_text(STREAMS + block(SQL))
    (problem,) = problems(sql, streams)
    assert problem.where == f"{streams}:8: sql"
    assert f"stands beside {sql}" in problem.fault
    streams.unlink()
    assert problems(sql, streams)[0].where == str(streams)
    sql.write_bytes(b"SELECT '\xff'")
    assert problems(sql, streams)[0].where == f"{sql}:1"


def test_a_declared_query_has_both_forms(tmp_path):
    (tmp_path / "sections.yaml").write_text(SECTIONS)
    query = load(tmp_path / "sections.yaml")
    assert sections_of(query) == {
        "kind": "aggregate",
        "streams": {"departures": {"event_time": "scheduled", "id": "flight", "key": ["origin"]}},
        "window": {"size": "1 h", "slide": "15 min"},
        "aggregate": {"delay": {"function": "avg", "column": "minutes"}, "flights": {"function": "count"}},
    }
    assert load(*files(tmp_path, sql_of(query).sql)) == query


def test_what_with_names_has_both_forms(tmp_path):
    late = "SELECT *, minutes * 60 AS seconds FROM departures WHERE minutes > 5 OR origin = 'ABQ'"
    sql = SQL.replace("departures", "late").replace("avg(minutes)", "avg(seconds)")
    query = load(*files(tmp_path, f"WITH late AS ({late}) {sql}"))
    stream = sections_of(query)["streams"]["departures"]
    assert stream["columns"] == {"seconds": "minutes * 60"}
    assert stream["where"] == "minutes > 5 OR origin = 'ABQ'"
    written = sql_of(query)
    assert "WHERE minutes > 5 OR origin = 'ABQ'" in written.sql
    assert written.beside["streams"]["departures"]["columns"] == stream["columns"]


@drawn(150)
@given(declarations())
def test_generated_queries_are_equal_by_sql_text_and_by_sections(declaration: dict[str, Any]) -> None:
    stream = declaration["streams"]["events"]
    stream |= {"source": {"format": "json", "path": "in"}}
    try:
        query = declared_query({"name": "sales"} | declaration)
    except ValidationError:  # as of a window that is shorter than its slide
        assume(False)
    written = sql_of(query)
    assert written is not None
    own = written.beside["streams"]["events"]
    beside = written.beside | {"name": query.name, "disorder": declaration.get("disorder", {})}
    beside["streams"] = {"events": {"source": stream["source"]} | own}
    again = declared_query(translate(written.sql, beside).fields)
    assert again == query
    assert again.structure() == query.structure()


def test_an_approximate_count_has_its_own_function_in_sql_text(tmp_path):
    query = load(*files(tmp_path, SQL.replace("avg(minutes) AS delay", "approx_count_distinct(tail) AS planes")))
    assert query.aggregate.each["planes"].approximate
    assert "approx_count_distinct(tail) AS planes" in sql_of(query).sql
    assert load(*files(tmp_path, sql_of(query).sql)) == query


def test_the_method_of_a_top_k_stays_beside_its_text_and_a_join_has_none():
    stream = {"source": {"format": "json", "path": "in"}, "event_time": "at", "id": "id"}
    fields = {"name": "best", "kind": "topk", "streams": {"trades": stream}, "window": {"size": "1 s"}}
    for method, said in [("adaptive", {}), ("sma", {"method": "sma"})]:
        query = declared_query(fields | {"topk": {"k": 2, "score": "price", "method": method}})
        assert sections_of(query)["topk"] == {"k": 2, "score": "price", "order": "descending"} | said
        assert "WHERE rank <= 2" in sql_of(query).sql
    emd = {"threshold": 0.5, "histogram": "hist", "ground_distance": "line", "span": 1, "feedback": "1 s"}
    join = {"kind": "emd_join", "streams": {"left": stream, "right": stream}, "window": {"size": "1 s"}}
    assert sql_of(declared_query({"name": "pairs", **join, "emd_join": emd})) is None


def test_a_selected_column_by_a_name_of_answers_is_refused_at_its_place_in_the_text(tmp_path):
    number = "row_number() OVER (PARTITION BY window_start, window_end, origin ORDER BY minutes DESC) AS rank"
    source = "TUMBLE(TABLE departures, DESCRIPTOR(scheduled), INTERVAL '1' HOUR)"
    sql = f"SELECT * FROM (\n  SELECT SELECTED, {number}\n  FROM {source}) WHERE rank <= 3"
    query = load(*files(tmp_path, sql.replace("SELECTED", "tail, carrier AS line")))
    assert query.topk.select == ("tail", "line")
    assert load(*files(tmp_path, sql_of(query).sql, sql_of_beside(query))).topk == query.topk
    (problem,) = problems(*files(tmp_path, sql.replace("SELECTED", "tail, coverage")))
    assert problem.where.endswith("flights.sql:2:16"), "of the list the item that is wrong"
    assert problem.fault == "topk.select: answers have a column coverage already"
    assert problem.remedy == "coverage AS its_coverage"
    query = load(*files(tmp_path, sql.replace("SELECTED", f"tail, {problem.remedy}")))
    assert query.topk.select == ("tail", "its_coverage")
    (problem,) = problems(*files(tmp_path, sql.replace("SELECTED", "tail, carrier, `my tail`")))
    assert problem.where.endswith("flights.sql:2:25")
    assert problem.remedy == "`my tail` AS its_my_tail"
    query = load(*files(tmp_path, sql.replace("SELECTED", f"tail, {problem.remedy}")))
    assert query.topk.select == ("tail", "its_my_tail")


def test_a_key_by_a_name_of_answers_gets_another_name_in_the_words_of_sql_text(tmp_path):
    sql = SQL.replace("SELECT origin", "SELECT coverage").replace("window_end, origin", "window_end, coverage")
    (problem,) = problems(*files(tmp_path, sql))
    assert problem.fault == "streams.departures.key: answers have a column coverage already"
    name, _, _ = problem.remedy.partition(" in the list")
    query = load(*files(tmp_path, sql.replace("SELECT coverage", f"SELECT {name}")))
    assert query.key_names == ("its_coverage",)


def sql_of_beside(query) -> str:
    """The streams file of a query whose derived columns stand beside its text."""
    (stream,) = sql_of(query).beside.get("streams", {"": {}}).values()
    columns = "".join(f"      {name}: {text}\n" for name, text in stream.get("columns", {}).items())
    return STREAMS.replace(
        "    id: flight\n", f"    id: flight\n    columns:\n{columns}" if columns else "    id: flight\n"
    )


def test_a_condition_of_the_short_form_stands_in_sql_by_its_aggregate() -> None:
    section = {"function": "sum", "column": "v", "having": "value > 3 and sum(v) < 9 and count(*) > 1\n"}
    stream = {"source": {"format": "csv", "path": "in"}, "event_time": "at", "id": "id"}
    fields = {"name": "q", "kind": "aggregate", "streams": {"events": stream}, "window": "1 h"}
    query = declared_query(fields | {"aggregate": section})
    written = sql_of(query)
    assert written is not None
    assert written.sql.endswith("HAVING sum(v) > 3 and sum(v) < 9 and count(*) > 1")
