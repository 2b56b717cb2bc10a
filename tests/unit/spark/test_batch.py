"""What had arrived before a cut-off, and which of the tuples with the same id stays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.spark.batch import Log, buckets_for, first_of_each
from tailrace.streams.segments import Segment

#   position    0    1   │  2    3   │  4        a batch that is in history, and not yet in `segments`
#   tick end  100  300   │ 100  400  │ 100
#   found               300         400          the tick's end that the segment found
LOG = Log([Segment("a", 0, 2), Segment("b", 0, 2, 1, 2)], np.array([0, 2]), np.array([-1, 2]), np.array([-1, 300]), [])
TUPLES = pa.RecordBatch.from_pydict(
    {"position": [0, 1, 2, 3, 4], "tick": [0, 2, 0, 3, 0], "end": [100, 300, 100, 400, 100]}
)


def test_what_came_in_an_earlier_tick_by_its_segment_came_in_the_one_its_segment_found():
    assert LOG.arrived(TUPLES, 300).to_pydict() == {"position": [0, 1, 2], "tick": [0, 2, 2], "end": [100, 300, 100]}
    assert LOG.arrived(TUPLES, 299).column("position").to_pylist() == [0]


def test_a_batch_that_is_only_in_history_has_not_arrived():
    assert LOG.arrived(TUPLES, 10_000).column("position").to_pylist() == [0, 1, 2, 3]


def test_of_the_same_id_the_first_by_tick_then_arrival_then_position_stays():
    rows = [  # id, tick, arrival_time, position
        ("a", 5, 500, 9),
        ("a", 4, 900, 10),  # an earlier tick
        ("b", 5, 510, 11),
        ("b", 5, 505, 12),  # an earlier arrival
        ("c", 5, 505, 14),
        ("c", 5, 505, 13),  # an earlier position
        ("d", 1, 100, 1),
    ]
    names = ("id", "tick", "arrival_time", "position")
    batch = pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    kept = first_of_each(batch).to_pydict()
    assert dict(zip(kept["id"], kept["position"], strict=True)) == {"a": 10, "b": 12, "c": 13, "d": 1}


def test_buckets_use_all_cores_and_hold_not_too_much():
    assert buckets_for(LOG, 2) == 2
    large = Log([Segment("a", 0, 9_000_000)], LOG.position[:1], LOG.before_tick[:1], LOG.before_end[:1], [])
    assert buckets_for(large, 2) == 5
