"""The command that makes a stream of histograms of the frames of videos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from generators.frame_histograms import Bins
from tailrace.api.times import time_ms
from tailrace.cli.local_paths import local_path
from tailrace.ground.errors import refuse
from tailrace.ground.words import counted
from tailrace.terminal import screen


def frames(
    videos: Annotated[
        list[Path],
        typer.Argument(help="Videos, which follow one another in event time.", metavar="VIDEO…", callback=local_path),
    ],
    output: Annotated[Path, typer.Option(help="The directory to write to, empty or new.", callback=local_path)],
    bins: Annotated[
        Bins,
        typer.Option(help="256 grey levels, or cells of red, green and blue: 4 × 4 × 4, 6 × 6 × 6."),
    ] = Bins.grey,
    darken: Annotated[
        int, typer.Option(help="Levels of 256 that each channel of each pixel loses, to no less than 0.")
    ] = 0,
    rate: Annotated[
        float | None, typer.Option(help="Frames in a second of event time; absent: the videos' own times.")
    ] = None,
    start: Annotated[str, typer.Option(help="Event time of the first frame.", metavar="T")] = "2026-01-01",
    key_frames: Annotated[
        bool, typer.Option("--key-frames", help="Key frames alone: the encoder's, at cuts and every few seconds.")
    ] = False,
) -> None:
    """Make a stream of the histograms of the frames of videos, for emd_join. Needs the extra tailrace\\[video]."""
    from generators import histogram_stream

    start_ms = time_ms("--start", start) or 0
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=screen.err, transient=True, disable=not screen.err.is_terminal) as progress:
        task = progress.add_task("opening the first video")

        def show(video: Path, number: int) -> None:
            progress.update(task, description=f"{screen.plain(video.name)}: {number:,} frames")

        options = bins, darken, rate, start_ms, show, key_frames
        histograms = histogram_stream.frame_histograms(videos, *options)
        try:
            rows = histogram_stream.write(histogram_stream.as_batches(histograms), output)
        except OSError as error:
            remedy = "a directory that you may write to, on a disk with room"
            raise refuse(f"--output {output}", f"can't be written ({error.strerror or error})", remedy) from error
    screen.err.print(
        f"wrote {counted(rows, 'histogram')} of {bins.size} bins to {output}", markup=False, soft_wrap=True
    )
