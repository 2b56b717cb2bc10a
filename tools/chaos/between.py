"""What happens to a query beside the outages of its places: kills, rebuilds, and a backup that is restored."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from faults import holds_lock, kill_command
from live_driver import END_S, await_
from watched_stream import WatchedStream
from workloads import NAME, SIZE_MS, SLIDE_MS

BETWEEN = ("kill", "rebuild", "restore")
_SLIDES_MS = (SLIDE_MS, 2 * SLIDE_MS)
_WAS_RUNNING = "its stream was running"
"""What a command says of a backup without the tasks' state: a rebuild gives it."""


def kill_beside(stream: WatchedStream, place: str, correction: subprocess.Popen[str]) -> str:
    """Kill a correction as it delivers to a place, then the driver, which its host starts again; say what died."""
    process = psutil.Process(correction.pid)
    await_(lambda: correction.poll() is not None or holds_lock(process, place), END_S)
    delivers = correction.poll() is None
    if delivers:
        kill_command(process)
    pid = stream.driver.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    stream.await_other_pid(pid)
    return f"{'the correction as it delivered, and ' if delivers else ''}the driver"


def rebuild(stream: WatchedStream) -> str:
    """Rebuild the query for other windows, or for those that it had first, and deploy it again; say how that went."""
    slide_ms = next(slide for slide in _SLIDES_MS if slide != slide_of(stream))
    began_s = time.monotonic()
    stream.end()
    stream.declare(window={"size": f"{SIZE_MS} ms", "slide": f"{slide_ms} ms"})
    stream.run("rebuild")
    stream.deploy()
    return f"rebuilt in {time.monotonic() - began_s:.0f} s to windows every {slide_ms} ms"


def slide_of(stream: WatchedStream) -> int:
    return int(str(stream.declared["window"]["slide"]).removesuffix(" ms"))


@dataclass(frozen=True)
class Backup:
    """A backup of a drained stream, or of a running one, and what it was of."""

    path: Path
    is_drained: bool
    window: object
    commits: int

    @staticmethod
    def take(stream: WatchedStream, path: Path, is_drained: bool) -> Backup:
        if is_drained:
            stream.end()
        backup = Backup(path, is_drained, stream.declared["window"], stream.driver.commits)
        stream.run("backup", "--output", str(path))
        if is_drained:
            stream.deploy()
        return backup

    def restore(self, stream: WatchedStream) -> str:
        """Restore it after the directory was lost, with a drained or a killed driver; say how that went."""
        what = f"the backup of a {'drained' if self.is_drained else 'running'} stream is restored"
        with stream.other_tables(what):
            if self.is_drained:
                stream.end()
            else:
                stream.driver.host.stop(NAME, 0)
            stream.driver.home.rename(self.path.with_name(f"{self.path.name}-lost"))
            stream.declare(window=self.window)
            said = stream.run("restore", about=self.path)
            if _WAS_RUNNING in said:
                stream.run("rebuild")
            stream.deploy()
            stream_s = stream.catch_up_s()
            place_s = max(stream.show_s(watch) for watch in stream.watches)
        return (
            f"{what}, {self.commits} commits: the stream caught up after {stream_s:.0f} s, and readers had all after "
            f"{place_s:.0f} s more"
        )
