"""Repeats of ids with equal and with other content, against a loop over rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.engine.other_contents import EQUAL, OTHER, RepeatedIds, find_repeats

SCHEMA = pa.schema(
    [("id", pa.string()), ("key", pa.string()), ("value", pa.float64()), ("list", pa.list_(pa.float64()))]
    + [(name, pa.int64()) for name in ("event_time", "tick", "arrival_time", "arrival_us", "position", "row")]
)
TUPLES = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from("abc"),
            "key": st.sampled_from([None, "k", "l"]),
            "value": st.sampled_from([None, float("nan"), 1.0, 2.0]),
            "list": st.sampled_from([None, [], [1.0], [1.0, 2.0]]),
            "event_time": st.integers(0, 1),
            "tick": st.integers(0, 1),
            "arrival_time": st.integers(0, 2),
            "arrival_us": st.integers(0, 1),
        }
    ),
    max_size=12,
)


@given(TUPLES, st.randoms())
def test_the_repeats_are_found_in_order_by_whether_they_differ_from_the_first_to_arrive(rows, random):
    rows = [row | {"position": position, "row": position} for position, row in enumerate(rows)]
    first: dict[str, dict[str, object]] = {}
    expected = {EQUAL: [], OTHER: []}
    order = ("tick", "arrival_time", "arrival_us", "position")
    for row in sorted(rows, key=lambda each: [each[name] for name in order]):
        same = first.setdefault(row["id"], row)
        if row is not same:
            is_equal = all(str(row[name]) == str(same[name]) for name in ("key", "value", "list", "event_time"))
            expected[EQUAL if is_equal else OTHER].append(row["position"])
    random.shuffle(rows)
    found = find_repeats(pa.RecordBatch.from_pylist(rows, SCHEMA))
    for content, positions in expected.items():
        assert [rows[row]["position"] for row in found[content]] == sorted(positions)


def test_they_are_said_with_the_place_of_the_first():
    one, two = RepeatedIds(OTHER, 1, "a.csv, line 4"), RepeatedIds(EQUAL, 2, "a.csv, line 4")
    assert one.words() == "1 record repeats an id with other content: the first counts; it is a.csv, line 4"
    assert two.words(" soon").startswith(
        "2 records repeat an id with equal content: the first counts soon; the first of"
    )


def test_nan_in_a_list_is_like_nan_and_a_column_without_values_differs_nowhere():
    nan = float("nan")
    columns = {"id": ["a", "a", "a"], "tick": [0, 1, 2], "arrival_time": [0, 1, 2], "position": [0, 1, 2]}
    columns |= {"arrival_us": [0, 0, 0], "bins": [[nan, 1.0], [nan, 1.0], [nan, 2.0]], "empty": pa.nulls(3)}
    found = find_repeats(pa.RecordBatch.from_pydict(columns))
    assert {content: rows.tolist() for content, rows in found.items()} == {EQUAL: [1], OTHER: [2]}
