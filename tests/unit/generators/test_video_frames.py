"""Frames read back from tiny videos: pixels, times, and the refusal of what is no whole video."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from generators.video_frames import read_frames
from kit.draws.videos import random_frames, write_video
from tailrace.ground.errors import Refused


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("ending", ["mkv", "avi"])
def test_pixels_come_back_as_they_were_encoded(tmp_path: Path, channels: int, ending: str) -> None:
    frames = random_frames(5, channels)
    read = list(read_frames(write_video(tmp_path / f"tiny.{ending}", frames), channels))
    assert len(read) == len(frames)
    for frame, pixels in zip(read, frames, strict=True):
        assert np.array_equal(frame.pixels, pixels)
        assert frame.pixels.dtype == np.uint8
    assert [frame.start for frame in read] == [Fraction(i, 25) for i in range(5)]
    assert read[-1].end == Fraction(5, 25)


def test_grey_has_the_full_range_also_where_the_video_has_not(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "tv.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 16, 12, "yuv420p"
        luma = np.full((18, 16), 128, np.uint8)  # 12 rows of luma, then chroma
        luma[:6], luma[6:12] = 16, 235  # black and white as television has them
        frame = av.VideoFrame.from_ndarray(luma, format="yuv420p")
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    (only,) = read_frames(tmp_path / "tv.mkv", 1)
    assert (only.pixels[:6] == 0).all()
    assert (only.pixels[6:] == 255).all()


def test_times_are_the_videos_own_from_its_first_frame(tmp_path: Path) -> None:
    path = write_video(tmp_path / "uneven.mkv", random_frames(4, 1), times_ms=[500, 540, 700, 1000])
    starts = [frame.start for frame in read_frames(path, 1)]
    assert starts == [Fraction(t, 1000) for t in (0, 40, 200, 500)]


def message(path: Path) -> str:
    with pytest.raises(Refused) as error_info:
        list(read_frames(path, 1))
    text = str(error_info.value)
    assert text.startswith(str(path))
    assert "right would be" in text
    return text


@pytest.mark.parametrize("name", ["notes.txt", "notes.md", "film.mp4"])
def test_a_text_is_refused_as_no_video(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("this is no video\n" * 200)
    assert "no video" in message(tmp_path / name) or "can't be read as a video" in message(tmp_path / name)


def test_a_missing_an_empty_and_a_silent_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    assert "no such file" in message(tmp_path / "away.mp4")
    assert "is a directory" in message(tmp_path)
    (tmp_path / "empty.mp4").touch()
    assert "can't be read as a video" in message(tmp_path / "empty.mp4")
    with av.open(str(tmp_path / "sound.wav"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
    assert "it has no video" in message(tmp_path / "sound.wav")


def test_a_video_without_frames_is_refused(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "none.avi"), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 16, 12, "gray"
        container.start_encoding()
    assert "no frames" in message(tmp_path / "none.avi")


@pytest.mark.parametrize("ending", ["mkv", "avi"])
def test_a_video_that_breaks_off_is_refused_with_the_frame(tmp_path: Path, ending: str) -> None:
    whole = write_video(tmp_path / f"whole.{ending}", random_frames(50, 1)).read_bytes()
    cut = tmp_path / f"cut.{ending}"
    cut.write_bytes(whole[: len(whole) // 2])
    read: list[object] = []
    with pytest.raises(Refused, match=r"breaks off, or is damaged, after \d+ frames") as error_info:
        read.extend(read_frames(cut, 1))
    assert 10 <= len(read) <= 25
    assert f"after {len(read)} frames" in str(error_info.value)


def test_a_damaged_frame_is_refused_and_not_made_up(tmp_path: Path) -> None:
    path = tmp_path / "damaged.avi"
    content = bytearray(write_video(path, random_frames(50, 1), codec="mjpeg").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 30] = bytes(30)
    path.write_bytes(content)
    assert "breaks off, or is damaged, after " in message(path)


def test_a_missing_decoder_is_refused_with_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(Refused, match=r"pip install 'tailrace\[video\]'"):
        list(read_frames(tmp_path / "film.mp4", 1))
