"""Which keys of a sample count, against looking at every row."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.disorder.quantile.key_sketch import GROUPS, STRETCH, KeySketch
from tailrace.windows.sliding import Sliding
from ticking import Came, seen

WINDOWS = Sliding(30, 10)
LONG = STRETCH * 30
#                     tick                event time           key
CAME = st.lists(st.tuples(st.integers(0, 9), st.integers(-300, 300), st.integers(-40, 40)), max_size=120).map(
    lambda came: [Came(*each) for each in sorted(came, key=lambda each: each[0])]
)


def counting(came: list[Came], stretch: int, tick: int) -> list[int]:
    """The smallest hashes of those that have come to a stretch up to a tick."""
    return sorted({each.group % 2**64 for each in came if each.tick <= tick and each.event // LONG == stretch})[:GROUPS]


@settings(max_examples=80, deadline=None)
@given(CAME, st.data())
def test_those_with_the_smallest_hashes_count_however_the_log_is_cut(came, data):
    stream = seen(came, WINDOWS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=3)))
    kept = {}
    for first, end in itertools.pairwise([0, *cuts, len(stream)]):
        sample = stream.between(first, end, 0).sample
        groups, counts = KeySketch.restore(WINDOWS, kept, sample)
        for place, tick in enumerate(stream.ticks.tick[first:end].tolist()):
            for stretch in (-2, -1, 0, 1):
                assert groups.at(place, stretch).tolist() == counting(came, stretch, tick)
        for row in range(len(sample.at)):
            tick, stretch = int(stream.ticks.tick[first + sample.at[row]]), int(sample["pane"][row]) // LONG
            assert counts[row] == (int(sample["group"][row]) % 2**64 in counting(came, stretch, tick))
        kept = groups.checkpoint(-2)


def test_keys_that_come_no_more_make_room():
    came = [Came(i, 10 * i, group) for i in range(100) for group in (range(20) if i < LONG // 10 else range(20, 50))]
    groups, _ = KeySketch.restore(WINDOWS, {}, seen(came, WINDOWS).sample)
    assert groups.at(99, 0).tolist() == list(range(16))
    assert groups.at(99, 1).tolist() == list(range(20, 36))


def test_nothing_of_older_stretches_is_kept():
    came = [Came(i, 10 * i, group) for i in range(100) for group in range(20)]
    groups, _ = KeySketch.restore(WINDOWS, {}, seen(came, WINDOWS).sample)
    kept = groups.checkpoint(2)
    assert np.unique(kept["group_stretch"]).tolist() == [2, 3, 4]
    assert len(kept["group_hash"]) == 3 * GROUPS
