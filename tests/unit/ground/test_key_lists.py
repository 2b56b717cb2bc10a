"""Lists of keys as one text: against Python's own JSON, value by value, and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.ground.arrow.key_lists import canonical_key, key_columns, key_texts

SOME = drawn(100)
ODD = [
    "",
    '"',
    "\\",
    ",",
    '","',
    "[",
    "a\0b",
    "\n\t\x1f\x7f",
    "\u2028",
    "clé",
    "🎲",
    "a" * 5_000,
    "null",
    "1",
    "DE",
    "web",
]
TYPES = {"int": pa.int64(), "text": pa.string(), "bool": pa.bool_()}
TIMES = {"day": pa.date32(), "time": pa.timestamp("us", "UTC")}

texts = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
integers = st.one_of(st.sampled_from([0, -1, 2**53 + 1, -(2**63), 2**63 - 1]), st.integers(-3, 3))
VALUES = {"int": integers, "text": texts, "bool": st.booleans()}
shapes = st.lists(st.sampled_from([*TYPES]), min_size=1, max_size=3)


def rows_of(shape: list[str]) -> st.SearchStrategy[list[tuple]]:
    return st.lists(st.tuples(*(st.none() | VALUES[part] for part in shape)), max_size=12)


def columns_of(rows: list[tuple], shape: list[str], coded: list[bool]) -> list[pa.Array]:
    columns = [pa.array([row[i] for row in rows], TYPES[part]) for i, part in enumerate(shape)]
    return [
        column.dictionary_encode(null_encoding="encode") if code else column
        for column, code in zip(columns, coded, strict=True)
    ]


@SOME
@given(st.data(), shapes)
def test_a_text_is_the_json_of_its_values_and_reads_back(data, shape: list[str]) -> None:
    rows = data.draw(rows_of(shape))
    coded = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    keys = key_texts(columns_of(rows, shape, coded))
    decoded = keys.dictionary_decode()
    assert decoded.to_pylist() == [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    assert len(set(keys.dictionary.to_pylist())) == len(keys.dictionary) == len(set(rows))
    for form in (decoded, pa.chunked_array([decoded, decoded[:0]]), keys):
        types = {place: TYPES[shape[place]] for place in reversed(range(len(shape)))}
        for place, column in zip(types, key_columns(form, types), strict=True):
            assert column.to_pylist() == [row[place] for row in rows]


@SOME
@given(st.data(), shapes)
def test_any_way_to_write_a_key_names_the_same_one(data, shape: list[str]) -> None:
    (row,) = data.draw(rows_of(shape).filter(bool))[:1]
    for text in (json.dumps(row), json.dumps(row, indent=1), json.dumps(row, ensure_ascii=False)):
        assert canonical_key(text, len(shape)) == json.dumps(row, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    "text",
    [
        "DE",
        "[",
        '["DE"]',
        '["DE","web",1]',
        '{"a":1,"b":2}',
        "5",
        '[1.5,"web"]',
        '[{},"web"]',
        "[9223372036854775808,1]",
        '["\\ud800",1]',
    ],
)
def test_what_is_no_list_of_such_values_is_no_key(text: str) -> None:
    assert canonical_key(text, 2) is None


@pytest.mark.parametrize("part", [*TIMES])
def test_dates_and_times_are_texts_that_read_back(part: str) -> None:
    firsts = [datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), None]
    values = [*firsts, datetime(9999, 12, 31, 23, 59, 59, 1, UTC), firsts[0]]
    column = pa.array(values, TIMES["time"]).cast(TIMES[part], safe=False)
    keys = key_texts([column, pa.array(range(5))])
    assert keys.dictionary_decode()[2].as_py() == "[null,2]"
    written = {"day": "1969-12-31", "time": "1969-12-31T23:59:59.999999Z"}[part]
    assert keys.dictionary_decode()[1].as_py() == f'["{written}",1]'
    assert key_columns(keys.dictionary_decode(), {0: TIMES[part]})[0].equals(column)


def test_a_null_is_no_empty_text_no_text_null_and_no_zero() -> None:
    texts_of = key_texts([pa.array(["", None, "null", "0"]), pa.array([0, None, 0, None])]).dictionary_decode()
    assert texts_of.to_pylist() == ['["",0]', "[null,null]", '["null",0]', '["0",null]']


def test_many_combinations_are_numbered_as_few_are() -> None:
    number = np.random.default_rng(0).permutation(50_000)
    keys = key_texts([pa.array(number), pa.array(number[::-1].astype(str))])
    assert len(keys.dictionary) == 50_000
    assert keys.dictionary_decode()[7].as_py() == f'[{number[7]},"{number[-8]}"]'
