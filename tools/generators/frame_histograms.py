"""Histograms of the pixels of a video frame, by grey level or by colour, and of darkened frames."""

from __future__ import annotations

from enum import StrEnum
from math import prod

import numpy as np
from numpy.typing import NDArray

LEVELS = 256
"""Levels of a pixel's channel: 0 (dark) to 255."""


class Bins(StrEnum):
    """Bins that pixels are counted in, by their name on the command line."""

    grey = "grey"
    colour4 = "colour4"
    colour6 = "colour6"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins along each channel: (256,) of grey, (4, 4, 4) or (6, 6, 6) of red, green and blue."""
        return _SHAPES[self]

    @property
    def size(self) -> int:
        """Number of bins of a histogram: 256, 64 or 216."""
        return prod(self.shape)


_SHAPES = {Bins.grey: (LEVELS,), Bins.colour4: (4, 4, 4), Bins.colour6: (6, 6, 6)}


def count_pixels(pixels: NDArray[np.uint8], bins: Bins, darken_by: int = 0) -> NDArray[np.int64]:
    """Count the pixels of a frame by bin.

    Level v of a channel falls in bin ⌊v · k ∕ 256⌋ of that channel's k bins.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width) of grey levels, or (height, width, 3) of red, green and blue
    bins : Bins
    darken_by : int, 0 to 255
        Levels that each channel of each pixel loses first; a level that would fall below 0 becomes 0.

    Returns
    -------
    ndarray, shape (bins.size,)
        Pixels of each bin; the bins of a colour cube in C order, blue fastest.
    """
    levels = np.maximum(np.arange(LEVELS) - darken_by, 0)
    code = np.zeros(pixels.shape[0] * pixels.shape[1], np.uint8)  # wide enough for the bins of all three
    weight = bins.size
    for channel, count in zip(pixels.reshape(len(code), -1).T, bins.shape, strict=True):
        weight //= count
        code += (levels * count // LEVELS * weight).astype(np.uint8)[channel]
    return np.bincount(code, minlength=bins.size)


def darken(masses: NDArray[np.float64], by: int, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    """Darken histograms by whole bins: along each channel the mass moves down by `by` bins, to no less than bin 0.

    Histograms by grey level become exactly the darkened frames' histograms: with `by` = 58 the stream SS of paper 000
    (section 6.1) follows from its stream S. Of colour cubes this is a model: pixels inside a bin differ.

    Parameters
    ----------
    masses : ndarray, shape (m, n)
    by : int, 0 or more
    shape : tuple of int, optional
        Number of bins along each channel, of product n; absent: (n,).

    Returns
    -------
    ndarray, shape (m, n)
    """
    cells = masses.reshape(len(masses), *(shape or masses.shape[1:]))
    for axis in range(1, cells.ndim):
        bright = np.moveaxis(cells, axis, -1)
        bins = bright.shape[-1]
        shift = min(by, bins - 1)
        dark = np.zeros_like(bright)
        dark[..., 0] = bright[..., : shift + 1].sum(axis=-1)
        dark[..., 1 : bins - shift] = bright[..., shift + 1 :]
        cells = np.moveaxis(dark, -1, axis)
    return cells.reshape(masses.shape)
