"""Streams of histograms: times, ids, files, and the way through delays to the reader of a query's source."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators import histogram_stream
from generators.delays import delay_model, epoch_ms
from generators.frame_histograms import Bins
from generators.histogram_stream import SCHEMA, as_batches, as_stream, clip_names, frame_histograms, write
from generators.replay import disorder
from generators.replay import write as write_stream
from kit.draws.videos import count_pixels_one_by_one, random_frames, write_video
from kit.parts.source_mappings import source_mapping
from tailrace.ground.errors import Refused
from tailrace.sources.formats.parquet_files import ParquetFiles

START = 1_700_000_000_000
COLUMNS = source_mapping("event_time", "arrival_time", "id", None, {"p": "hist"}, types={"p": pa.list_(pa.float64())})


def stream(videos: list[Path], bins: Bins = Bins.grey, **options: object) -> pa.Table:
    histograms = frame_histograms(videos, bins, start_ms=START, **options)  # type: ignore[arg-type]
    return pa.Table.from_batches(as_batches(histograms), SCHEMA)


@pytest.mark.parametrize(("bins", "channels", "per_channel"), [(Bins.grey, 1, 256), (Bins.colour4, 3, 4)])
def test_a_stream_holds_the_histogram_of_each_frame(
    tmp_path: Path, bins: Bins, channels: int, per_channel: int
) -> None:
    frames = random_frames(6, channels)
    table = stream([write_video(tmp_path / "tiny.mkv", frames)], bins, darken_by=58)
    assert table.schema == SCHEMA
    assert table["hist"].to_pylist() == [count_pixels_one_by_one(pixels, per_channel, 58) for pixels in frames]
    assert table["id"].to_pylist() == [f"tiny-00000{i}" for i in range(6)]
    assert epoch_ms(table["event_time"]).tolist() == [START + 40 * i for i in range(6)]
    assert table["arrival_time"].equals(table["event_time"])


def test_videos_follow_one_another_in_event_time(tmp_path: Path) -> None:
    slow = write_video(tmp_path / "slow.mkv", random_frames(3, 1), rate=10)
    fast = write_video(tmp_path / "fast.avi", random_frames(4, 1), rate=Fraction(30_000, 1001))
    table = stream([slow, fast, slow])
    exact = [0, 100, 200, *(300 + i * 1001 / 30 for i in range(4)), *(300 + 4 * 1001 / 30 + 100 * i for i in range(3))]
    assert epoch_ms(table["event_time"]).tolist() == [START + int(t) for t in exact]
    assert len(set(table["id"].to_pylist())) == 10
    assert table["id"].to_pylist()[7:] == ["slow-2-000000", "slow-2-000001", "slow-2-000002"]


@pytest.mark.parametrize("rate", [None, 10])
def test_key_frames_alone_keep_their_numbers_and_the_videos_times(tmp_path: Path, rate: float | None) -> None:
    frames = random_frames(10, 1)
    films = [write_video(tmp_path / "film.mkv", frames, key_every=4), write_video(tmp_path / "each.mkv", frames[:2])]
    table = stream(films, key_only=True, rate=rate)
    kept = [frames[number] for number in (0, 4, 8, 0, 1)]
    assert table["hist"].to_pylist() == [count_pixels_one_by_one(pixels, 256) for pixels in kept]
    assert table["id"].to_pylist() == ["film-000000", "film-000004", "film-000008", "each-000000", "each-000001"]
    times = [0, 160, 320, 400, 440] if rate is None else [0, 100, 200, 300, 400]
    assert epoch_ms(table["event_time"]).tolist() == [START + each for each in times]


def test_a_rate_spaces_the_frames_of_all_videos_evenly(tmp_path: Path) -> None:
    video = write_video(tmp_path / "tiny.mkv", random_frames(4, 1))
    times = epoch_ms(stream([video, video], rate=3)["event_time"])
    assert times.tolist() == [START + i * 1000 // 3 for i in range(8)]


def test_names_are_unique_also_beside_files_that_look_numbered() -> None:
    videos = [Path(name) for name in ("a/film.mp4", "b/film.mp4", "film-2.mp4", "c/film.avi", "film-2.mkv")]
    assert clip_names(videos) == ["film", "film-3", "film-2", "film-4", "film-2-2"]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"rate": 0.0}, "--rate: 0.0 is no rate"),
        ({"rate": float("nan")}, "--rate"),
        ({"darken_by": -1}, "can't lose -1 levels"),
        ({"darken_by": 256}, "right would be: 0 to 255"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float], wrong: str) -> None:
    with pytest.raises(Refused, match=wrong):
        stream([], **options)


def test_progress_is_told_frame_by_frame(tmp_path: Path) -> None:
    steps: list[tuple[str, int]] = []
    video = write_video(tmp_path / "tiny.mkv", random_frames(3, 1))
    stream([video], progress=lambda path, number: steps.append((path.name, number)))
    assert steps == [("tiny.mkv", 1), ("tiny.mkv", 2), ("tiny.mkv", 3)]


def test_a_long_stream_is_cut_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram_stream, "ROWS_PER_FILE", 4)
    videos = [write_video(tmp_path / "tiny.mkv", random_frames(5, 1))] * 2
    assert write(as_batches(frame_histograms(videos, start_ms=START)), tmp_path / "deep" / "out") == 10
    names = [f"part-{i:05d}.parquet" for i in range(3)]
    assert sorted(path.name for path in (tmp_path / "deep" / "out").iterdir()) == names
    assert pq.read_table(tmp_path / "deep" / "out").equals(stream(videos))


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_nothing_is_left_after_an_error(tmp_path: Path, error: BaseException) -> None:
    def batches():
        yield as_stream(np.ones((3, 2)), "s", 1).to_batches()[0]
        assert [path.name for path in (tmp_path / "out").iterdir()] == [".part-00000.parquet.new"]
        raise error

    with pytest.raises(type(error)):
        write(batches(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").mkdir()
    with pytest.raises(type(error)):
        write(batches(), tmp_path / "out")
    assert list(tmp_path.rglob("*")) == [tmp_path / "out"]


def test_an_existing_directory_is_refused_before_a_video_is_opened(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("mine")
    unopened = as_batches(frame_histograms([tmp_path / "away.mp4"]))
    with pytest.raises(Refused, match="the directory is not empty"):
        write(unopened, tmp_path)
    with pytest.raises(Refused, match="is a file"):
        write(unopened, tmp_path / "other.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]


def test_a_query_reads_a_stream_that_replay_has_put_out_of_order(tmp_path: Path) -> None:
    masses = np.random.default_rng(3).integers(0, 9, (500, 8)).astype(float)
    delayed = disorder(as_stream(masses, "m", 100, START), "event_time", delay_model("exponential:1 s"), 1)
    (path,) = write_stream(delayed, tmp_path / "delayed", 1)
    source = ParquetFiles()
    types = source.types(path, COLUMNS)
    (segment,) = source.split(path)
    table = source.read(segment, types or {}).table
    numbers = [int(name.removeprefix("m-")) for name in table["id"].to_pylist()]
    assert numbers != sorted(numbers)
    assert table["hist"].to_pylist() == masses[numbers].tolist()
    assert epoch_ms(table["event_time"]).tolist() == [START + 10 * number for number in numbers]


def test_a_generated_stream_has_even_times_and_ids() -> None:
    table = as_stream(np.eye(4), "shot", 3, START)
    assert table.schema == SCHEMA
    assert epoch_ms(table["event_time"]).tolist() == [START, START + 333, START + 666, START + 1000]
    assert table["id"].to_pylist() == [f"shot-00000{i}" for i in range(4)]
    assert table["hist"].to_pylist() == np.eye(4).tolist()
    assert as_stream(np.zeros((0, 4)), "none", 1).num_rows == 0
