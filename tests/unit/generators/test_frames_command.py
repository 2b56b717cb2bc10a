"""The command `tools/dev.py frames`: its output, refusals and interruption."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from generators import histogram_stream
from kit.draws.videos import count_pixels_one_by_one, random_frames, write_video

FRAMES = random_frames(5, 3)


@pytest.fixture
def video(tmp_path):
    return write_video(tmp_path / "tiny.mkv", FRAMES)


def test_help_has_an_example(dev):
    assert "Example: .venv/bin/python tools/dev.py frames --darken 58" in dev("frames", "--help").stdout


def test_a_stream_is_written_in_files(dev, video, tmp_path):
    options = ("--bins", "colour6", "--darken", 58, "--rate", 100, "--start", "2026-02-03T04:05:06Z")
    messages = dev("frames", "--output", tmp_path / "out", *options, video, video).stderr
    assert f"wrote 10 histograms of 216 bins to {tmp_path / 'out'}" in messages
    table = pq.read_table(tmp_path / "out")
    assert table["hist"].to_pylist() == 2 * [count_pixels_one_by_one(pixels, 6, 58) for pixels in FRAMES]
    times = [time.isoformat(timespec="milliseconds") for time in table["event_time"].to_pylist()]
    assert times[:2] == ["2026-02-03T04:05:06.000+00:00", "2026-02-03T04:05:06.010+00:00"]


def test_key_frames_alone_are_written_where_asked_for(dev, tmp_path):
    film = write_video(tmp_path / "film.mkv", FRAMES, key_every=3)
    messages = dev("frames", "--output", tmp_path / "out", "--key-frames", "--bins", "colour4", film).stderr
    assert "wrote 2 histograms of 64 bins" in messages
    assert pq.read_table(tmp_path / "out")["id"].to_pylist() == ["film-000000", "film-000003"]


def test_replay_puts_the_stream_out_of_order_in_both_formats(dev, video, tmp_path):
    dev("frames", "--output", tmp_path / "in", "--bins", "colour4", video)
    for form in ("parquet", "json"):
        options = ("--source", tmp_path / "in", "--model", "exponential:1 s", "--files", 1, "--format", form)
        dev("replay", "--output", tmp_path / form, *options)
    expected = pq.read_table(tmp_path / "in").to_pylist()
    replayed = pq.read_table(tmp_path / "parquet")
    by_id = {row["id"]: row["hist"] for row in replayed.to_pylist()}
    assert by_id == {row["id"]: row["hist"] for row in expected}
    assert not replayed["arrival_time"].equals(replayed["event_time"])
    import pyarrow.json as pj

    assert {row["id"]: row["hist"] for row in pj.read_json(tmp_path / "json/part-00000.json").to_pylist()} == by_id


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (("--bins", "grey16"), ["--bins", "grey"]),
        (("--darken", "300"), ["--darken", "right would be: 0 to 255"]),
        (("--rate", "0"), ["--rate", "more than 0"]),
        (("--start", "soon"), ["--start", "ISO 8601"]),
    ],
)
def test_wrong_options_are_refused(dev, video, tmp_path, options, fragments):
    messages = dev("frames", "--output", tmp_path / "out", *options, video, code=2).stderr
    assert all(fragment in messages for fragment in fragments), messages
    assert not (tmp_path / "out").exists()


def test_a_wrong_video_or_directory_is_refused_and_nothing_is_written(dev, video, tmp_path):
    broken = tmp_path / "broken.mkv"
    content = write_video(broken, random_frames(50, 1)).read_bytes()
    broken.write_bytes(content[: len(content) // 2])
    messages = dev("frames", "--output", tmp_path / "out", video, broken, code=2).stderr
    assert f"{broken}: it breaks off, or is damaged, after " in messages
    assert not (tmp_path / "out").exists()
    assert "not empty" in dev("frames", "--output", tmp_path, video, code=2).stderr
    assert "can't be written" in dev("frames", "--output", video / "out", video, code=2).stderr


def test_a_missing_extra_is_refused(dev, video, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    assert "pip install 'tailrace[video]'" in dev("frames", "--output", tmp_path / "out", video, code=2).stderr
    assert not (tmp_path / "out").exists()


def test_an_interruption_leaves_nothing(dev, video, tmp_path, monkeypatch):
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr(histogram_stream, "ROWS_PER_FILE", 2)
    seen: list[Path] = []

    def batches(histograms):
        for batch in as_batches(histograms):
            yield batch
            seen.extend((tmp_path / "out").iterdir())
            signal.raise_signal(signal.SIGINT)

    as_batches = histogram_stream.as_batches
    monkeypatch.setattr(histogram_stream, "as_batches", batches)
    try:
        messages = dev("frames", "--output", tmp_path / "out", video, code=130).stderr
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    assert messages == "interrupted: nothing is written\n"
    assert [path.name for path in seen] == [".part-00000.parquet.new"]
    assert not (tmp_path / "out").exists()
