"""Queries with a list of keys, against the oracle, for which such a key is one text; and the columns of answers."""

from __future__ import annotations

import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import Settings, Tuple, latest, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.oracles.rankings import rankings_of, streamed, uses_of
from kit.runs.harness import run
from kit.runs.memory_tables import MemoryTables
from kit.suite.examples import drawn
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding

SOME = drawn(60)
TEXTS = ["", '"', "\\", ",", '","', "a\0b", "\n\x1f", "\u2028", "clé", "🎲", "x" * 3_000, "1", "null"]
INTEGERS = [0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
KEYS = {"country": pa.string(), "platform": pa.string(), "code": pa.int64()}


@st.composite
def cases(draw: st.DrawFn, **how: object) -> tuple[list[Tuple], Settings, dict[str, pa.DataType]]:
    """A stream whose keys are lists of one to three values, of which the oracle has the JSON text."""
    tuples, query = draw(disordered(**how))
    names = draw(st.lists(st.sampled_from(list(KEYS)), min_size=1, max_size=3, unique=True))
    values = [st.sampled_from(INTEGERS if name == "code" else TEXTS) for name in names]
    lists = draw(st.lists(st.tuples(*values), min_size=1, max_size=5, unique=True))
    texts = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in lists]
    places = draw(st.lists(st.integers(0, len(lists) - 1), min_size=len(tuples), max_size=len(tuples)))
    keyed = [item._replace(key=texts[place]) for item, place in zip(tuples, places, strict=True)]
    return keyed, query, {name: KEYS[name] for name in names}


def assert_named(rows: list[dict], keys: dict[str, pa.DataType]) -> None:
    for row in rows:
        assert [row[name] for name in keys] == json.loads(row["key"])


@SOME
@given(st.data(), cases(min_tuples=1), st.integers(1, 3))
def test_answers_of_lists_are_those_of_their_texts_on_any_cut(data, case, tasks: int) -> None:
    tuples, query, keys = case
    rows = run(tuples, query, cuts=data.draw(cuts(len(tuples)), label="cuts"), tasks=tasks, keys=keys)
    assert_named(rows.get("results", []), keys)
    plain = [{name: value for name, value in row.items() if name not in keys} for row in rows.get("results", [])]
    assert_streamed(rows | ({"results": plain} if plain else {}), stream(tuples, query))


@SOME
@given(st.data(), cases(min_tuples=1, duplicates=True))
def test_corrected_answers_have_the_columns_too(data, case) -> None:
    tuples, query, keys = case
    outcome = stream(tuples, query)
    ends = [tick.end for tick in outcome.trace]
    tables = MemoryTables(tuples, query, data.draw(cuts(len(tuples)), label="cuts"), keys=keys)
    a, b = min(ends) - max(query.tick, 1), ends[-1]
    assert_named(tables.correct(a, b).to_pylist(), keys)
    expected, found = latest(outcome, tuples, query, [(a, b)]), tables.latest()
    assert found.keys() == expected.keys()
    for window, version in expected.items():
        assert found[window]["tuples"] == version.tuples
        assert_close(found[window]["value"], version.value, version.sum_abs)


@SOME
@given(st.data(), cases(functions=["median"]), st.integers(1, 3))
def test_rankings_by_lists_of_keys(data, case, k: int) -> None:
    tuples, query, keys = case
    windows = Sliding(query.size, query.slide)
    kind = TopK(windows, uses_of(), pa.string(), keys=keys, k=k, descending=True)
    rows = run(tuples, query, data.draw(cuts(len(tuples)), label="cuts"), kind=kind, keys=keys).get("results", [])
    assert_named(rows, keys)
    assert rankings_of(rows) == streamed(stream(tuples, query), tuples, query, k)
