"""The demonstration's second stream: made from its seed, declared beside the first query, which stays what it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.declare import load
from tailrace.demo.game2 import RATE, ROWS, declare
from tailrace.duration import ms
from tailrace.streams.delays import epoch_ms

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"


def test_both_queries_are_declared_and_find_their_data(tmp_path):
    flights, game2 = declare(tmp_path, [FLIGHTS])
    assert flights.parent == game2.parent == tmp_path / "queries"
    assert load(flights) == load(FLIGHTS)
    assert load(game2).stream[1].source.path == tmp_path / "data" / "game2"


def test_the_stream_is_what_the_query_reads(tmp_path):
    _, file = declare(tmp_path, [FLIGHTS])
    query = load(file)
    stream = query.stream[1]
    assert stream.source.rate == RATE
    table = pa.concat_tables(pq.read_table(path) for path in sorted(stream.source.path.iterdir()))
    assert len(table) == ROWS
    arrival, event = (epoch_ms(table[column]) for column in (stream.arrival_time, stream.event_time))
    assert (np.diff(arrival) >= 0).all()
    assert query.aggregate.column in table.column_names
    # Delays as in paper 002, Table 1, Game 2: a third none, and some of many seconds, so that Γ is exceeded.
    delays = arrival - event
    assert 0.32 < (delays == 0).mean() < 0.35
    assert delays.max() > ms(query.correction.gap)


def test_a_flag_less_demonstration_declares_no_other_query():
    assert [file.name for file in FLIGHTS.parent.iterdir()] == ["flights.yaml"]
