"""Delay models against their formulas. Seeds are fixed; a tolerance is a few standard errors of its statistic."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from generators.delays import MODELS, delay_model, epoch_ms

N = 1_000_000
NORMAL = NormalDist()
# Paper 002, Table 1: p, mu and sigma of ln seconds; the mean that the errata give, in ms.
GAMES = [("game1", 0.5758, -3.876, 1.447, 34), ("game2", 0.6682, -3.237, 1.335, 64)]


def draw(text: str, n: int = N, seed: int = 7) -> NDArray[np.int64]:
    return delay_model(text).sample(n, np.random.default_rng(seed))


@pytest.mark.parametrize(("name", "p", "mu", "sigma", "mean"), GAMES)
def test_games_follow_the_paper(name: str, p: float, mu: float, sigma: float, mean: float) -> None:
    delays = draw(name)
    below_1_ms = NORMAL.cdf((math.log(0.001) - mu) / sigma)
    assert delays.dtype == np.int64
    assert delays.min() == 0
    assert (delays == 0).mean() == pytest.approx(1 - p + p * below_1_ms, abs=0.002)
    assert delays.mean() == pytest.approx(mean, rel=0.03)
    # Half a millisecond corrects for the floor on average; above the median it hardly changes the logarithm.
    positive = np.sort(delays[delays > 0]) + 0.5
    for z in (0.5, 1.0, 2.0, 3.0):
        share = (NORMAL.cdf(z) - below_1_ms) / (1 - below_1_ms)
        assert math.log(np.quantile(positive, share) / 1000) == pytest.approx(mu + z * sigma, abs=0.05)


@pytest.mark.parametrize(("name", "p", "mu", "sigma", "mean"), GAMES)
def test_the_logarithm_of_the_delays_follows_the_paper(
    name: str, p: float, mu: float, sigma: float, mean: float
) -> None:
    """Mean and standard deviation of ln(delay) at or above the median, where the floor is below 3 % of a delay."""
    delays = draw(name)
    upper = np.log((delays[delays >= math.ceil(1000 * math.exp(mu))] + 0.5) / 1000)
    # The upper half of a normal has mean mu + sigma sqrt(2/pi) and deviation sigma sqrt(1 - 2/pi).
    assert len(upper) / N == pytest.approx(p / 2, rel=0.02)
    assert upper.mean() == pytest.approx(mu + sigma * math.sqrt(2 / math.pi), abs=0.02)
    assert upper.std() == pytest.approx(sigma * math.sqrt(1 - 2 / math.pi), rel=0.02)


@pytest.mark.parametrize(("name", "p", "mu", "sigma", "mean"), GAMES)
def test_the_longest_delay_is_not_clipped(name: str, p: float, mu: float, sigma: float, mean: float) -> None:
    """Its median over half a million draws is 15 s for Game 1 and 18 s for Game 2; the paper reports 14 to 17 s."""
    n = 500_000
    median = 1000 * math.exp(mu + sigma * NORMAL.inv_cdf(1 - math.log(2) / (n * p)))
    assert 14_000 < median < 19_000
    longest = np.array([draw(name, n, seed).max() for seed in range(21)])
    assert np.median(longest) == pytest.approx(median, rel=0.3)
    assert longest.max() > 1.5 * median


@pytest.mark.parametrize(("text", "mean"), [("exponential:6 s", 6000), ("exponential: 500 ms", 500)])
def test_exponential(text: str, mean: int) -> None:
    delays = draw(text)
    assert delays.min() == 0
    assert delays.mean() == pytest.approx(mean - 0.5, rel=0.005)
    assert delays.std() == pytest.approx(mean, rel=0.01)
    assert (delays >= 2 * mean).mean() == pytest.approx(math.exp(-2), abs=0.002)


def test_the_model_none_delays_nothing() -> None:
    assert not draw("none", 1000).any()


@pytest.mark.parametrize("text", ["game1", "game2", "exponential:6 s", "none"])
def test_a_seed_gives_the_same_delays(text: str) -> None:
    assert np.array_equal(draw(text, 1000), draw(text, 1000))
    assert text == "none" or not np.array_equal(draw(text, 1000), draw(text, 1000, seed=8))
    assert delay_model(text) == delay_model(text)
    assert draw(text, 0).shape == (0,)


def test_the_model_data_draws_the_measured_delays(tmp_path: Path) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    delays = [0, 10, 10, 700, -300, None]
    table = pa.table(
        {
            "at": pa.array([start] * 6, pa.timestamp("us", tz="UTC")),
            "in": pa.array([None if d is None else start + timedelta(milliseconds=d) for d in delays]),
        }
    )
    file = tmp_path / "odd:name.parquet"
    pq.write_table(table, file)
    samples = draw(f"data:{file}:at:in", 100_000)
    assert set(samples.tolist()) == {0, 10, 700}
    for value, share in ((0, 0.4), (10, 0.4), (700, 0.2)):
        assert (samples == value).mean() == pytest.approx(share, abs=0.01)
    assert np.array_equal(samples, draw(f"data:{file}:at:in", 100_000))


def test_the_model_data_reads_a_directory_of_longs(tmp_path: Path) -> None:
    for number in range(2):
        pq.write_table(pa.table({"e": [1000], "a": [1005 + number]}), tmp_path / f"{number}.parquet")
    assert set(draw(f"data:{tmp_path}:e:a", 100).tolist()) == {5, 6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gamma", "write one of: none, game1, game2, exponential:MEAN"),
        ("", "names no delay model"),
        ("game1:3", "takes no argument"),
        ("exponential", "write exponential:MEAN"),
        ("exponential:0 s", "longer than 0 ms"),
        ("exponential:-1 s", "longer than 0 ms"),
        ("exponential:6", "write a number and a unit"),
        ("data:nowhere.parquet:a:b", "there is no file nowhere.parquet"),
        ("data:a:b", "write data:FILE:EVENT:ARRIVAL"),
    ],
)
def test_a_wrong_model_is_refused_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        delay_model(text)


def test_wrong_columns_of_data_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "some.parquet"
    pq.write_table(pa.table({"e": [1, 2], "s": ["x", "y"], "n": pa.array([None, None], pa.int64())}), file)
    with pytest.raises(ValueError, match="no column arrival, it has e, s, n"):
        delay_model(f"data:{file}:e:arrival")
    with pytest.raises(ValueError, match="string holds no times"):
        delay_model(f"data:{file}:e:s")
    with pytest.raises(ValueError, match="no row in which both times are known"):
        delay_model(f"data:{file}:e:n")


def test_every_model_shows_its_use() -> None:
    assert all(entry.usage.startswith(name) for name, entry in MODELS.items())


def test_finer_times_are_floored() -> None:
    nanoseconds = pa.chunked_array([pa.array([-1, 1_999_999, 2_000_000], pa.timestamp("ns"))])
    assert epoch_ms(nanoseconds).tolist() == [-1, 1, 2]
    with pytest.raises(ValueError, match="1 of 2 times are null"):
        epoch_ms(pa.chunked_array([pa.array([1, None])]))
