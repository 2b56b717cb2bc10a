"""Small videos for tests, without loss, and the oracle of their histograms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def random_frames(count: int, channels: int, seed: int = 1) -> list[Pixels]:
    """Frames of 16 × 12 random pixels, shape (12, 16) of grey or (12, 16, 3) of colour."""
    shape = (count, 12, 16) if channels == 1 else (count, 12, 16, channels)
    return list(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))


def write_video(
    path: Path,
    frames: Sequence[Pixels],
    rate: int | Fraction = 25,
    times_ms: Sequence[int] | None = None,
    codec: str = "ffv1",
    key_every: int = 1,
) -> Path:
    """Encode frames, without loss by FFV1, in the container that the file's ending names.

    Of `key_every` frames the first is a key frame.
    """
    source, codec_format = ("gray", "gray") if frames[0].ndim == 2 else ("rgb24", "bgr0")
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = 16, 12, codec_format if codec == "ffv1" else "yuvj420p"
        stream.codec_context.gop_size = key_every
        if times_ms is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format=source)
            if times_ms is not None:
                frame.pts, frame.time_base = times_ms[number], Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def count_pixels_one_by_one(pixels: Pixels, bins_per_channel: int, darken_by: int = 0) -> list[int]:
    """The histogram of a frame, pixel by pixel; bins of colour in the order red, green, blue, blue fastest."""
    channels = 1 if pixels.ndim == 2 else 3
    histogram = [0] * bins_per_channel**channels
    for row in pixels.tolist():
        for pixel in row:
            cell = 0
            for level in [pixel] if channels == 1 else pixel:
                dark = level - darken_by if level > darken_by else 0
                cell = cell * bins_per_channel + dark * bins_per_channel // 256
            histogram[cell] += 1
    return histogram
