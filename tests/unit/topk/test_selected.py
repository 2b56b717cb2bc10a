"""`select` of top-k: which names are refused, and the values, which come out as they went in, of every type."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.oracle import Settings, Tuple, distinct, stream
from kit.oracles.rankings import contents, notes_of, ranked, rankings_of, streamed, uses_of
from kit.runs import harness
from kit.runs.harness import NOTES
from kit.runs.local_driver import Driver, correct_here
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, write_files
from tailrace.ground.errors import Refused, Unfit
from tailrace.query.loading import parse
from tailrace.sources.carried_columns import carried_type
from tailrace.storage.results import read_answers
from tailrace.stream.local_stream import run
from tailrace.topk.kind import TopK
from tailrace.topk.methods import METHODS
from tailrace.topk.selected import PREFIX, Payload, SelectedColumns
from tailrace.windows.sliding import Sliding

TIME = pa.timestamp("us", "UTC")
VALUES = {
    pa.bool_(): [True, False],
    pa.int8(): [-128, 127],
    pa.int16(): [-(2**15), 2**15 - 1],
    pa.int32(): [-(2**31), 2**31 - 1],
    pa.int64(): [-(2**63), 2**63 - 1, 2**53 + 1, 0],
    pa.float32(): [0.5, -0.0, math.inf],
    pa.float64(): [5e-324, -0.0, math.nan, 1.7976931348623157e308],
    pa.decimal128(38, 4): [Decimal("9" * 34 + ".9999"), Decimal("-0.0001")],
    pa.decimal128(5, 0): [Decimal(-99999)],
    pa.string(): ["", "a\0b", "é", "x" * 70_000],
    pa.date32(): [date(1, 1, 1), date(9999, 12, 31)],
    TIME: [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)],
}
BASE = """
name: best
kind: topk
streams:
  trades:
    source: {format: parquet, path: in}
    event_time: at
    id: trade
    key: [country]
window: 5 min
topk:
  k: 3
  score: price
  select: SELECT
