"""The joins of paper 000's experiments: a film S with the same film darkened (SS), and with another film (M).

The paper's films can't be had. Real clips and generated shots replace them, in grey levels on a line, which is the
paper's ground distance, and in cells of colour on a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from generators.frame_histograms import darken
from generators.generated_shots import jitter, shots
from generators.histogram_stream import as_stream
from generators.replay import START_MS
from generators.sample_clips import read_clip
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

LEVELS = 58
"""The grey levels by which SS is darker than S (section 6.1)."""

UNIT = 64
"""The grey levels of a unit of θ: the width of a cell of 4 × 4 × 4 colours, so that θ means the same on both ground
distances.
"""

SHOT = 6  # mean frames of a generated shot: the paper uses key frames, of which a shot has few
_SCENE_SHOTS = 640  # of a scene, on average
_GREY, _COLOUR = (256,), (4, 4, 4)

Masses = np.ndarray
"""The histograms of a film's frames, shape (frames, bins)."""

Films = tuple[Masses, Masses]


@dataclass(frozen=True)
class FilmJoin:
    """A join of two films.

    Attributes
    ----------
    name : str
    films : callable
        Creates the left and the right film, given the number of frames of each.
    colours : bool
        Whether the bins are cells of colour, on a grid, or grey levels, on a line.
    """

    name: str
    films: Callable[[int], Films]
    colours: bool = False

    def streams(self, frames: int, rate: float) -> dict[str, pa.Table]:
        """Return the two films as the streams of a join, `rate` frames a second each, in order of arrival."""
        return as_streams(self.films(frames), rate)

    def query(self, method: str = "emd_ddsj", threshold: float = 0.5, within: str = "5 s", **section: Any) -> Query:
        """Return the paper's join by the chain of filters, which asks for pairs but not for their distances."""
        on_line = {"scale": UNIT, "search": "filter_chain"}
        ground = {"ground_distance": {"grid": list(_COLOUR)}} if self.colours else on_line
        return join_query({"method": method, "threshold": threshold, "distances": False} | ground | section, within)


def join_query(
    section: dict[str, Any], within: str = "5 s", directory: Path | None = None, parallelism: int = 1
) -> Query:
    """Return a join of the streams of `as_streams`, in a directory each.

    Parameters
    ----------
    section : dict
        The section `emd_join`, without the column of histograms.
    directory : Path, optional
        The parent of the directories; absent for streams in memory.
    """
    columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    streams = {
        side: {"source": {"format": "parquet", "path": str((directory or Path()) / side)}} | columns
        for side in ("left", "right")
    }
    query: dict[str, Any] = {"name": "similar", "kind": "emd_join", "streams": streams, "window": {"size": within}}
    query |= {"emd_join": {"histogram": "hist"} | section, "disorder": {"policy": "none"}, "parallelism": parallelism}
    return declared_query(query)


def as_streams(films: Films, rate: float, prefix: str = "") -> dict[str, pa.Table]:
    """Return two films as the streams of a join, `rate` frames a second each, in order of arrival.

    Another prefix of the ids gives another random placement of the tuples, as `shuffle` goes by a hash of these.
    """
    return {
        name: as_stream(masses, prefix + name, rate, START_MS)
        for name, masses in zip(("left", "right"), films, strict=True)
    }


def scenes(frames: int, seed: int) -> Masses:
    """Generate a grey film whose shots come in scenes, so that the load of one period predicts the load of the next."""
    return shots(frames, _GREY, seed, shot_length=SHOT, scene_length=SHOT * _SCENE_SHOTS)


def scenes_copy(frames: int) -> Films:
    """Return S ⋈ SS of scenes."""
    film = scenes(frames, 1)
    return film, darken(film, LEVELS)


def scenes_other(frames: int) -> Films:
    """Return S ⋈ M of scenes."""
    return scenes(frames, 1), scenes(frames, 9)


def cut_film(frames: int, cut: int) -> Films:
    """Return a film of dark shots up to frame `cut` and of light ones after it, joined with itself.

    All keys jump at the cut.
    """
    film = shots(frames, _GREY, seed=3, shot_length=SHOT / 2)
    halved = film.reshape(frames, len(film[0]) // 2, 2).sum(axis=2)
    nothing = np.zeros_like(halved)
    dark, light = np.hstack([halved, nothing]), np.hstack([nothing, halved])
    return (np.concatenate([dark[:cut], light[cut:]]),) * 2


def there_and_back(clip: str, frames: int, first: int = 0) -> Masses:
    """Return a clip forwards and backwards, repeatedly, as a jump from its end to its beginning would be a cut.

    It begins with the frame `first` of this loop.
    """
    masses = read_clip(clip)
    loop = np.roll(np.concatenate([masses, masses[-2:0:-1]]), -first, axis=0)
    return np.resize(loop, (frames, masses.shape[1]))


def _clips(left: str, right: str) -> Callable[[int], Films]:
    return lambda frames: (there_and_back(left, frames), there_and_back(right, frames))


def _grey_clip(frames: int) -> Films:
    film = there_and_back("bikes", frames)
    return film, darken(film, LEVELS)


def _grey_shots(frames: int) -> Films:
    film = shots(frames, _GREY, seed=1, shot_length=SHOT)
    return film, darken(film, LEVELS)


def _colour_shots(frames: int) -> Films:
    film = shots(frames, _COLOUR, seed=1, shot_length=SHOT)
    return film, jitter(film, seed=2)


CASES = (
    FilmJoin("clip S ⋈ SS, line", _grey_clip),
    FilmJoin("clips S ⋈ M, line", _clips("bikes", "bigbuckbunny")),
    FilmJoin("clip S ⋈ SS, grid", _clips("bikes_colour", "bikes_colour_dark"), colours=True),
    FilmJoin("clips S ⋈ M, grid", _clips("bikes_colour", "bigbuckbunny_colour"), colours=True),
    FilmJoin("shots S ⋈ SS, line", _grey_shots),
    FilmJoin("shots S ⋈ S with noise, grid", _colour_shots, colours=True),
)
"""Real clips and generated shots, on both ground distances; on a line `scale` is `UNIT`."""
