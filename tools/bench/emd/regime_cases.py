"""The joins on which the methods are compared: at 100 and 1,000 tuples a second, on a line, a grid and a matrix.

Each has as many versions as there are seeds: generated films by another seed, real clips from another frame on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.emd.films import LEVELS, SHOT, UNIT, Films, there_and_back
from generators.frame_histograms import LEVELS as ALL_LEVELS
from generators.frame_histograms import darken
from generators.generated_shots import shots
from tailrace.emd_join import ground_distance

OURS, SHUFFLE, AGAIN, HEAD, HEAD_FLOW = "emd_ddsj", "shuffle", "shuffle again", "head", "head with UB_P"
"""`shuffle again` is the same method with another random placement: the spread that chance alone has."""

NEAR, ALL = (OURS, SHUFFLE, AGAIN), (OURS, SHUFFLE, AGAIN, HEAD, HEAD_FLOW)
"""The contestants of a join; Head-SJ takes many times as long, and so takes part in short ones alone."""

_STEP = 41  # frames of a clip between the beginnings of two versions, which so overlap
_OTHER = 1_000  # between the seeds of a film and of another one
_OBJECTS = 8  # of a colour film: as many as leave few bins empty, as in a real frame
_MANY, _CELLS = (8, 8, 8), (6, 6, 6)
_NEAR = 4.0  # cells: all bins that are further apart are as far from each other as this


@dataclass(frozen=True)
class RegimeCase:
    """A join of two films.

    Attributes
    ----------
    name : str
    films : callable
        Creates both films, given a seed and the number of frames.
    ground : dict
        The part of the section `emd_join` that declares the ground distance; θ is in units of 64 levels.
    thresholds : tuple of float
    rate, frames : int
        The frames of a stream a second, and in all.
    within : str
        |W|.
    seeds : int
        The number of versions that count.
    contestants : tuple of str
    """

    name: str
    films: Callable[[int, int], Films]
    ground: dict[str, Any]
    thresholds: tuple[float, ...]
    rate: int = 100
    frames: int = 300
    within: str = "1 s"
    seeds: int = 5
    contestants: tuple[str, ...] = NEAR

    @property
    def batch_ms(self) -> int:
        """The length of a batch, and of the feedback period: half of |W|."""
        return int(self.window_s * 500)

    @property
    def window_s(self) -> float:
        """The length of |W|, in s."""
        return float(self.within.split()[0])


def _line(seed: int, frames: int) -> Films:
    film = shots(frames, seed=seed, shot_length=SHOT)
    return film, darken(film, LEVELS)


def _line_other(seed: int, frames: int) -> Films:
    film, other = (shots(frames, seed=each, shot_length=SHOT) for each in (seed, seed + _OTHER))
    return film, other


def _line_clip(seed: int, frames: int) -> Films:
    film = there_and_back("bikes", frames, seed * _STEP)
    return film, darken(film, LEVELS)


def _colour_clip(seed: int, frames: int) -> Films:
    dark = there_and_back("bikes_colour_dark", frames, seed * _STEP)
    return there_and_back("bikes_colour", frames, seed * _STEP), dark


def _colour(shape: tuple[int, int, int]) -> Callable[[int, int], Films]:
    def films(seed: int, frames: int) -> Films:
        film = shots(frames, shape, seed, shot_length=SHOT, objects=_OBJECTS)
        return film, darken(film, 1, shape)

    return films


def _cells_of_unit(shape: tuple[int, int, int]) -> float:
    """Return how many cells are as wide as the unit of θ."""
    return UNIT * shape[0] / ALL_LEVELS


@cache
def _matrix() -> str:
    """Write a matrix of 512 colours: Euclid's distance of cells, but no longer than a limit; a metric on no grid."""
    file = Path(tempfile.mkdtemp(prefix="tailrace-bench-")) / "colours.npy"
    np.save(file, np.minimum(ground_distance.grid(_MANY), _NEAR))
    return str(file)


LINE = {"scale": UNIT, "search": "filter_chain"}


def cases() -> dict[str, tuple[RegimeCase, ...]]:
    """Return the joins by the part of the report that measures them."""
    grid = {"ground_distance": {"grid": list(_CELLS)}, "scale": _cells_of_unit(_CELLS)}
    matrix = {"ground_distance": {"matrix": _matrix()}, "scale": _cells_of_unit(_MANY)}
    small = {"ground_distance": {"grid": [4, 4, 4]}}
    return {
        "line": (
            RegimeCase("shots S ⋈ SS, line of 256", _line, LINE, (0.3, 0.5), seeds=10),
            RegimeCase("shots S ⋈ M, line of 256", _line_other, LINE, (0.5,)),
        ),
        "clips": (
            RegimeCase("clip S ⋈ SS, line of 256", _line_clip, LINE, (0.5,)),
            RegimeCase("clip S ⋈ SS, grid of 64", _colour_clip, small, (0.5,)),
        ),
        "grid": (RegimeCase("shots S ⋈ SS, grid of 216", _colour(_CELLS), grid, (0.9, 1.3)),),
        "matrix": (
            RegimeCase("shots S ⋈ SS, matrix of 512", _colour(_MANY), matrix, (1.2,), frames=120, within="0.4 s"),
        ),
        "dense": (RegimeCase("shots S ⋈ SS, line of 256, 1,000/s", _line, LINE, (0.3,), 1000, 500, "0.2 s"),),
        "head": (
            RegimeCase("short shots S ⋈ SS, line of 256", _line, LINE, (0.3,), 100, 120, "0.4 s", contestants=ALL),
            RegimeCase(
                "short shots S ⋈ SS, grid of 216", _colour(_CELLS), grid, (0.9,), 100, 120, "0.4 s", contestants=ALL
            ),
        ),
    }
