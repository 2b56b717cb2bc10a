"""Cuts of a simulated topic: one after the other they give all records in order of append time, whoever is behind."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.sources.kafka.kafka_cuts import TopicCut, ends_at, ends_known, known_until, split

PARTITIONS = st.lists(st.lists(st.integers(0, 60), max_size=25).map(sorted), min_size=1, max_size=4)


class Simulated:
    """Partitions as lists of append times, as far as they are there."""

    def __init__(self, times: list[list[int]]) -> None:
        self.times = times

    def offsets_at(self, partitions: list[int], time_ms: int) -> dict[int, int]:
        assert time_ms >= 0, "a negative time means something else to a broker"
        at = {part: bisect_left(self.times[part], time_ms) for part in partitions}
        return {part: offset if offset < len(self.times[part]) else -1 for part, offset in at.items()}

    def ends(self) -> dict[int, int]:
        return {part: len(times) for part, times in enumerate(self.times)}

    def merged(self, before: dict[int, int], ends: dict[int, int]) -> list[tuple[int, int, int]]:
        """The records between offsets as (append time, partition, offset), in order."""
        return sorted(
            (self.times[part][offset], part, offset) for part in ends for offset in range(before[part], ends[part])
        )


@given(PARTITIONS, st.integers(1, 12))
def test_the_cuts_of_a_backlog_are_the_sorted_records(times, most_rows):
    log = Simulated(times)
    before, everything = dict.fromkeys(log.ends(), 0), log.ends()
    records, last = [], before
    for ends in split(log, before, everything, 0, 61, most_rows):
        part = log.merged(last, ends)
        assert len(part) > 0
        assert len(part) <= most_rows or len({time for time, _, _ in part}) == 1
        records += part
        last = ends
    assert records == log.merged(before, everything)


@given(PARTITIONS, st.data())
def test_partitions_that_are_read_at_different_speeds_keep_the_order(times, data):
    """What is there of each partition grows in any way; none is idle until the end."""
    seen = [0] * len(times)
    records, last = [], dict.fromkeys(range(len(times)), 0)
    for _ in range(data.draw(st.integers(1, 6))):
        seen = [data.draw(st.integers(at, len(each))) for at, each in zip(seen, times, strict=True)]
        log = Simulated([each[:at] for each, at in zip(times, seen, strict=True)])
        newest = {part: each[-1] if each else -1 for part, each in enumerate(log.times)}
        until_ms = known_until(newest, list(newest))
        ends = log.ends() if until_ms is None else ends_known(log, last, log.ends(), list(newest), until_ms)
        records += log.merged(last, ends)
        last = ends
    log = Simulated(times)
    records += log.merged(last, log.ends())
    assert records == log.merged(dict.fromkeys(last, 0), log.ends())


def test_a_partition_that_is_behind_holds_the_cut_back_until_it_is_idle():
    log = Simulated([[1, 5, 9], [1, 2], []])
    before, ends = dict.fromkeys(range(3), 0), log.ends()
    assert known_until({0: 9, 1: 2}, [0, 1]) == 2
    assert ends_known(log, before, ends, [0, 1], 2) == {0: 1, 1: 1, 2: 0}
    assert known_until({0: 9, 1: 2}, [0]) is None
    assert ends_known(log, before, ends, [0, 2], -1) == before  # the third has brought nothing yet


def test_an_open_transaction_holds_the_cut_back():
    log = Simulated([[1, 5, 9], [1, 2, 9]])
    assert ends_known(log, {0: 0, 1: 0}, {0: 1, 1: 3}, [0, 1], 9) == {0: 1, 1: 2}


def test_an_end_is_never_before_what_was_read():
    assert ends_at(Simulated([[1, 5, 9]]), {0: 2}, {0: 3}, 4) == {0: 2}


def test_a_path_names_a_cut():
    cut = TopicCut("my-topic.1_x", {0: (1, 5), 11: (7, 7)})
    assert cut.path == "kafka:my-topic.1_x?0=1-5&11=7-7"
    assert TopicCut.of_path(cut.path) == cut
    assert (cut.rows, cut.ends) == (4, {0: 5, 11: 7})
    with pytest.raises(ValueError, match="no cut of a topic"):
        TopicCut.of_path("/data/part-00000.parquet")
