"""The optional queries of the demonstration, and the streams that are generated for them from fixed seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demo import generated_data
from demo.generated_data import (
    COPIES,
    DELAYS,
    DISTRICTS,
    GAME2,
    MEETINGS,
    METERS,
    READINGS,
    STREAMS,
    TRADES,
    Fleets,
    declare,
)
from demo.living_stream import LIVING
from generators.delays import epoch_ms
from generators.sample_districts import district_file
from tailrace.ground.duration import ms
from tailrace.query.loading import load
from tailrace.query.windowed import TopKQuery

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"


def test_declared_queries_point_to_their_data(tmp_path):
    files = declare(tmp_path, [FLIGHTS, GAME2, DELAYS, TRADES])
    assert {file.parent for file in files} == {tmp_path / "queries"}
    flights, game2, delays, trades = map(load, files)
    assert flights == load(FLIGHTS)
    assert delays == load(DELAYS)
    assert delays.stream[1].source.path == flights.stream[1].source.path
    assert game2.stream[1].source.path == tmp_path / "data" / "game2" / "readings"
    assert trades.stream[1].source.path == tmp_path / "data" / "trades" / "trades"
    assert [query.name for query in (flights, game2, delays, trades)] == [file.stem for file in files]


@pytest.mark.parametrize("file", [GAME2, TRADES], ids=lambda file: file.stem)
def test_a_generated_stream_has_the_columns_rate_and_delays_of_its_query(tmp_path, file):
    query = load(declare(tmp_path, [file])[0])
    stream, parameters = query.stream[1], READINGS[file]
    parts = sorted(stream.source.path.iterdir())
    table = pa.concat_tables(pq.read_table(path) for path in parts)
    assert (len(table), len(parts)) == (parameters.rows, parameters.files)
    arrival, event = (epoch_ms(table[column]) for column in (stream.arrival_time, stream.event_time))
    assert (np.diff(arrival) >= 0).all()
    columns = {
        stream.id,
        stream.key or stream.id,
        query.topk.score if isinstance(query, TopKQuery) else query.aggregate.column,
    }
    assert columns <= set(table.column_names)
    assert (event.max() - event.min()) / 1000 == pytest.approx(parameters.rows / parameters.rate, abs=1)
    delays = arrival - event
    if file is GAME2:  # paper 002, Table 1, Game 2: a third without delay, some delays beyond the gap Γ
        assert 0.32 < (delays == 0).mean() < 0.35
        assert delays.max() > ms(query.correction.gap)
    else:
        assert delays.mean() == pytest.approx(6_000, rel=0.02)


def test_the_copy_of_a_film_is_darker_shown_later_and_arrives_in_disorder(tmp_path):
    query = load(declare(tmp_path, [COPIES])[0])
    film, copy = (pq.read_table(query.streams[side].source.path) for side in ("left", "right"))
    assert {query.streams[side].source.path for side in ("left", "right")} == {
        tmp_path / "data" / "copies" / side for side in ("left", "right")
    }
    assert len(film) == len(copy) == STREAMS[COPIES].rows
    assert film["arrival_time"].equals(film["event_time"])
    arrival, event = (epoch_ms(copy[column]) for column in ("arrival_time", "event_time"))
    assert (np.diff(arrival) >= 0).all()
    assert (np.diff(event) < 0).any()
    assert (arrival - event).mean() == pytest.approx(400, rel=0.1)
    by_id = copy.sort_by("id")
    assert (epoch_ms(by_id["event_time"]) - epoch_ms(film["event_time"]) == 1000).all()
    levels = np.arange(256)
    light, dark = (np.array(table["hist"].to_pylist()) @ levels for table in (film, by_id))
    assert (dark < light).all()


def test_both_queries_over_taxis_read_the_same_left_fleet_and_the_table_is_a_copy(tmp_path):
    districts, meetings = map(load, declare(tmp_path, [DISTRICTS, MEETINGS]))
    located, left, right = (
        pq.read_table(query.streams[side].source.path)
        for query, side in ((districts, "left"), (meetings, "left"), (meetings, "right"))
    )
    assert located.equals(left)
    assert not set(left["id"].to_pylist()) & set(right["id"].to_pylist())
    assert 40_000 < sum(map(len, (located, left, right))) < 60_000
    for fleet in (left, right):
        arrival, event = (epoch_ms(fleet[column]) for column in ("arrival_time", "event_time"))
        assert (np.diff(arrival) >= 0).all()
        assert (np.diff(event) < 0).any()
        assert (arrival - event).mean() == pytest.approx(8_000, rel=0.05)
        assert event.max() - event.min() == pytest.approx(3_600_000, rel=0.01)
    assert districts.table.path == tmp_path / "data" / "districts" / "beijing.geojson"
    assert districts.table.path.read_bytes() == district_file("beijing").read_bytes()
    assert load(DISTRICTS).table.path.samefile(district_file("beijing"))
    assert districts.structure() == load(DISTRICTS).structure()


def test_each_stream_has_a_fleet_of_its_own():
    one, two = Fleets(10, 20, "none", 1).tables(["left", "right"])
    assert set() < set(one["taxi"].to_pylist()) <= set(range(1, 11))
    assert set() < set(two["taxi"].to_pylist()) <= set(range(11, 21))


def test_a_third_of_the_stream_is_enough_for_a_calibration():
    """It covers the 30 windows that a calibration measures, and ten mean delays of 6 s for their late tuples."""
    policy, window, parameters = load(TRADES).policy, load(TRADES).window, READINGS[TRADES]
    seconds = parameters.rows / 3 / parameters.rate
    assert (policy.queries * window.slide_ms + window.size_ms) / 1000 + 10 * 6 < seconds


def test_without_flags_the_demonstration_declares_the_flights_query_alone():
    assert [file.name for file in FLIGHTS.parent.iterdir()] == ["flights.yaml"]
    assert {path.name for path in Path(generated_data.__file__).parent.glob("*.yaml")} == {
        f.name for f in (COPIES, DELAYS, DISTRICTS, GAME2, MEETINGS, METERS, TRADES, *LIVING)
    }
