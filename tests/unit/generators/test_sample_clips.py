"""The clips that the package carries: whole histograms, in files that a query reads."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from generators.delays import epoch_ms
from generators.frame_histograms import darken
from generators.histogram_stream import SCHEMA
from generators.replay import START_MS
from generators.sample_clips import CLIPS, clip_directory, read_clip

FRAMES = {"bikes": (250, 640 * 272), "bigbuckbunny": (132, 1280 * 720)}
"""The number of frames of a film, and of the pixels of each."""


@pytest.mark.parametrize("name", CLIPS)
def test_each_histogram_has_all_pixels_of_its_frame(name: str) -> None:
    film = name.split("_", maxsplit=1)[0]
    frames, pixels = FRAMES[film]
    masses = read_clip(name)
    assert masses.shape == (frames, 64 if "colour" in name else 256)
    assert (masses.sum(axis=1) == pixels).all()
    table = pq.read_table(clip_directory(name))
    assert table.schema == SCHEMA
    assert table["hist"].to_pylist() == masses.tolist()
    assert epoch_ms(table["event_time"]).tolist() == [START_MS + 40 * i for i in range(frames)]
    assert table["id"].to_pylist() == [f"{film}-{i:06d}" for i in range(frames)]


def test_the_clips_are_small_and_their_files_no_others() -> None:
    assert {path.name for path in clip_directory("bikes").parent.iterdir()} == {*CLIPS, "README.md"}
    assert sum(path.stat().st_size for path in clip_directory("bikes").parent.rglob("*.parquet")) < 250_000


def test_a_darkened_clip_keeps_its_pixels() -> None:
    masses = read_clip("bikes")
    dark = darken(masses, 58)
    assert np.array_equal(dark.sum(axis=1), masses.sum(axis=1))
    assert np.array_equal(dark[:, 1:198], masses[:, 59:])
    assert not dark[:, 198:].any()


def test_the_darkened_clip_of_colours_is_darker() -> None:
    light, dark = (read_clip(name).reshape(-1, 4, 4, 4) for name in ("bikes_colour", "bikes_colour_dark"))
    assert (dark[:, 0, 0, 0] >= light[:, 0, 0, 0]).all()
    assert (dark[:, 3].sum(axis=(1, 2)) < light[:, 3].sum(axis=(1, 2))).all()
    assert (dark.sum(axis=(1, 2, 3)) == light.sum(axis=(1, 2, 3))).all()


def test_an_unknown_clip_is_refused_with_the_right_names() -> None:
    with pytest.raises(ValueError, match="right is one of bikes, bigbuckbunny"):
        read_clip("film")