"""


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@given(data=st.data())
def test_values_of_every_type_come_out_as_they_went_in(dtype: pa.DataType, data: st.DataObject) -> None:
    assert carried_type(str(dtype)) == dtype
    values = data.draw(st.lists(st.none() | st.sampled_from(VALUES[dtype]), max_size=6))
    columns = SelectedColumns({"x": dtype})
    column = pa.array(values, dtype)
    stored = columns.store(pa.RecordBatch.from_pydict({PREFIX + "x": column}))
    assert {name: each.type for name, each in stored.items()} == columns.stored
    through_numpy = {name: each.to_numpy(zero_copy_only=False) for name, each in stored.items()}
    rows = pa.RecordBatch.from_arrays(
        [pa.array(through_numpy[name], kind) for name, kind in columns.stored.items()], names=list(columns.stored)
    )
    restored = columns.restore(rows, "x")
    assert restored.type == dtype
    assert restored.null_count == column.null_count
    assert list(map(repr, restored.to_pylist())) == list(map(repr, column.to_pylist()))


def test_a_payload_has_no_part_in_an_order() -> None:
    one, other = Payload([1, None]), Payload(["a", 2])
    assert (1.0, "t", one) == (1.0, "t", other)
    assert not (1.0, "t", one) < (1.0, "t", other)
    assert (1.0, "s", other) < (1.0, "t", one)


@pytest.mark.parametrize(
    ("select", "fault", "remedy"),
    [
        ("[rank]", "answers have a column rank already", "columns: {its_rank: rank}"),
        (
            "[ID]",
            "answers have a column ID already",
            "leave it out: answers have id; another column ID by another name, as columns: {its_ID: ID}",
        ),
        ("[score]", "answers have a column score already", "by another name"),
        ("[key]", "answers have a column key already", "by another name"),
        ("[window_start]", "answers have a column window_start already", "by another name"),
        ("[tuples]", "answers have a column tuples already", "by another name"),
        ("[coverage]", "answers have a column coverage already", "by another name"),
        ("[Country]", "answers have a column Country already", "leave it out: answers have country; another"),
        ("[venue, Venue]", "answers have a column Venue already", "each column once"),
        ("[a b]", "tables have no column 'a b', for ' ' in its name", "another name"),
        ("['']", "has no value", "venue"),
        ("venue", "'venue'", "[venue, price]"),
    ],
)
def test_a_name_that_answers_have_already_is_refused_with_its_line(select: str, fault: str, remedy: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(Path("best.yaml"), BASE.replace("SELECT", select))
    (problem,) = refused.value.problems
    assert problem.where.startswith("best.yaml:14: topk.select")
    assert fault in problem.fault
    assert remedy in problem.remedy


def test_any_other_column_is_selected() -> None:
    query = parse(Path("best.yaml"), BASE.replace("SELECT", "[venue, price, at, trade, time, rows]"))
    assert query.topk.select == ("venue", "price", "at", "trade", "time", "rows")
    assert parse(Path("best.yaml"), BASE.replace("  select: SELECT\n", "")).topk.select == ()


TUPLES = make_stream(400, seed=5, duplicates=20)
SETTINGS = Settings(700, 300, 100, "median", "none")
K = 3
DERIVED = {
    "exact": "cast(value * 1000 as decimal(20, 3))",
    "whole": "if(value > 20, cast(value as int), null)",
    "time": "timestamp_millis(unix_millis(event_time) + 1)",
}
TYPES = {"value": pa.float64(), "exact": pa.decimal128(20, 3), "whole": pa.int32(), "time": TIME}


def of_tuple(item) -> dict[str, object]:
    return {
        "value": item.value,
        "exact": Decimal(str(item.value)).quantize(Decimal("0.001")) * 1000,
        "whole": int(item.value) if item.value > 20 else None,
        "time": datetime.fromtimestamp(item.event_time / 1000, UTC).replace(microsecond=0)
        + (np.timedelta64(item.event_time % 1000 + 1, "ms").astype(object)),
    }


@pytest.mark.needs("long")
@pytest.mark.parametrize("method", ["adaptive", "list", "sma", "mintopk", "gstopk"])
def test_selected_columns_are_those_of_the_tuples_streamed_and_corrected(tmp_path: Path, method: str) -> None:
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 3))
    topk = {"k": K, "score": "value", "method": method, "select": [*TYPES]}
    query = make_query(tmp_path / "in", SETTINGS, topk=topk, columns=DERIVED)
    driver = Driver(query, tmp_path / "wh")
    driver.run(batch_rows=90, flush=True)
    of_id: dict[object, list[dict]] = {}
    for item in TUPLES:
        of_id.setdefault(item.id, []).append(of_tuple(item))
    answers, columns = read_answers(query, tmp_path / "wh", True)
    assert columns[3:-4] == ["rank", "id", "score", *TYPES]
    assert {name: answers.schema.field(name).type for name in TYPES} == TYPES
    for row in answers.to_pylist():
        assert {name: row[name] for name in TYPES} in of_id[row["id"]]
    if method in ("adaptive", "list", "gstopk"):
        assert rankings_of(answers.to_pylist()) == streamed(stream(TUPLES, SETTINGS), TUPLES, SETTINGS, K)
    correct_here(query, tmp_path / "wh")
    corrected = read_answers(query, tmp_path / "wh", False)[0].to_pylist()
    firsts = distinct(TUPLES, SETTINGS.tick)
    assert rankings_of(corrected) == ranked(contents(firsts, SETTINGS), K)
    first_of = {item.id: of_tuple(item) for item in firsts}
    assert all({name: row[name] for name in TYPES} == first_of[row["id"]] for row in corrected)


@pytest.mark.parametrize(
    ("name", "fault"),
    [("nothing", "no column 'nothing', which topk.select.1 reads"), ("list", "int64>, but topk.select.1 reads it")],
)
def test_a_column_that_is_not_there_or_that_answers_cannot_have_is_refused(
    tmp_path: Path, name: str, fault: str
) -> None:
    (tmp_path / "in").mkdir()
    table = pa.table({"at": [EPOCH], "trade": ["a"], "country": ["DE"], "price": [1.0], "list": [[1]]})
    pq.write_table(table, tmp_path / "in" / "0.parquet")
    query = parse(tmp_path / "best.yaml", BASE.replace("SELECT", f"[price, {name}]"))
    with pytest.raises(Unfit, match=fault):
        run(query, tmp_path / "wh")
    assert not (tmp_path / "wh").exists()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cut", [[], [1], [1, 2]])
def test_of_repeats_in_a_tick_the_first_stays_however_the_tick_is_cut(method: str, cut: list[int]) -> None:
    tuples = [Tuple(EPOCH - 40 + later, EPOCH + later, "t", None, 1.0) for later in range(3)]
    query = Settings(100, 100, 100, "median")
    windows = Sliding(query.size, query.slide)
    kind = TopK(windows, uses_of(*NOTES), pa.string(), k=1, descending=True, method=method, selected=NOTES)
    (row,) = harness.run(tuples, query, cut, kind=kind)["results"]
    assert {name: row[name] for name in NOTES} == notes_of(tuples[0])


@pytest.mark.parametrize("where", ["", "where: price > 0"])
@pytest.mark.parametrize(("derived", "select"), [("", "price"), ("columns: {m: price + 0}", "m")])
@pytest.mark.parametrize("format_name", ["csv", "json"])
def test_the_column_of_the_score_is_selected_in_its_own_type_from_text(
    tmp_path: Path, format_name: str, derived: str, select: str, where: str
) -> None:
    big = 2**53 + 1  # no double
    rows = [(f"t{number}", 10**12 + number, big + 2 * number, "de") for number in range(3)]
    names = ("trade", "at", "price", "country")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    if format_name == "csv":
        lines = [",".join(map(str, row)) for row in [names, *rows]]
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / ("a.csv" if format_name == "csv" else "a.jsonl")
    file.write_text("\n".join(lines) + "\n")
    text = BASE.replace("parquet, path: in", f"{format_name}, path: {tmp_path / 'in'}")
    fields = "".join(f"    {field}\n" for field in (derived, where) if field)
    text = text.replace("window: 5 min", f"{fields}window: 5 min").replace("SELECT", f"[{select}]")
    query = parse(tmp_path / "q.yaml", text)
    Driver(query, tmp_path / "wh").run(flush=True)
    answers, _ = read_answers(query, tmp_path / "wh", True)
    assert answers.schema.field(select).type == pa.int64()
    assert sorted(answers[select].to_pylist()) == [row[2] for row in rows]
    assert answers["score"].to_pylist() == sorted((row[2] for row in rows), reverse=True)


def test_a_query_without_selection_carries_the_score_alone(tmp_path: Path) -> None:
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 3))
    driver = Driver(make_query(tmp_path / "in", SETTINGS, topk={"k": K, "score": "value"}), tmp_path / "wh")
    driver.run(flush=True)
    kind = driver.pipeline.kind
    assert kind.summary.types.keys() == {"tuples", "score", "id"}
    assert kind.inputs[0].carried == {"score": "value"}
