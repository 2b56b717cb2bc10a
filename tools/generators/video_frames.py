"""Reader of the frames of a video file by PyAV (FFmpeg), an extra of this package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.extras import require_extra
from tailrace.ground.files.regular_files import NotRegularError, regular_status

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

PIXEL_FORMATS = {1: "gray", 3: "rgb24"}
"""FFmpeg's name of the pixels by their number of channels; grey is the luma, in the full range of 0 to 255."""

_RIGHT = "a whole video that ffmpeg plays without an error"
_DEFAULT_RATE = 25
_SHORTFALL = Fraction(1, 2)  # seconds: what containers state of their length is rounded
_MATROSKA_DURATION = re.compile(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)")


class Frame(NamedTuple):
    """A frame of a video.

    Attributes
    ----------
    pixels : ndarray of uint8, shape (height, width), or (height, width, 3) of red, green and blue
    start, end : Fraction
        When it appears and disappears, in seconds from the video's first frame.
    is_key : bool
        Whether it is a key frame, which is decoded without any other one. Encoders set one at a cut, and every few
        seconds.
    """

    pixels: NDArray[np.uint8]
    start: Fraction
    end: Fraction
    is_key: bool


class _Broken(Exception):
    """Raised where a video breaks off."""


def read_frames(path: Path, channels: int) -> Iterator[Frame]:
    """Read the frames of a video in their order, one in memory at a time.

    Parameters
    ----------
    path : Path
    channels : int
        1: grey; 3: red, green and blue.

    Raises
    ------
    Refused
        When PyAV is not installed, the file is no video or has no frames; and when the decoder finds a frame damaged
        (not all decoders do) or the file ends before the length that it states, after whole frames were yielded.
    """
    require_extra("frames", "video")
    import av  # noqa: PLC0415 (an extra)
    from av.video.reformatter import VideoReformatter  # noqa: PLC0415

    try:
        regular_status(path)
    except FileNotFoundError:
        raise refuse(str(path), "there is no such file", "a video file") from None
    except NotRegularError as error:
        raise refuse(str(path), str(error.strerror), "a video file") from None
    reformatter, first, number = VideoReformatter(), Fraction(0), 0
    try:
        with av.open(str(path.absolute())) as container:
            stream = container.streams.best("video")
            if not isinstance(stream, av.VideoStream) or container.format.name == "tty":  # a text, shown as a screen
                raise refuse(str(path), "it has no video", _RIGHT)
            for frame, start, end in _decode(container, stream):
                first = first if number else start
                pixels = reformatter.reformat(frame, format=PIXEL_FORMATS[channels]).to_ndarray()
                number += 1
                yield Frame(np.asarray(pixels, np.uint8), start - first, end - first, bool(frame.key_frame))
    except (av.FFmpegError, _Broken) as error:
        raise _unreadable(path, number, getattr(error, "strerror", None) or str(error)) from error
    if not number:
        raise refuse(str(path), "the video has no frames", _RIGHT)


def _decode(container: InputContainer, stream: VideoStream) -> Iterator[tuple[VideoFrame, Fraction, Fraction]]:
    """Decode a stream into its frames, each with the times at which it appears and disappears, in seconds.

    A frame without a time, or with one that does not follow the previous frame's, appears when that one disappears.
    """
    # With threads PyAV loses the last frames and their errors.
    stream.thread_type = "NONE"
    # Otherwise FFmpeg invents the missing parts of a damaged frame.
    stream.codec_context.options = {"err_detect": "explode"}
    unit, period = stream.time_base or Fraction(0), 1 / Fraction(stream.average_rate or _DEFAULT_RATE)
    start, end = Fraction(-1), Fraction(0)
    is_first = True
    for packet in container.demux(stream):
        if packet.is_corrupt:
            raise _Broken("the file ends inside a frame")
        for frame in packet.decode():
            if frame.is_corrupt:
                raise _Broken("the next one is damaged")
            time = end if frame.pts is None else frame.pts * unit
            start = time if is_first or time > start else end
            end, is_first = start + (frame.duration * unit or period), False
            yield frame, start, end
    stated_end = _stated_end(container, stream)
    if stated_end is not None and end < stated_end - _SHORTFALL:
        raise _Broken(f"it ends at {float(end):.2f} s, and states a length of {float(stated_end):.2f} s")


def _stated_end(container: InputContainer, stream: VideoStream) -> Fraction | None:
    """Return the time, in seconds, at which a stream ends according to its container; None where it states none."""
    if stream.duration is not None and stream.time_base is not None:
        return stream.duration * stream.time_base
    stated = _MATROSKA_DURATION.fullmatch(stream.metadata.get("DURATION", ""))
    if stated is not None:
        return int(stated[1]) * 3600 + int(stated[2]) * 60 + Fraction(stated[3])
    if container.duration is not None and len(container.streams) == 1:
        return Fraction(container.duration, 1_000_000)
    return None


def _unreadable(path: Path, frames: int, reason: str) -> Refused:
    if not frames:
        return refuse(str(path), f"it can't be read as a video ({reason})", _RIGHT)
    return refuse(str(path), f"it breaks off, or is damaged, after {frames:,} frames ({reason})", _RIGHT)
