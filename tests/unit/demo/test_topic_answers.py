"""The consumer of the demonstration's topic of answers: what it keeps, and when it calls the topic right."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo import topic_answers
from demo.topic_answers import TopicRecord, as_table, check_topic, newest

RECORDS = st.lists(
    st.builds(
        TopicRecord,
        st.sampled_from([b"a", b"b", b"c"]),
        st.none() | st.integers(0, 3).map(lambda number: json.dumps({"value": number}).encode()),
        st.tuples(st.integers(1, 2), st.integers(0, 3)),
    ),
    max_size=12,
)


@given(RECORDS)
def test_of_each_key_the_last_of_the_greatest_versions_is_kept_and_a_tombstone_leaves_none(records):
    kept = newest(records)
    for key in {record.key for record in records}:
        last = sorted((record for record in records if record.key == key), key=lambda record: record.version)[-1]
        assert kept.get(key) == (None if last.value is None else json.loads(last.value))
    assert kept.keys() <= {record.key for record in records}


def answer(start_s: int, value: float, tuples: int) -> bytes:
    start, end = (f"2026-01-01T00:00:{second:02d}Z" for second in (start_s, start_s + 10))
    row = {"key": "s0000", "window_start": start, "window_end": end, "value": value, "tuples": tuples, "k_ms": 1000}
    return json.dumps(row).encode()


START_MS = 1_767_225_600_000
TRUE = {("s0000", START_MS, START_MS + 10_000): (3.5, 2), ("s0000", START_MS + 2000, START_MS + 12_000): (1.0, 1)}
STREAMED = [TopicRecord(b"0", answer(0, 2.5, 1), (1, 10)), TopicRecord(b"2", answer(2, 1.0, 1), (1, 20))]
CORRECTED = TopicRecord(b"0", answer(0, 3.5, 2), (1, 30))


def test_an_answer_has_the_columns_and_times_of_the_truth():
    [row] = as_table([json.loads(answer(2, 1.0, 1))]).to_pylist()
    assert row == {
        "key": "s0000",
        "window_start": START_MS + 2000,
        "window_end": START_MS + 12_000,
        "value": 1.0,
        "tuples": 1,
    }


@pytest.mark.parametrize(
    ("records", "is_right", "text"),
    [
        ([*STREAMED, CORRECTED], True, "3 records, the newest versions are 2 answers, all of them right"),
        ([CORRECTED, *STREAMED], True, "all of them right"),
        (STREAMED, False, "50.00% of 2 windows right"),
        ([STREAMED[0], CORRECTED], False, "50.00% of 2 windows right"),
        ([*STREAMED, CORRECTED, TopicRecord(b"9", answer(9, 1.0, 1), (1, 1))], False, "3 answers, 100.00% of 2"),
        ([*STREAMED, CORRECTED, TopicRecord(b"2", None, (2, 0))], False, "50.00% of 2 windows right"),
    ],
    ids=["corrected", "in another order", "as streamed", "one is missing", "one too many", "one taken back"],
)
def test_a_topic_is_right_when_its_newest_versions_are_the_true_answers(monkeypatch, records, is_right, text):
    monkeypatch.setattr(topic_answers, "truth", lambda query, sent: TRUE)
    monkeypatch.setattr(topic_answers, "read_records", lambda topic: records)
    query = SimpleNamespace(answers=SimpleNamespace(kafka=SimpleNamespace(topic="meter_answers")))
    said, right = check_topic(query, None)
    assert right is is_right
    assert said.startswith("topic meter_answers: ")
    assert text in said
