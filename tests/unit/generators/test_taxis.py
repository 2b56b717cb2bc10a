"""The model of T-Drive: gaps, speeds, faults, places; determinism, order of arrival, any cut in stretches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely
from pyproj import Geod

from generators.delays import delay_model, epoch_ms
from generators.fixes import SCHEMA
from generators.replay import START_MS
from generators.sample_districts import district_file
from generators.taxi_fleet import GAP_SHARES, GAPS_S, MEAN_GAP_S
from generators.taxis import taxis

HOUR_MS = 3_600_000


def stream(count: int = 300, seed: int = 1, duration_ms: int = 2 * HOUR_MS, **options: Any) -> pa.Table:
    return pa.Table.from_batches(taxis(count, seed, duration_ms=duration_ms, **options), SCHEMA)


def right_stream(count: int = 300, seed: int = 1, duration_ms: int = 2 * HOUR_MS, **options: Any) -> pd.DataFrame:
    """A stream without faults, in order of taxi and time; `seconds` is since its start."""
    table = stream(count, seed, duration_ms, duplicates=0, outliers=0, **options)
    frame = table.to_pandas().assign(seconds=(epoch_ms(table["event_time"]) - START_MS) // 1000)
    return frame.sort_values(["taxi", "seconds"], kind="stable")


def test_the_gaps_of_a_taxi_are_177_seconds_on_average() -> None:
    """The first 20 of each taxi, since whole gaps within a given time are the shorter ones."""
    assert sum(gap * share for gap, share in zip(GAPS_S, GAP_SHARES, strict=True)) == pytest.approx(MEAN_GAP_S)
    frame = right_stream(2000, duration_ms=5 * HOUR_MS, hours=24)
    gaps = frame.groupby("taxi")["seconds"].diff().to_numpy()[frame.groupby("taxi").cumcount().between(1, 20)]
    assert len(gaps) == 2000 * 20
    assert gaps.min() >= 3
    assert abs(gaps.mean() - MEAN_GAP_S) < 3 * gaps.std() / np.sqrt(len(gaps))


def test_no_taxi_is_faster_than_a_car_and_some_stand_still() -> None:
    frame = right_stream(2000, duration_ms=5 * HOUR_MS, hours=24)
    lon, lat, seconds, taxi = (frame[name].to_numpy() for name in ("lon", "lat", "seconds", "taxi"))
    same = np.diff(taxi) == 0
    _, _, metres = Geod(ellps="WGS84").inv(lon[:-1], lat[:-1], lon[1:], lat[1:])
    metres, gap = metres[same], np.diff(seconds)[same]
    speed = metres / gap * 3.6
    assert 80 < speed.max() < 150
    assert 0.2 < (metres == 0).mean() < 0.4
    assert metres.mean() == pytest.approx(623, rel=0.1)  # that of T-Drive


def test_a_week_has_as_many_fixes_as_t_drive() -> None:
    """By 1,000 taxis over two days; a day's fixes of a taxi are 12 hours of them."""
    rows = len(right_stream(1000, duration_ms=48 * HOUR_MS))
    assert rows / 1000 / 2 * 10_357 * 7 == pytest.approx(17_662_984, rel=0.01)


def test_taxis_report_on_duty_only() -> None:
    frame = right_stream(300, duration_ms=72 * HOUR_MS, hours=4)
    local_h = (frame["seconds"] / 3600 + 8) % 24  # the start is 8 o'clock in Beijing
    for _, hours in local_h.groupby(frame["taxi"]):
        angle = np.sort(hours.to_numpy())
        longest_rest = max(np.diff(angle).max(), angle[0] + 24 - angle[-1])
        assert longest_rest >= 20
    assert local_h.groupby(frame["taxi"]).count().min() > 3 * 4 * 3600 / MEAN_GAP_S / 2


def test_off_duty_a_taxi_stands_when_its_trip_is_over() -> None:
    frame = right_stream(1000, duration_ms=48 * HOUR_MS, hours=2)
    gap, east, north = (frame.groupby("taxi")[name].diff().to_numpy() for name in ("seconds", "lon", "lat"))
    moved_km = np.hypot(85.4 * east, 111 * north)[gap > 10 * 3600]
    assert len(moved_km) > 1000
    assert (moved_km < 2).mean() > 0.4  # a taxi that drove on all night would be as near for one in ten


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_the_share_of_outliers_is_as_declared_and_all_else_stays(share: float) -> None:
    right, wrong = (stream(duplicates=0, outliers=outliers).to_pandas() for outliers in (0, share))
    differs = ((right["lon"] != wrong["lon"]) | (right["lat"] != wrong["lat"])).to_numpy()
    assert abs(differs.mean() - share) < 3 * np.sqrt(share * (1 - share) / len(differs))
    assert right.drop(columns=["lon", "lat"]).equals(wrong.drop(columns=["lon", "lat"]))


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_the_share_of_duplicates_is_as_declared_and_they_have_ids_of_their_own(share: float) -> None:
    once, twice = (stream(duplicates=duplicates, outliers=0.1).to_pandas() for duplicates in (0, share))
    columns = ["event_time", "taxi", "lon", "lat"]
    repeats = twice.duplicated(columns).to_numpy()
    assert abs(repeats.sum() / len(once) - share) <= 3 * np.sqrt(share * (1 - share) / len(once))
    assert twice.loc[~repeats, columns].reset_index(drop=True).equals(once[columns])
    numbers = twice.groupby("taxi").cumcount()
    assert twice["id"].tolist() == [f"{t}-{n:06d}" for t, n in zip(twice["taxi"], numbers, strict=True)]


