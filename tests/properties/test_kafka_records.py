"""The rows of a topic's cuts against a plain merge of their records, one by one, however they are received."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError
from hypothesis import given
from hypothesis import strategies as st

from tailrace.sources.kafka import kafka_fetch
from tailrace.sources.kafka.kafka_cuts import TopicCut
from tailrace.sources.kafka.kafka_records import KafkaRecords
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import APPEND_TIME, ID
from tailrace.sources.segments import Segment

VALUES = (None, b'{"v": 1}', b'{"v":\r\n2}', b"{broken", b"", '{"v": 3, "k": "ä"}'.encode(), b'{"v": 4, "k": "a\nb"}')
SOUND = {VALUES[1]: 1.0, VALUES[2]: 2.0, VALUES[5]: 3.0}
KINDS = (TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_CREATE_TIME)
RECORDS = st.lists(
    st.none() | st.tuples(st.sampled_from(KINDS), st.integers(0, 5), st.sampled_from(VALUES)), max_size=8
)


@dataclass(frozen=True)
class FakeMessage:
    """A record of a partition, or the tidings that it ends."""

    part: int
    at: int
    time: tuple[int, int] = (0, 0)
    bytes_: bytes | None = None
    fault: KafkaError | None = None

    def partition(self):
        return self.part

    def offset(self):
        return self.at

    def timestamp(self):
        return self.time

    def value(self):
        return self.bytes_

    def error(self):
        return self.fault


class FakeConsumer:
    """Gives the records of its assigned partitions in batches, by turns that a seed draws."""

    def __init__(self, log: dict[int, list[FakeMessage]], seed: int) -> None:
        self.log, self.draw, self.is_closed = log, random.Random(seed), False

    def assign(self, partitions):
        self.rest = {
            each.partition: [m for m in self.log[each.partition] if m.at >= each.offset] for each in partitions
        }

    def incremental_unassign(self, partitions):
        for each in partitions:
            del self.rest[each.partition]

    def consume(self, most, seconds):
        batch = []
        for _ in range(self.draw.randint(0, most)):
            if waiting := [part for part, messages in self.rest.items() if messages]:
                batch.append(self.rest[self.draw.choice(waiting)].pop(0))
        return batch

    def close(self):
        self.is_closed = True


def plain(log, ranges, by_append_time):
    """Partition, offset and record (or None) of a cut's rows, in the order of the log."""
    rows = []
    for part, (start, end) in ranges.items():
        newest = 0
        for at in range(start, end):
            record = log[part][at]
            counts = record is not None and (record[0] == TIMESTAMP_LOG_APPEND_TIME or not by_append_time)
            newest = max(newest, record[1] if counts else 0)
            rows.append((newest, part, at, record))
    return [row[1:] for row in sorted(rows, key=lambda row: row[:3])]


@given(
    st.dictionaries(st.sampled_from([0, 2, 11]), RECORDS, min_size=1), st.booleans(), st.randoms(use_true_random=False)
)
def test_rows_are_those_of_a_plain_merge(log, by_append_time, draw):
    ranges = {part: tuple(sorted(draw.randint(0, len(records)) for _ in range(2))) for part, records in log.items()}
    count = len(plain(log, ranges, by_append_time))
    first = draw.randint(0, count)
    assert_plain_merge(log, by_append_time, ranges, (first, draw.randint(0, count - first)), draw.randint(0, 99))


@pytest.mark.parametrize("by_append_time", [True, False])
def test_a_record_with_an_older_time_than_the_one_before_stays_behind_it(by_append_time):
    times = {0: [5, 1, 4], 2: [2, 3]}
    log = {part: [(TIMESTAMP_LOG_APPEND_TIME, ms, VALUES[1]) for ms in of_part] for part, of_part in times.items()}
    ranges = {part: (0, len(of_part)) for part, of_part in times.items()}
    assert [row[:2] for row in plain(log, ranges, by_append_time)] == [(2, 0), (2, 1), (0, 0), (0, 1), (0, 2)]
    assert_plain_merge(log, by_append_time, ranges, (0, 5), seed=1)


def test_a_line_end_within_a_text_is_broken_json_and_no_blank():
    log = {0: [(TIMESTAMP_LOG_APPEND_TIME, 1, value) for value in VALUES[5:]]}
    assert_plain_merge(log, True, {0: (0, 2)}, (0, 2), seed=1)


def assert_plain_merge(log, by_append_time, ranges, part_of_cut, seed):
    """The reader gives what the plain merge has in a part of a cut, from a row on and so many."""
    messages = {
        part: [FakeMessage(part, at, record[:2], record[2]) for at, record in enumerate(records) if record]
        + [FakeMessage(part, len(records), fault=KafkaError(KafkaError._PARTITION_EOF))]
        for part, records in log.items()
    }
    expected = plain(log, ranges, by_append_time)
    first, rows = part_of_cut
    expected = expected[first : first + rows]
    segment = Segment(TopicCut("t", ranges).path, first, rows, of_rows=len(expected))
    reader, consumer = KafkaRecords(Servers("nowhere:1"), by_append_time), FakeConsumer(messages, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kafka_fetch, "new_consumer", lambda access: consumer)
        fetched = reader.fetch(segment)
        raw = reader.read(segment, {"v": "double", ID: "string", APPEND_TIME: "long"})
    assert [*zip(fetched.partition.tolist(), fetched.offset.tolist(), fetched.values, strict=True)] == [
        (part, at, record[2] if record else None) for part, at, record in expected
    ]
    assert fetched.timestamp_ms.tolist() == [record[1] if record else 0 for _, _, record in expected]
    faults, sound = [], []
    for row, (part, at, record) in enumerate(expected):
        if record is None:
            faults.append((row, "no record has this offset"))
        elif by_append_time and record[0] != TIMESTAMP_LOG_APPEND_TIME:
            faults.append((row, "its time is its producer's"))
        elif record[2] is None:
            faults.append((row, "its value is null"))
        elif record[2] not in SOUND:
            faults.append((row, "broken JSON"))
        else:
            sound.append((row, SOUND[record[2]], f"t/{part}/{at}", record[1]))
    columns = [raw.table.column(name).to_pylist() for name in ("v", ID, APPEND_TIME)]
    assert [*zip(raw.row.tolist(), *columns, strict=True)] == sound
    assert [(fault.row, reason) for fault, (_, reason) in zip(raw.malformed, faults, strict=True)] == faults
    assert all(fault.reason.startswith(reason) for fault, (_, reason) in zip(raw.malformed, faults, strict=True))
    assert consumer.is_closed or not any(start < end for start, end in ranges.values())
