"""With `columns` and `where` a stream is answered as if its records came derived, and those left out as ghosts.

A ghost is a tuple of a key of its own, whose answers nobody looks at: it moves ticks, t_max and the policies, as a
filtered record does.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from kit.draws.join_queries import CONTENT, query_over
from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import Settings, Tuple, batch, stream
from kit.oracles.oracle_assertions import assert_close
from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver, correct_here
from kit.runs.warehouse import make_query, tables_of
from kit.suite.examples import drawn
from tailrace.answers.by_window import ByWindow
from tailrace.query.query import Query
from tailrace.storage.results import AnswerTables
from tailrace.windows.sliding import Sliding

GHOST = "\x01"
FEW = drawn(15)

VALUES = {
    "raw * 2": lambda item: item.value * 2,
    "raw / 4": lambda item: item.value / 4,
    "coalesce(nullif(raw, 0), 1)": lambda item: item.value or 1.0,
    "case when raw > 0 then raw else -raw end": lambda item: item.value if item.value > 0 else -item.value,
    "value": lambda item: item.value,
}
"""Expressions over the source's columns, and what each gives in Python."""

CONDITIONS = {
    "true": lambda item: True,
    "false": lambda item: False,
    "raw > 0": lambda item: item.value > 0,
    "name rlike '[02468]$'": lambda item: int(item.id[1:]) % 2 == 0,
    "label in ('a', 'k1', '') or raw < -10": lambda item: item.key in ("a", "k1", "") or item.value < -10,
    "if(raw = 0, null, raw > -50)": lambda item: item.value != 0 and item.value > -50,
    "moment % 3 = 0": lambda item: item.event_time % 3 == 0,
}

SHAPES = st.tuples(st.sampled_from(sorted(VALUES)), st.sampled_from(sorted(CONDITIONS)), st.booleans())


def labelled(case) -> tuple[list[Tuple], Settings]:
    tuples, query = case
    return [item._replace(key="all" if item.key is None else item.key) for item in tuples], replace(query, skew=60_000)


def raw_table(tuples) -> pa.Table:
    return pa.table(
        {
            "moment": pa.array([item.event_time for item in tuples], pa.int64()),
            "arrival_time": pa.array([item.arrival_time for item in tuples], pa.int64()),
            "name": pa.array([item.id for item in tuples], pa.string()),
            "label": pa.array([item.key for item in tuples], pa.string()),
            "raw": pa.array([item.value for item in tuples], pa.float64()),
            "value": pa.array([item.value for item in tuples], pa.float64()),
        }
    )


def query_of(path: Path, query: Settings, shape, **more: object) -> Query:
    value, condition, times = shape
    columns = {"id": "concat('', name)", "key": "substring(concat('p-', label), 3)"}
    columns |= {"value": value, "event_time": "timestamp_millis(moment)" if times else "moment + 0"}
    columns |= {"nobody_needs_it": "1 div 0"}
    stream_fields = {"columns": columns, "where": condition, "bounds": {"ahead": "1 d"}}
    return make_query(path, query, **stream_fields, **more)


def ghosts_of(tuples, shape) -> list[Tuple]:
    """The tuples as the query derives them; a record that it leaves out has the key of ghosts."""
    value, condition, _ = shape
    return [
        item._replace(value=VALUES[value](item), key=item.key if CONDITIONS[condition](item) else GHOST)
        for item in tuples
    ]


def streamed(query: Query, tables: dict[str, pa.Table], at=()) -> dict[str, list[dict]]:
    formats = {name: MemoryFormat({name: table}) for name, table in tables.items()}
    engine, rows = LocalEngine(pipeline_in_memory(query, formats)), {}
    segments = [segment for name in tables for segment in formats[name].segments(name, at)]
    for number, segment in enumerate(segments):
        segments[number] = replace(segment, ordinal=number)
    segments.sort(key=lambda segment: segment.position)
    segments = [replace(segment, ordinal=number) for number, segment in enumerate(segments)]
    for number, segment in enumerate(segments or [None]):
        ends = number >= len(segments) - 1
        batch_ = engine.batch(query.policy, [] if segment is None else [segment], closes=ends, ends=ends)
        for name, part in batch_.items():
            rows.setdefault(name, []).extend(part.to_pylist())
    return rows


