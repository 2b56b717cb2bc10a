"""The key sketch: the keys of a sample that count, against a scan of every row."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.policy_ticks import Arrival, statistics_of
from kit.suite.examples import drawn
from tailrace.disorder.quantile.key_sketch import GROUPS, STRETCH, KeySketch
from tailrace.windows.sliding import Sliding

WINDOWS = Sliding(30, 10)
LONG = STRETCH * 30
#                     tick                event time           key
TUPLES = st.lists(st.tuples(st.integers(0, 9), st.integers(-300, 300), st.integers(-40, 40)), max_size=120).map(
    lambda rows: [Arrival(*row) for row in sorted(rows, key=lambda row: row[0])]
)


def expected_hashes(tuples: list[Arrival], stretch: int, tick: int) -> list[int]:
    """The smallest hashes of the keys with a tuple in a stretch up to a tick."""
    return sorted({item.group % 2**64 for item in tuples if item.tick <= tick and item.event // LONG == stretch})[
        :GROUPS
    ]


@drawn(80)
@given(TUPLES, st.data())
def test_keys_with_the_smallest_hashes_count_however_the_stream_is_cut(tuples, data):
    stream = statistics_of(tuples, WINDOWS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=3)))
    state = {}
    for first, end in itertools.pairwise([0, *cuts, len(stream)]):
        sample = stream.between(first, end, 0).sample
        sketch, counts = KeySketch.restore(WINDOWS, state, sample)
        for index, tick in enumerate(stream.ticks.tick[first:end].tolist()):
            for stretch in (-2, -1, 0, 1):
                assert sketch.at(index, stretch).tolist() == expected_hashes(tuples, stretch, tick)
        for row in range(len(sample.at)):
            tick, stretch = int(stream.ticks.tick[first + sample.at[row]]), int(sample["pane"][row]) // LONG
            assert counts[row] == (int(sample["group"][row]) % 2**64 in expected_hashes(tuples, stretch, tick))
        state = sketch.checkpoint(-2)


def test_keys_without_tuples_in_a_stretch_make_room_for_others():
    tuples = [
        Arrival(i, 10 * i, group) for i in range(100) for group in (range(20) if i < LONG // 10 else range(20, 50))
    ]
    sketch, _ = KeySketch.restore(WINDOWS, {}, statistics_of(tuples, WINDOWS).sample)
    assert sketch.at(99, 0).tolist() == list(range(16))
    assert sketch.at(99, 1).tolist() == list(range(20, 36))


def test_older_stretches_are_dropped_from_the_state():
    tuples = [Arrival(i, 10 * i, group) for i in range(100) for group in range(20)]
    sketch, _ = KeySketch.restore(WINDOWS, {}, statistics_of(tuples, WINDOWS).sample)
    state = sketch.checkpoint(2)
    assert np.unique(state["group_stretch"]).tolist() == [2, 3, 4]
    assert len(state["group_hash"]) == 3 * GROUPS
