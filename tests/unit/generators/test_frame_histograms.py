"""Histograms of pixels, compared with pixels counted one by one; darkening of frames and of their histograms."""

from __future__ import annotations

import numpy as np
import pytest

from generators.frame_histograms import Bins, count_pixels, darken
from kit.draws.videos import count_pixels_one_by_one, random_frames

BINS = [(Bins.grey, 1, 256, 256), (Bins.colour4, 3, 4, 64), (Bins.colour6, 3, 6, 216)]


@pytest.mark.parametrize("darken_by", [0, 1, 58, 255])
@pytest.mark.parametrize(("bins", "channels", "per_channel", "count"), BINS)
def test_histograms_are_those_of_pixels_counted_one_by_one(
    bins: Bins, channels: int, per_channel: int, count: int, darken_by: int
) -> None:
    for pixels in random_frames(5, channels):
        histogram = count_pixels(pixels, bins, darken_by)
        assert histogram.tolist() == count_pixels_one_by_one(pixels, per_channel, darken_by)
        assert len(histogram) == bins.size == count


def test_the_bins_of_colour_are_in_c_order() -> None:
    red_green_blue = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8)
    assert np.flatnonzero(count_pixels(red_green_blue, Bins.colour4)).tolist() == [3, 12, 48]
    cube = count_pixels(red_green_blue[:, :1], Bins.colour6).reshape(Bins.colour6.shape)
    assert cube[5, 0, 0] == 1


@pytest.mark.parametrize("by", [0, 1, 58, 255, 300])
def test_a_darkened_grey_histogram_is_that_of_the_darkened_frame(by: int) -> None:
    frames = random_frames(7, 1)
    histograms = np.array([count_pixels(pixels, Bins.grey) for pixels in frames], np.float64)
    darkened = np.array([count_pixels_one_by_one(pixels, 256, by) for pixels in frames])
    assert np.array_equal(darken(histograms, by), darkened)


def test_a_darkened_colour_histogram_moves_by_a_bin_along_each_channel() -> None:
    masses = np.zeros((1, 4, 4, 4))
    masses[0, 3, 1, 0], masses[0, 1, 0, 0], masses[0, 0, 0, 0] = 5, 2, 1
    dark = darken(masses.reshape(1, 64), 1, (4, 4, 4)).reshape(4, 4, 4)
    assert dark[2, 0, 0] == 5
    assert dark[0, 0, 0] == 3
    assert dark.sum() == 8


def test_darkening_leaves_its_argument_as_it_is() -> None:
    masses = np.eye(4)
    darken(masses, 2)
    assert np.array_equal(masses, np.eye(4))
    assert darken(np.zeros((0, 256)), 58).shape == (0, 256)