def test_without_delays_the_stream_is_in_order_of_event_time_then_taxi() -> None:
    table = stream()
    event, taxi = epoch_ms(table["event_time"]), np.asarray(table["taxi"])
    assert np.array_equal(np.lexsort((taxi, event)), np.arange(len(event)))
    assert table["arrival_time"].equals(table["event_time"])
    assert START_MS <= event[0] < event[-1] < START_MS + 2 * HOUR_MS
    assert not ((event - START_MS) % 1000).any()
    assert set(taxi) <= set(range(1, 301))


def test_with_delays_it_is_in_order_of_arrival() -> None:
    delays = delay_model("exponential:10 min")
    table, prompt = stream(delays=delays), stream()
    event, arrival = (epoch_ms(table[name]) for name in ("event_time", "arrival_time"))
    assert (np.diff(arrival) >= 0).all()
    assert (arrival - event).min() >= 0
    assert (arrival - event).mean() == pytest.approx(600_000, rel=0.03)
    rest = ["event_time", "id", "taxi", "lon", "lat"]
    assert table.select(rest).sort_by("id").equals(prompt.select(rest).sort_by("id"))


@pytest.mark.parametrize("delays", ["none", "exponential:20 min"])
def test_any_cut_in_stretches_gives_the_same_stream(delays: str) -> None:
    model, whole = delay_model(delays), None
    for stretch_ms in (10**12, 600_000, 37_777, 5_400_001):
        batches = list(taxis(40, 3, duration_ms=2 * HOUR_MS, delays=model, stretch_ms=stretch_ms))
        table = pa.Table.from_batches(batches, SCHEMA)
        whole = whole or table.combine_chunks()
        assert table.combine_chunks().equals(whole)
        numbers = [set((epoch_ms(batch["arrival_time"]) - START_MS) // stretch_ms) for batch in batches]
        assert [len(number) for number in numbers] == [1] * len(batches)
        assert len(set.union(*numbers)) == len(batches)


def test_a_seed_determines_the_stream_and_a_shift_makes_another_fleet() -> None:
    one = stream()
    assert one.equals(stream())
    assert not one["lon"].equals(stream(seed=2)["lon"])
    other = stream(shift=1)
    assert set(one["taxi"].to_pylist()) <= set(range(1, 301))
    assert set(other["taxi"].to_pylist()) <= set(range(301, 601))
    assert not set(one["id"].to_pylist()) & set(other["id"].to_pylist())
    assert np.median(np.asarray(other["lon"])) == pytest.approx(np.median(np.asarray(one["lon"])), abs=0.01)
    places = [set(zip(fleet["lon"].to_pylist(), fleet["lat"].to_pylist(), strict=True)) for fleet in (one, other)]
    assert len(places[0] & places[1]) < 0.001 * len(places[0])


@pytest.mark.parametrize("duration_ms", [0, 1, 999_500, 1_200_000, 1_200_001])
def test_a_longer_stream_begins_with_a_shorter_one(duration_ms: int) -> None:
    delays = delay_model("game1")
    short, long = (stream(duration_ms=ms, delays=delays).sort_by("id") for ms in (duration_ms, 3_000_000))
    is_early = pa.array(epoch_ms(long["event_time"]) < START_MS + duration_ms)
    assert short.combine_chunks().equals(long.filter(is_early).combine_chunks())


def test_an_endless_stream_can_be_begun() -> None:
    batches: Iterator[pa.RecordBatch] = taxis(50, duration_ms=10**15, stretch_ms=60_000)
    assert sum(batch.num_rows for batch in islice(batches, 30)) > 100


def test_fixes_are_where_the_traffic_is() -> None:
    frame = right_stream(3000, duration_ms=3 * HOUR_MS)
    features = json.loads(district_file("beijing").read_text(encoding="utf-8"))["features"]
    share = {}
    for feature in features:
        polygon = shapely.make_valid(
            shapely.geometry.shape(feature["geometry"]), method="structure", keep_collapsed=False
        )
        share[feature["properties"]["pinyin"]] = shapely.contains_xy(polygon, frame["lon"], frame["lat"]).mean()
    assert sum(share.values()) == pytest.approx(1, abs=1e-3)
    assert all(share.values())
    inner = ("Dongcheng", "Xicheng", "Chaoyang", "Haidian", "Fengtai")
    assert sum(share[name] for name in inner) > 0.85
    at_airport = np.hypot(85.4 * (frame["lon"] - 116.595), 111 * (frame["lat"] - 40.078)) < 1.5
    assert 0.01 < at_airport.mean() < 0.15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count is 0; right is 1 to 2147483647"),
        ({"count": 2**31}, "count is 2147483648"),
        ({"count": 10**9, "shift": 2}, "shift is 2; right is 0 to 1"),
        ({"shift": -1}, "shift is -1"),
        ({"seed": -1}, "seed is -1; right is at least 0"),
        ({"duration_ms": -1}, "duration_ms is -1"),
        ({"stretch_ms": 0}, "stretch_ms is 0; right is at least 1"),
        ({"hours": 0.5}, "hours is 0.5; right is 1 to 24"),
        ({"hours": 25}, "hours is 25"),
        ({"duplicates": -0.1}, "duplicates is -0.1; right is 0 to 1"),
        ({"outliers": float("nan")}, "outliers is nan"),
    ],
)
def test_arguments_out_of_range_are_refused_before_the_first_batch(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        taxis(**options)
