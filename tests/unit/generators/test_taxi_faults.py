"""Wrong positions: how many, of which kinds, and that the others stay."""

from __future__ import annotations

import numpy as np
import pytest

from generators.taxi_faults import with_outliers

PLACES = np.random.default_rng(0).uniform((115.4, 39.4), (117.5, 41.1), (100_000, 2))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 1.0])
def test_the_share_of_outliers(share: float) -> None:
    places = with_outliers(PLACES, share, np.random.default_rng(1))
    is_wrong = (places != PLACES).any(axis=1)
    error = np.sqrt(share * (1 - share) / len(PLACES))
    assert abs(is_wrong.mean() - share) <= 3 * error


def test_every_kind_of_fault_is_there_and_is_on_earth() -> None:
    places = with_outliers(PLACES, 1.0, np.random.default_rng(1))
    at_origin = (places == 0).all(axis=1)
    swapped = ~at_origin & (places[:, 1] == PLACES[:, 1])
    assert (np.floor(places[swapped, 0])[:5] % 10 == 1).all()
    for wrong, right in zip(places[swapped, 0].tolist(), PLACES[swapped, 0].tolist(), strict=True):
        digits = f"{right:.5f}"
        assert f"{wrong:.5f}" == digits[0] + digits[2] + digits[1] + digits[3:]
    far = ~at_origin & ~swapped
    assert (np.abs(places - PLACES)[far] >= 0.5).all()
    assert far.mean() == pytest.approx(0.5, abs=0.01)
    assert at_origin.mean() == pytest.approx(0.3, abs=0.01)
    assert (np.abs(places) <= (180, 90)).all()


def test_another_share_makes_the_same_outliers_and_more() -> None:
    few, many = (with_outliers(PLACES, share, np.random.default_rng(1)) for share in (0.01, 0.1))
    is_wrong = (few != PLACES).any(axis=1)
    assert np.array_equal(few[is_wrong], many[is_wrong])
    assert with_outliers(PLACES[:0], 0.1, np.random.default_rng(1)).shape == (0, 2)
