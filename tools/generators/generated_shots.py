"""Generated histograms of a film: within a shot they drift from frame to frame, at a cut they jump.

A model of the videos of paper 000 (section 6.1), for streams of any length. The pixels of a frame are a mixture of
normal distributions over the cells of the colour cube (or the line of grey levels), one for each object. A shot draws
its own objects: their centres, widths and weights. From frame to frame their centres and the logarithms of their
weights take steps of a random walk. If scenes are requested, the shots of a scene are alike: their objects lie about
the scene's centre. By default the median Earth Mover's Distance between two successive frames is 0.56 grey levels; in
the sample `bikes` it is 0.57 (`sample_clips.py`).
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PIXELS = 640 * 272
"""Pixels of a frame, unless another number is given."""

BLOCK = 4096  # frames that are evaluated at once, which bounds the memory beside the result
_WIDTHS = (0.02, 0.12)  # standard deviations of an object's pixels, as shares of a channel's range
_SCENE_SPREAD = 0.12  # the same for an object's centre about its shot's, and for a shot's about its scene's
_WEIGHT_DRIFT = 4  # steps of a weight's logarithm are longer than a centre's by this factor


def shots(
    count: int,
    shape: tuple[int, ...] = (256,),
    seed: int = 0,
    *,
    shot_length: float = 60.0,
    scene_length: float | None = None,
    drift: float = 0.003,
    objects: int = 4,
    pixels: int = PIXELS,
) -> Floats:
    """Generate the histograms of the frames of a film.

    Parameters
    ----------
    count : int
        Number of frames, 0 or more.
    shape : tuple of int
        Number of bins along each channel: (256,) of grey, (4, 4, 4) or (6, 6, 6) of colour.
    seed : int
        0 or more; the same seed and arguments give the same film. A longer film begins otherwise.
    shot_length : float
        Mean number of frames of a shot, at least 1; lengths are geometric.
    scene_length : float, optional
        Mean number of frames of a scene, at least as large as a shot's; lengths are geometric, and a scene begins with
        a shot. Absent: there are no scenes.
    drift : float
        Standard deviation of an object's step from frame to frame, as a share of a channel's range.
    objects : int
        Number of objects of a shot, at least 1.
    pixels : int
        Pixels of a frame, at least 1, of which the bins hold whole numbers; rounding leaves out a few.

    Returns
    -------
    ndarray, shape (count, n)
        Pixels of each bin, in C order; n is the product of `shape`. Each row has at least one.
    """
    rng = np.random.default_rng(seed)
    shot = np.cumsum(rng.random(count) < 1 / shot_length, dtype=np.int64)
    walk = (int(shot.max(initial=0)) + 1, objects, len(shape))
    middles = rng.random(walk)
    if scene_length is not None:
        is_new = rng.random(walk[0]) < shot_length / scene_length
        scene = np.cumsum(is_new, dtype=np.int64)
        center = rng.random((walk[0] + 1, 1, walk[2]))[scene] + rng.normal(0, _SCENE_SPREAD, (walk[0], 1, walk[2]))
        middles = center + rng.normal(0, _SCENE_SPREAD, walk)
    centres = middles[shot] + _walk(rng.normal(0, drift, (count, *walk[1:])), shot)
    centres = 1 - np.abs(1 - centres % 2)  # reflected at both ends of the range
    widths = rng.uniform(*_WIDTHS, walk)[shot]
    log_weights = rng.normal(0, 1, walk[:2])[shot]
    log_weights += _walk(rng.normal(0, _WEIGHT_DRIFT * drift, (count, objects)), shot)
    weights = np.exp(log_weights)
    weights /= weights.sum(axis=1, keepdims=True)
    masses = np.empty((count, prod(shape)))
    for first in range(0, count, BLOCK):
        block = slice(first, first + BLOCK)
        shares = _mixture(centres[block], widths[block], weights[block], shape)
        masses[block] = np.rint(shares * pixels)
        fullest = shares.argmax(axis=1)
        rows = np.arange(first, first + len(fullest))
        masses[rows, fullest] = np.maximum(masses[rows, fullest], 1)
    return masses


def jitter(masses: Floats, seed: int, noise: float = 0.05) -> Floats:
    """Make near-duplicates of histograms: each bin's mass times a lognormal factor of median 1.

    Parameters
    ----------
    masses : ndarray, shape (m, n)
    seed : int
        0 or more; the same seed gives the same noise.
    noise : float
        Standard deviation of the factor's logarithm, 0 or more.

    Returns
    -------
    ndarray, shape (m, n)
        0 where `masses` is, more than 0 elsewhere.
    """
    return masses * np.random.default_rng(seed).lognormal(0, noise, masses.shape)


def _walk(steps: Floats, shot: NDArray[np.int64]) -> Floats:
    """Sum up steps from the first frame of each shot, at which the walk is at 0; axis 0 is frames."""
    position = np.cumsum(steps, axis=0)
    return np.asarray(position - position[np.searchsorted(shot, shot)])


def _mixture(centres: Floats, widths: Floats, weights: Floats, shape: tuple[int, ...]) -> Floats:
    """Evaluate mixtures of normal distributions at the middles of the bins, as shares; shape (frames, n)."""
    density = weights[:, :, None]
    for axis, bins in enumerate(shape):
        middles = (np.arange(bins) + 0.5) / bins
        width = np.maximum(widths[:, :, axis, None], 0.5 / bins)  # no object falls between the middles of two bins
        channel = np.exp(-(((middles - centres[:, :, axis, None]) / width) ** 2) / 2)
        channel /= channel.sum(axis=2, keepdims=True)
        density = (density[:, :, :, None] * channel[:, :, None, :]).reshape(*weights.shape, -1)
    return np.asarray(density.sum(axis=1))
