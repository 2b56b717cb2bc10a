"""Rows of a table by key and validity: held to a loop over all rows, over drawn tables and records."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.sources.lookup.key_index import NO_ROW, KeyIndex, meets
from tailrace.sources.lookup.valid_times import ValidTimes

TWENTY_YEARS = 20 * 365 * 86_400_000
_ALWAYS = np.iinfo(np.int64)
_numbers = st.none() | st.integers(0, 3)
_texts = st.none() | st.sampled_from(["", "0", "1", "01", "x"])
_times = st.sampled_from([-TWENTY_YEARS, 0, 1, 5, 9, 10, TWENTY_YEARS])


def meet(value: int | str | None, other: int | str | None) -> bool:
    """Compare one value with another: an integer and a text by the digits of the integer."""
    return value is not None and other is not None and str(value) == str(other)


@given(st.data(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_each_record_meets_the_row_that_a_loop_finds(data, first_is_text, second_is_text, has_two, is_dictionary):
    of_table = st.tuples(_numbers, _texts if second_is_text else _numbers)
    of_records = st.tuples(_texts if first_is_text else _numbers, _numbers)
    rows = data.draw(st.lists(st.tuples(of_table, _times, _times), max_size=12))
    records = data.draw(st.lists(st.tuples(of_records, _times), min_size=1, max_size=12))
    width = 1 + has_two

    def found(record: tuple[tuple[int | str | None, ...], int]) -> list[int]:
        (key, at) = record
        return [
            number
            for number, (of_row, start, end) in enumerate(rows)
            if start <= at < end and all(meet(of_row[each], key[each]) for each in range(width))
        ]

    types = [pa.int64(), pa.string() if second_is_text else pa.int64()]
    keys = tuple(pa.array([row[0][each] for row in rows], types[each]) for each in range(width))
    valid = ValidTimes(*(np.array([row[each] for row in rows], np.int64) for each in (1, 2)))
    index = KeyIndex(keys, valid)
    wanted = [found(record) for record in records]
    if index.repeated() is not None:
        first, second = index.repeated()
        assert rows[first][0][:width] == rows[second][0][:width]
        assert max(rows[first][1], rows[second][1]) < min(rows[first][2], rows[second][2])
        return
    assert all(len(each) <= 1 for each in wanted), "else two rows were valid at one time"
    types = [pa.string() if first_is_text else pa.int64(), pa.int64()]
    given = [pa.array([record[0][each] for record in records], types[each]) for each in range(width)]
    given = [column.dictionary_encode() if is_dictionary else column for column in given]
    times = np.array([record[1] for record in records], np.int64)
    assert index.find(given, times).tolist() == [each[0] if each else NO_ROW for each in wanted]


def test_without_validity_two_rows_of_one_key_are_repeated_and_nulls_are_not():
    assert KeyIndex((pa.array(["b", None, "a", None, "b"]),), None).repeated() == (0, 4)
    assert KeyIndex((pa.array(["b", None, "a", None]), pa.array([1, 1, 1, 1])), None).repeated() is None


@pytest.mark.parametrize("values", [[date(2024, 5, 1), date(2024, 5, 2)], [True, False], [10**17, -(10**17)]])
def test_keys_of_other_types_meet_their_like(values):
    index = KeyIndex((pa.array(values),), None)
    assert index.find([pa.array([values[1], None, values[0]])], None).tolist() == [1, NO_ROW, 0]


def test_a_table_without_rows_has_no_row():
    for keys in (pa.nulls(0), pa.array([], pa.string()), pa.array([None, None], pa.int64())):
        assert KeyIndex((keys,), None).find([pa.array([1, 2])], None).tolist() == [NO_ROW, NO_ROW]


@pytest.mark.parametrize(
    ("dtype", "other", "can_meet"),
    [
        (pa.int32(), pa.string(), True),
        (pa.large_string(), pa.int64(), True),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), True),
        (pa.date32(), pa.string(), False),
        (pa.bool_(), pa.int64(), False),
        (pa.date32(), pa.date32(), True),
    ],
)
def test_types_meet_that_are_alike_or_an_integer_and_a_text(dtype, other, can_meet):
    assert meets(dtype, other) == meets(other, dtype) == can_meet


@pytest.mark.parametrize("text_is_of_table", [False, True])
def test_the_widest_integers_meet_their_texts_and_none_beyond(text_is_of_table):
    numbers = [-(2**63), 2**63 - 1, 1234567890123456789]
    texts = [str(number) for number in numbers]
    keys, records = (texts, numbers) if text_is_of_table else (numbers, texts)
    assert KeyIndex((pa.array(keys),), None).find([pa.array(records)], None).tolist() == [0, 1, 2]
    beyond = [str(2**63), "9" * 19, "-" + "9" * 19, "0" * 19]
    assert KeyIndex((pa.array(numbers),), None).find([pa.array(beyond)], None).tolist() == [NO_ROW] * 4


def test_a_time_finer_than_the_table_s_is_rounded_down():
    index = KeyIndex((pa.array([1_000], pa.timestamp("us", "UTC")),), None)
    assert index.find([pa.array([1_000_999, 1_001_000], pa.timestamp("ns", "UTC"))], None).tolist() == [0, NO_ROW]


def test_nan_is_a_key_like_another():
    index = KeyIndex((pa.array([1.5, float("nan")]),), None)
    assert index.find([pa.array([float("nan"), 1.5, 2.5])], None).tolist() == [1, 0, NO_ROW]
    assert KeyIndex((pa.array([float("nan"), 1.5, float("nan")]),), None).repeated() == (0, 2)
