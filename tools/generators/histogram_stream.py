"""Stream of the histograms of video frames, as read by the kind `emd_join` (paper 000, section 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from generators.frame_histograms import LEVELS, Bins, count_pixels
from generators.replay import START_MS, TIME
from generators.video_frames import read_frames
from tailrace.ground.errors import refuse

SCHEMA = pa.schema(
    {"event_time": TIME, "arrival_time": TIME, "id": pa.string(), "hist": pa.list_(pa.float64())}.items()
)
ROWS_PER_FILE = 16_384
"""Histograms of a file; with 256 bins 32 MB in memory."""


class FrameHistogram(NamedTuple):
    """The histogram of a frame: its event time, its id, and the pixels of each bin, shape (n,)."""

    event_ms: int
    id: str
    pixels: NDArray[np.int64]


def frame_histograms(
    videos: Sequence[Path],
    bins: Bins = Bins.grey,
    darken_by: int = 0,
    rate: float | None = None,
    start_ms: int = START_MS,
    progress: Callable[[Path, int], None] | None = None,
    key_only: bool = False,
) -> Iterator[FrameHistogram]:
    """Yield the histograms of the frames of videos that follow one another in event time.

    Parameters
    ----------
    videos : sequence of Path
        The same video may be there more than once.
    bins : Bins
    darken_by : int, 0 to 255
        Levels that each channel of each pixel loses.
    rate : float, optional
        Frames per second of event time, all videos together; absent: the videos' own times.
    start_ms : int
        Event time of the first frame, epoch milliseconds; finer times are floored.
    progress : callable, optional
        Called after each frame with its video and its number in that, from 1.
    key_only : bool
        Leave out all frames but key frames, as in paper 000, section 6.1.

    Raises
    ------
    Refused
        When an option is out of its range, a file is no video, or a video breaks off.
    """
    if not 0 <= darken_by < LEVELS:
        raise refuse("--darken", f"a pixel can't lose {darken_by} levels", f"0 to {LEVELS - 1}")
    if rate is not None and not 0 < rate < float("inf"):
        raise refuse("--rate", f"{rate} is no rate", "frames in a second of event time, more than 0")
    end, frames = Fraction(0), count()
    for video, name in zip(videos, clip_names(videos), strict=True):
        start = end
        for number, frame in enumerate(read_frames(video, len(bins.shape))):
            end = start + frame.end
            if frame.is_key or not key_only:
                time = start + frame.start if rate is None else next(frames) / Fraction(rate)
                pixels = count_pixels(frame.pixels, bins, darken_by)
                yield FrameHistogram(start_ms + int(time * 1000), f"{name}-{number:06d}", pixels)
            if progress is not None:
                progress(video, number + 1)


def clip_names(videos: Sequence[Path]) -> list[str]:
    """Return the name of each video in the ids of its frames.

    It is the file's name without the suffix; a number makes it unique.
    """
    names: list[str] = []
    stems = {video.stem for video in videos}
    for video in videos:
        numbered = (f"{video.stem}-{number}" for number in count(2))
        is_new = video.stem not in names
        names.append(video.stem if is_new else next(name for name in numbered if name not in {*names, *stems}))
    return names


def as_batches(histograms: Iterator[FrameHistogram]) -> Iterator[pa.RecordBatch]:
    """Collect histograms in batches of `SCHEMA`; each arrives at its event time."""
    while part := list(islice(histograms, ROWS_PER_FILE)):
        masses = np.stack([row.pixels for row in part]).astype(np.float64)
        yield _batch([row.event_ms for row in part], [row.id for row in part], masses)


def as_stream(masses: NDArray[np.float64], name: str, rate: float, start_ms: int = START_MS) -> pa.Table:
    """Build a stream of histograms, such as generated ones, at `rate` tuples per second of event time.

    Parameters
    ----------
    masses : ndarray, shape (m, n)
    name : str
        The prefix of the ids: `name-000000` and on.
    rate : float
        More than 0.
    start_ms : int
        Event time of the first one, epoch milliseconds.

    Returns
    -------
    pyarrow.Table
        The columns of `SCHEMA`; each histogram arrives at its event time.
    """
    event_ms = start_ms + np.floor(np.arange(len(masses)) * (1000 / rate)).astype(np.int64)
    return pa.Table.from_batches([_batch(event_ms, [f"{name}-{number:06d}" for number in range(len(masses))], masses)])


def _batch(event_ms: Sequence[int] | NDArray[np.int64], ids: list[str], masses: NDArray[np.float64]) -> pa.RecordBatch:
    m, n = masses.shape
    times = pa.array(event_ms, TIME)
    lists = pa.ListArray.from_arrays(pa.array(np.arange(m + 1) * n, pa.int32()), pa.array(masses.ravel()))
    return pa.record_batch([times, times, pa.array(ids, pa.string()), lists], schema=SCHEMA)


def write(batches: Iterable[pa.RecordBatch], directory: Path) -> int:
    """Write batches to `part-00000.parquet` and on, and return the number of their rows.

    The files appear when all of them are written. After an error neither they nor a new directory are left.

    Raises
    ------
    Refused
        When `directory` is a file or is not empty.
    """
    if directory.exists() and not directory.is_dir():
        raise refuse(str(directory), "is a file", "a directory that is empty or not there yet")
    is_new = not directory.exists()
    if not is_new and any(directory.iterdir()):
        raise refuse(str(directory), "the directory is not empty", "an empty one, or one that is not there yet")
    paths: list[Path] = []
    rows = 0
    try:
        for number, batch in enumerate(batches):
            directory.mkdir(parents=True, exist_ok=True)
            paths.append(directory / f"part-{number:05d}.parquet")
            pq.write_table(pa.Table.from_batches([batch]), _hidden(paths[-1]), compression="zstd")
            rows += batch.num_rows
        for path in paths:
            _hidden(path).rename(path)
    except BaseException:  # Ctrl-C too: half a stream would look like a whole one
        for path in paths:
            path.unlink(missing_ok=True)
            _hidden(path).unlink(missing_ok=True)
        if is_new:
            with suppress(OSError):
                directory.rmdir()
        raise
    return rows


def _hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")
