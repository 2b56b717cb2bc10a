"""Histograms of real video clips in this package; clips/README.md describes their origin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

CLIPS = ("bikes", "bigbuckbunny", "bikes_colour", "bikes_colour_dark", "bigbuckbunny_colour")
"""Names of the clips: street scenes in six shots, 250 frames; one shot of an animated film, 132 frames.

By 256 grey levels or, as `_colour`, by 4 × 4 × 4 cells of red, green and blue; `_dark` is darkened by 58 levels.
"""


def clip_directory(name: str) -> Path:
    """Return the directory of a clip's stream.

    It is a source of format parquet with the columns of `histogram_stream.SCHEMA`.
    """
    if name not in CLIPS:
        raise ValueError(f"there is no clip {name!r}; right is one of {', '.join(CLIPS)}")
    return Path(__file__).with_name("clips") / name


def read_clip(name: str) -> NDArray[np.float64]:
    """Read the histograms of a clip: pixels of each bin, shape (frames, 256) or (frames, 64)."""
    lists = pq.read_table(clip_directory(name), columns=["hist"])["hist"].combine_chunks()
    return np.asarray(lists.flatten(), np.float64).reshape(len(lists), -1)
