"""Generated shots: determinism, mass, drift within a shot and jumps at cuts, near-duplicates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from generators import generated_shots
from generators.generated_shots import PIXELS, jitter, shots
from generators.sample_clips import read_clip


def distances_in_a_row(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Earth Mover's Distance from each histogram to the next: the area between the cumulative sums, in bins."""
    shares = masses / masses.sum(axis=1, keepdims=True)
    return np.abs(np.cumsum(np.diff(shares, axis=0), axis=1)).sum(axis=1)


@pytest.mark.parametrize("shape", [(256,), (4, 4, 4), (6, 6, 6), (7,)])
def test_masses_are_whole_pixels(shape: tuple[int, ...]) -> None:
    masses = shots(300, shape, seed=2)
    assert masses.shape == (300, np.prod(shape))
    assert masses.dtype == np.float64
    assert (masses >= 0).all()
    assert np.array_equal(masses, np.rint(masses))
    assert masses.sum(axis=1) == pytest.approx(PIXELS, rel=0.001)


def test_a_seed_determines_the_film(monkeypatch: pytest.MonkeyPatch) -> None:
    film = shots(200, seed=5)
    assert not np.array_equal(film, shots(200, seed=6))
    monkeypatch.setattr(generated_shots, "BLOCK", 7)
    assert np.array_equal(film, shots(200, seed=5))


def test_frames_drift_within_a_shot_and_jump_at_cuts() -> None:
    distances = distances_in_a_row(shots(6000, seed=1, shot_length=50))
    cuts = distances > 6
    assert cuts.sum() == pytest.approx(6000 / 50, rel=0.25)
    assert np.median(distances[cuts]) > 20
    assert 0 < np.quantile(distances[~cuts], 0.99) < 4


def test_by_default_frames_are_as_far_apart_as_those_of_a_real_clip() -> None:
    generated, real = (np.median(distances_in_a_row(film)) for film in (shots(3000), read_clip("bikes")))
    assert generated == pytest.approx(real, rel=0.15)


def test_without_drift_a_shot_stands_still_and_with_short_shots_every_frame_is_cut() -> None:
    assert (distances_in_a_row(shots(100, shot_length=1e12, drift=0)) == 0).all()
    assert (distances_in_a_row(shots(100, shot_length=1)) > 1).all()


def test_no_frame_is_without_mass_and_a_film_may_be_empty() -> None:
    assert (shots(50, (6, 6, 6), pixels=1).sum(axis=1) >= 1).all()
    assert shots(0).shape == (0, 256)


def test_jitter_makes_near_duplicates() -> None:
    masses = shots(100, seed=3)
    near = jitter(masses, seed=1, noise=0.05)
    assert np.array_equal(near, jitter(masses, seed=1, noise=0.05))
    assert np.array_equal(near == 0, masses == 0)
    logarithms = np.log(near[masses > 0] / masses[masses > 0])
    assert logarithms.std() == pytest.approx(0.05, rel=0.05)
    apart = distances_in_a_row(np.stack([masses, near], axis=1).reshape(-1, 256))[::2]
    assert 0 < apart.max() < 3
    assert np.array_equal(jitter(masses, seed=1, noise=0), masses)


def test_shots_of_a_scene_are_more_alike_than_those_of_a_film() -> None:
    def spread(**scenes: float) -> float:
        """The standard deviation of the mean grey level over 200 frames that are all shots of their own."""
        film = shots(200, seed=3, shot_length=1, **scenes)
        return float((film @ np.arange(256) / film.sum(axis=1)).std())

    assert spread(scene_length=10**6) < spread() / 1.5
    assert spread(scene_length=1) > spread(scene_length=10**6) * 1.5  # every shot has a scene of its own


def test_without_scenes_a_seed_makes_the_film_that_it_made_before_there_were_any() -> None:
    assert shots(3, (4,), seed=1, pixels=100).tolist() == [[1.0, 4.0, 9.0, 86.0]] * 3
