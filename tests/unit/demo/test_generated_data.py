"""The demonstration's other queries: their streams are made from seeds, and they stand beside the first one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.demo import generated_data
from tailrace.demo.generated_data import DELAYS, GAME2, STREAMS, TRADES, declare
from tailrace.generators.delays import epoch_ms
from tailrace.ground.duration import ms
from tailrace.query.loading import load
from tailrace.query.query import TopKQuery

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"


def test_all_queries_are_declared_and_find_their_data(tmp_path):
    files = declare(tmp_path, [FLIGHTS, GAME2, DELAYS, TRADES])
    assert {file.parent for file in files} == {tmp_path / "queries"}
    flights, game2, delays, trades = map(load, files)
    assert flights == load(FLIGHTS)
    assert delays == load(DELAYS)
    assert delays.stream[1].source.path == flights.stream[1].source.path
    assert game2.stream[1].source.path == tmp_path / "data" / "game2"
    assert trades.stream[1].source.path == tmp_path / "data" / "trades"
    assert [query.name for query in (flights, game2, delays, trades)] == [file.stem for file in files]


@pytest.mark.parametrize("file", [GAME2, TRADES], ids=lambda file: file.stem)
def test_a_stream_is_what_its_query_reads(tmp_path, file):
    query = load(declare(tmp_path, [file])[0])
    stream, told = query.stream[1], STREAMS[file]
    parts = sorted(stream.source.path.iterdir())
    table = pa.concat_tables(pq.read_table(path) for path in parts)
    assert (len(table), len(parts)) == (told.rows, told.files)
    arrival, event = (epoch_ms(table[column]) for column in (stream.arrival_time, stream.event_time))
    assert (np.diff(arrival) >= 0).all()
    asked = {
        stream.id,
        stream.key or stream.id,
        query.topk.score if isinstance(query, TopKQuery) else query.aggregate.column,
    }
    assert asked <= set(table.column_names)
    assert (event.max() - event.min()) / 1000 == pytest.approx(told.rows / told.rate, abs=1)
    delays = arrival - event
    if file is GAME2:  # as in paper 002, Table 1, Game 2: a third none, and some of many seconds, so that Γ is exceeded
        assert 0.32 < (delays == 0).mean() < 0.35
        assert delays.max() > ms(query.correction.gap)
    else:
        assert delays.mean() == pytest.approx(6_000, rel=0.02)


def test_a_calibration_has_enough_to_go_by_when_a_third_was_read():
    """30 windows, and what late tuples of them take."""
    policy, window, told = load(TRADES).policy, load(TRADES).window, STREAMS[TRADES]
    seconds = told.rows / 3 / told.rate
    assert (policy.queries * window.slide_ms + window.size_ms) / 1000 + 10 * 6 < seconds


def test_a_flag_less_demonstration_declares_no_other_query():
    assert [file.name for file in FLIGHTS.parent.iterdir()] == ["flights.yaml"]
    assert {path.name for path in Path(generated_data.__file__).parent.glob("*.yaml")} == {
        f.name for f in (DELAYS, GAME2, TRADES)
    }