@drawn(150)
@given(st.data(), disordered(min_tuples=1), SHAPES)
def test_a_stream_is_answered_as_its_derived_and_filtered_records_are(data, case, shape):
    tuples, query = labelled(case)
    at = data.draw(cuts(len(tuples)), label="cuts")
    rows = streamed(query_of(Path("in"), query, shape), {"readings": raw_table(tuples)}, at)
    ghosts = ghosts_of(tuples, shape)
    outcome = stream(ghosts, query)
    expected = {window: answer for window, answer in outcome.answers.items() if window[0] != GHOST}
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows.get("results", [])}
    assert found.keys() == expected.keys()
    for window, answer in expected.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (answer.tuples, answer.as_of)
        assert_close(found[window]["value"], answer.value, answer.sum_abs)
    late = sum(each.tuple.key != GHOST for each in outcome.late_tuples)
    assert sum(row["tuples"] for row in rows.get("late", [])) == late
    last, tick = rows["metrics"][-1], outcome.trace[-1]
    assert (last["t_max"], last["k_ms"], last["committed"]) == (tick.t_max, tick.k_ms, outcome.committed)
    left_out = sum(item.key == GHOST for item in ghosts)
    for counts in (rows["segments"], rows["metrics"]):
        assert sum(row["filtered"] for row in counts) == left_out
    assert all(row["rows"] == row["accepted"] + row["filtered"] + row["quarantined"] for row in rows["segments"])
    assert "quarantine" not in rows


@FEW
@given(
    st.data(), disordered(min_tuples=3, max_tuples=25, duplicates=True), SHAPES, st.sampled_from(["parquet", "json"])
)
def test_after_a_correction_answers_are_those_of_the_batch(tmp_path_factory, data, case, shape, source):
    tuples, query = labelled(case)
    directory = tmp_path_factory.mktemp("expressions")
    at = data.draw(cuts(len(tuples), 2), label="files")
    (directory / "in").mkdir()
    for number, (start, end) in enumerate(zip([0, *at], [*at, len(tuples)], strict=True)):
        table = raw_table(tuples[start:end])
        if source == "json":
            write_json(table.to_pylist(), directory / "in", number)
        else:
            pq.write_table(table, directory / "in" / f"part-{number}.parquet")
    driver = Driver(query_of(directory / "in", query, shape, source=source), directory / "wh")
    driver.run(data.draw(st.sampled_from([3, 7, 100]), label="rows of a batch"))
    driver.run(flush=True)
    correct_here(driver.query, directory / "wh")
    kept = [item for item in ghosts_of(tuples, shape) if item.key != GHOST]
    true = batch(kept, query)
    answers = AnswerTables(tables_of(directory / "wh"), ByWindow(Sliding(query.size, query.slide))).latest()
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in answers.to_pylist()}
    assert found.keys() == true.keys()
    for window, truth in true.items():
        assert found[window]["tuples"] == truth.tuples
        assert_close(found[window]["value"], truth.value, truth.sum_abs)


ITEMS = st.lists(st.tuples(st.integers(0, 900), st.sampled_from("abc"), st.booleans()), max_size=12)


@drawn(40)
@given(ITEMS, ITEMS, st.sampled_from(sorted(CONTENT)))
def test_a_join_of_filtered_streams_gives_the_pairs_of_those_that_are_kept(left, right, kind):
    """The others of the reference have a content that is like none, so that they move its clock and match nothing."""
    epoch = 1_577_836_800_000
    far = {"emd_join": [0.0, 7.0, 0.0, 0.0], "spatial_join": "POINT (0.1 3.9)"}[kind]
    value_type = pa.list_(pa.float64()) if kind == "emd_join" else pa.string()
    found = []
    for is_filtered in (True, False):
        tables = {}
        for side, items in (("left", left), ("right", right)):
            content = [CONTENT[kind][letter] if is_filtered or kept else far for _, letter, kept in items]
            tables[side] = pa.table(
                {
                    "at": pa.array(
                        [epoch + 37 * number - delay for number, (delay, *_) in enumerate(items)], pa.int64()
                    ),
                    "arrival_time": pa.array([epoch + 37 * number for number in range(len(items))], pa.int64()),
                    "id": pa.array([f"{side}{number}" for number in range(len(items))], pa.string()),
                    "content": pa.array(content, value_type),
                    "is_kept": pa.array([kept for *_, kept in items], pa.bool_()),
                }
            )
        query = query_over(Path("in"), kind, 2)
        columns = {"event_time": "timestamp_millis(at)", "value": "content"}
        where = "is_kept" if is_filtered else None
        streams = {
            side: each.model_copy(update={"columns": columns, "where": where, "arrival_time": "arrival_time"})
            for side, each in query.streams.items()
        }
        rows = streamed(query.model_copy(update={"streams": streams}), tables)
        pairs = {(row["left_id"], row["right_id"]): row["as_of"] for row in rows.get("results", [])}
        kept = {
            f"{side}{n}"
            for side, items in (("left", left), ("right", right))
            for n, item in enumerate(items)
            if item[2]
        }
        found.append({pair: as_of for pair, as_of in pairs.items() if set(pair) <= kept})
        assert not is_filtered or pairs == found[-1]
    assert found[0] == found[1]
