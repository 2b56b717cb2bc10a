"""Scores in their own type: from files to readers, in the formats without types."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.oracles.oracle import Settings, distinct, stream
from kit.oracles.rankings import SCORES, contents, ranked, rankings_of, streamed, with_scores
from kit.runs.local_driver import correct_here
from kit.runs.warehouse import even, make_query, make_stream, rows_of, tables_of, write_files
from tailrace.answers.by_window import ByWindow
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.stream_records import StreamRecords
from tailrace.query.declared import declared_query
from tailrace.query.loading import load
from tailrace.sources.formats.registry import settled_types
from tailrace.sources.segments import NULL
from tailrace.storage.layout import Layout
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions
from tailrace.topk.best import Scores, contenders
from tailrace.windows.sliding import Sliding

SETTINGS = Settings(700, 300, 100, "median", ("k_slack", 200))
NEIGHBOURS = [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, 2**53 - 1]
BEST_3 = [(4, 2**53 + 3), (3, 2**53 + 2), (2, 2**53 + 1)]
SQL = """
SELECT * FROM (
  SELECT id, v, row_number() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) AS rank
  FROM TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE rank <= 3
"""


def fields(source: str, tmp_path, **stream: object) -> dict:
    declared = {"source": {"format": source, "path": str(tmp_path / "in")}, "event_time": "ts", "id": "id"}
    return {
        "name": "q",
        "streams": {"s": declared | {"arrival_time": "at"} | stream},
        "disorder": {"policy": "k_slack", "k": "0 s"},
    }


def topk(source: str, tmp_path, **section: object):
    own = {"kind": "topk", "window": "1 min", "topk": {"k": 3, "score": "v"} | section}
    return declared_query(fields(source, tmp_path) | own)


def write(tmp_path, source: str, scores: list, dtype: pa.DataType | None = None) -> None:
    """Records of a minute, with ids from 1 on."""
    (tmp_path / "in").mkdir(parents=True)
    start = 1_700_000_000_000
    rows = [{"id": n, "ts": start + n, "at": start + n, "v": score} for n, score in enumerate(scores, 1)]
    if source == "parquet":
        table = pa.Table.from_pylist(rows)
        table = table if dtype is None else table.set_column(3, "v", pa.array(scores, dtype))
        pq.write_table(table, tmp_path / "in" / "a.parquet")
    elif source == "json":
        (tmp_path / "in" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with (tmp_path / "in" / "a.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "ts", "at", "v"])
            writer.writeheader()
            writer.writerows(rows)


def answers_of(query, tmp_path, as_streamed: bool = False) -> list[tuple]:
    answers, _ = read_answers(query, tmp_path / "wh", as_streamed)
    return [(int(row["id"]), row["score"]) for row in answers.sort_by("rank").to_pylist()]


def faults_of(tmp_path) -> list[str]:
    tables = Tables(Layout.for_query(tmp_path / "wh", "q"))
    return tables.read("quarantine", ["reason"])["reason"].to_pylist() if tables.has("quarantine") else []


def test_integers_beyond_2_53_are_ranked_as_duckdb_does(tmp_path):
    write(tmp_path, "parquet", NEIGHBOURS)
    query = topk("parquet", tmp_path, select=["v"])
    run(query, tmp_path / "wh")
    assert answers_of(query, tmp_path, as_streamed=True) == BEST_3
    correct_here(query, tmp_path / "wh")
    assert answers_of(query, tmp_path) == BEST_3
    assert Tables(Layout.for_query(tmp_path / "wh", "q")).schema("results").field("score").type == pa.int64()


def test_so_does_sql(tmp_path):
    write(tmp_path, "parquet", NEIGHBOURS)
    (tmp_path / "q.sql").write_text(SQL)
    (tmp_path / "streams.yaml").write_text(json.dumps(fields("parquet", tmp_path)))
    query = load(tmp_path / "q.sql", tmp_path / "streams.yaml")
    run(query, tmp_path / "wh")
    assert answers_of(query, tmp_path) == BEST_3


@pytest.mark.parametrize("source", ["json", "csv"])
@pytest.mark.parametrize(
    ("scores", "found"),
    [
        (NEIGHBOURS, BEST_3),
        ([1, 3, 2], [(2, 3.0), (3, 2.0), (1, 1.0)]),
        ([1, 3.5, 2], [(2, 3.5), (3, 2.0), (1, 1.0)]),
        ([1, 3, "none", 2], [(2, 3.0), (4, 2.0), (1, 1.0)]),
    ],
    ids=["beyond doubles", "small integers are doubles, as later ones may be", "doubles", "a text among numbers"],
)
def test_in_formats_without_types_scores_are_numbers(tmp_path, source, scores, found):
    write(tmp_path, source, scores)
    query = topk(source, tmp_path)
    run(query, tmp_path / "wh")
    answers = answers_of(query, tmp_path)
    assert answers == found
    assert [type(score) for _, score in answers] == [type(score) for _, score in found]
    assert len(faults_of(tmp_path)) == ("none" in scores)


def test_a_record_without_a_score_or_with_one_that_is_not_finite_is_rejected(tmp_path):
    write(tmp_path, "parquet", [None, float("nan"), float("inf"), -0.0, 0.0], pa.float64())
    query = topk("parquet", tmp_path)
    run(query, tmp_path / "wh")
    assert sorted(faults_of(tmp_path)) == ["v is NaN", "v is infinite", "v is null"]
    assert answers_of(query, tmp_path) == [(4, 0.0), (5, 0.0)], "equal ones are in the order of ids"


@pytest.mark.parametrize("dtype", [pa.int64(), pa.string(), pa.decimal128(38, 0), pa.date32()])
def test_a_null_score_of_any_type_is_rejected(tmp_path, dtype):
    write(tmp_path, "parquet", [None], dtype)
    (tmp_path / "in" / "a.parquet").rename(tmp_path / "b.parquet")
    value = pa.array([1]).cast(pa.int32() if dtype == pa.date32() else pa.int64()).cast(dtype)
    table = pq.read_table(tmp_path / "b.parquet")
    other = table.set_column(3, "v", value).set_column(0, "id", pa.array([2]))
    pq.write_table(pa.concat_tables([table, other]), tmp_path / "in" / "a.parquet")
    query = topk("parquet", tmp_path)
    run(query, tmp_path / "wh")
    assert faults_of(tmp_path) == ["v is null"]
    assert answers_of(query, tmp_path) == [(2, value[0].as_py())]


def test_scores_that_are_null_throughout_have_no_type_yet(tmp_path):
    write(tmp_path, "parquet", [None])
    columns = CompiledQuery.declare(topk("parquet", tmp_path)).sources["s"]
    types = dict.fromkeys(("id", "ts", "at"), "int64")
    assert settled_types(types | {"v": NULL}, columns, lambda: None) == {}
    assert settled_types(types | {"v": "int64"}, columns, lambda: None)["v"] == "int64"


@pytest.mark.parametrize(("source", "dtype"), [("uint64", pa.decimal128(20, 0)), ("float", pa.float64())])
def test_records_for_later_versions_of_a_lookup_hold_scores_as_tuples_do(tmp_path, source, dtype):
    columns = CompiledQuery.declare(topk("parquet", tmp_path)).sources["s"]
    records = StreamRecords.from_columns(columns, dict.fromkeys(("id", "ts", "at"), "int64") | {"v": source})
    assert records.value_types["source_v"] == dtype
    assert not records.read.numbers, "it is carried along, and ranks nothing"


@pytest.mark.parametrize("name", ["int64", "uint64", "decimal of 38 digits", "text", "timestamp", "date"])
def test_scores_are_streamed_and_corrected_in_their_own_type(tmp_path, name):
    tuples = with_scores(make_stream(300, seed=5, duplicates=15), name)
    write_files(tuples, tmp_path / "in", even(len(tuples), 5), values=SCORES[name][0])
    query = make_query(tmp_path / "in", SETTINGS, topk={"k": 3, "score": "value"})
    run(query, tmp_path / "wh", RunOptions(96))
    numbers = [item._replace(value=0.0) for item in tuples]
    found = rankings_of(rows_of(tmp_path / "wh")["results"])
    assert found == streamed(stream(numbers, SETTINGS), tuples, SETTINGS, 3)
    true = ranked(contents(distinct(tuples, SETTINGS.tick), SETTINGS), 3)
    assert found != true
    correct_here(query, tmp_path / "wh")
    model = ByWindow(Sliding(SETTINGS.size, SETTINGS.slide), ("rank",))
    assert rankings_of(AnswerTables(tables_of(tmp_path / "wh"), model).latest().to_pylist()) == true


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("name", SCORES)
def test_stored_scores_and_their_sort_keys_give_them_back(name, descending):
    dtype = SCORES[name][0]
    column = pa.array(SCORES[name][1], dtype)
    if name == "uint64":
        column = column.cast(pa.decimal128(20, 0))
    scores = Scores(column.type, descending)
    rows = scores.store(column)
    assert rows.type == scores.stored
    assert scores.restore(rows).to_pylist() == column.to_pylist()
    stored = rows.to_numpy(zero_copy_only=False)
    keys = scores.sort_keys(stored)
    kept = [scores.restored_key(each) for each in pa.array(map(scores.stored_key, keys), scores.stored).to_pylist()]
    assert kept == keys
    assert [scores.score(key) for key in kept] == stored.tolist()
    values = column.to_pylist()
    expected = [values[index] for index in sorted(range(len(values)), key=values.__getitem__, reverse=descending)]
    for numbers in (scores.worse(stored), scores.worse_of(column)):
        assert [values[index] for index in np.argsort(numbers, kind="stable")] == expected
    assert [values[index] for index in sorted(range(len(values)), key=keys.__getitem__)] == expected


def test_the_greatest_integer_of_a_group_without_a_bound_is_a_contender():
    """The bound of a group that has no k rows yet is the greatest integer, too."""
    group = np.repeat([0, 1], [400, 4600])
    worse = np.repeat([0, np.iinfo(np.int64).max], [400, 4600])
    places = contenders(group, worse, 5, np.arange(5000)[::-1].__getitem__)
    assert {4995, 4996, 4997, 4998, 4999} <= set(places.tolist())
