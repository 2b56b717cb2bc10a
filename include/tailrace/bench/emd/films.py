"""The streams of paper 000's experiments: a film S, the same film darkened (SS), and another film (M)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tailrace.generators.frame_histograms import darken
from tailrace.generators.generated_shots import jitter, shots
from tailrace.generators.histogram_stream import as_stream
from tailrace.generators.replay import START_MS
from tailrace.generators.sample_clips import read_clip

LEVELS = 58
"""The number of grey levels by which SS is darker than S (section 6.1)."""

GREY, COLOUR = (256,), (4, 4, 4)

Masses = np.ndarray
"""The histograms of a film's frames, shape (frames, bins)."""

Pair = Callable[[int], tuple[Masses, Masses]]
"""Makes the left and the right film of a join, of so many frames each."""


def real_copy(frames: int) -> tuple[Masses, Masses]:
    """S ⋈ SS of a real clip, grey: frame by frame the same film, darkened."""
    film = _repeated(read_clip("bikes"), frames)
    return film, darken(film, LEVELS)


def real_other(frames: int) -> tuple[Masses, Masses]:
    """S ⋈ M of two real clips, grey."""
    return _repeated(read_clip("bikes"), frames), _repeated(read_clip("bigbuckbunny"), frames)


def grey_copy(frames: int) -> tuple[Masses, Masses]:
    """S ⋈ SS of generated shots, grey."""
    film = shots(frames, GREY, seed=1)
    return film, darken(film, LEVELS)


def colour_copy(frames: int) -> tuple[Masses, Masses]:
    """S ⋈ SS of generated shots in 4 × 4 × 4 colours, where SS is S with noise: a near-duplicate."""
    film = shots(frames, COLOUR, seed=1)
    return film, jitter(film, seed=2)


def colour_other(frames: int) -> tuple[Masses, Masses]:
    """S ⋈ M of generated shots in 4 × 4 × 4 colours."""
    return shots(frames, COLOUR, seed=1), shots(frames, COLOUR, seed=9)


def as_streams(films: tuple[Masses, Masses], rate: float) -> dict[str, pa.Table]:
    """The two films as the streams of a join, `rate` frames a second each, in order of arrival."""
    return {
        name: as_stream(masses, name, rate, START_MS) for name, masses in zip(("left", "right"), films, strict=True)
    }


def _repeated(clip: Masses, frames: int) -> Masses:
    """A clip forwards and backwards, again and again, as a cut back to its beginning would be one of ours."""
    there_and_back = np.concatenate([clip, clip[-2:0:-1]])
    return np.resize(there_and_back, (frames, clip.shape[1]))
