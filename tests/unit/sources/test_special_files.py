"""What is no regular file among a source's files is refused by its name; a source that is away is waited for."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kit.runs.file_feeds import COLUMNS, GOOD, TYPES, make_feed, refusal, rows, write, write_json
from tailrace.ground.errors import Refused
from tailrace.sources.discovery import file_feed
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.reading_progress import ReadFile, read_files
from tailrace.sources.segments import Segment


@pytest.fixture(autouse=True)
def ends_of_fifos(tmp_path: Path) -> Iterator[None]:
    """End whatever is read of a FIFO here: else a test without its guard would wait, and not fail."""
    is_over = threading.Event()

    def end() -> None:
        while not is_over.wait(0.1):
            for path in tmp_path.rglob("*"):
                with suppress(OSError):  # it is gone, or has no reader
                    if path.is_fifo():
                        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))

    thread = threading.Thread(target=end, daemon=True)
    thread.start()
    yield
    is_over.set()
    thread.join()


@contextmanager
def listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(path.parent)  # a socket's path may not be long
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)
        yield


SPECIAL = {
    "it is a FIFO (named pipe), and no regular file": os.mkfifo,
    "it is a device, and no regular file": lambda path: path.symlink_to("/dev/zero"),
    "it is a symbolic link to gone.parquet, which is not there": lambda path: path.symlink_to("gone.parquet"),
    "it is a symbolic link that leads back to itself": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("at_once", [None, 9])
@pytest.mark.parametrize("wrong", SPECIAL)
@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_file_that_is_none_is_refused_by_its_name(tmp_path, suffix, wrong, at_once):
    source = write_json(tmp_path, "1.json", GOOD) if suffix == "json" else write(tmp_path, "1.parquet", 2)
    SPECIAL[wrong](source / f"2.{suffix}")
    feed = make_feed(source, format_name=suffix, at_once=at_once)
    assert refusal(feed) == f"{tmp_path}/2.{suffix}: it can't be read: {wrong}"
    (source / f"2.{suffix}").unlink()
    feed.fresh()
    assert len(rows(make_feed(source, format_name=suffix).fresh())) > 0


def test_a_socket_is_refused_too(tmp_path):
    with listening(write(tmp_path, "1.parquet", 2) / "2.parquet"):
        assert "it is a socket, and no regular file" in refusal(make_feed(tmp_path))


@pytest.mark.parametrize("wrong", SPECIAL)
def test_a_source_that_is_no_file_is_refused(tmp_path, wrong):
    SPECIAL[wrong](tmp_path / "in")
    assert refusal(make_feed(tmp_path / "in")) == f"{tmp_path}/in: it can't be read: {wrong}"


@pytest.mark.parametrize("suffix", ["parquet", "json", "csv"])
def test_readers_refuse_a_file_that_has_become_a_fifo(tmp_path, suffix):
    os.mkfifo(tmp_path / f"a.{suffix}")
    for read in (
        lambda: FORMATS[suffix].read(Segment(f"{tmp_path}/a.{suffix}", 0, 1, mtime_ns=1), TYPES),
        lambda: FORMATS[suffix].read(Segment(f"{tmp_path}/a.{suffix}", 0, 1), TYPES),
        lambda: FORMATS[suffix].split(tmp_path / f"a.{suffix}"),
        lambda: FORMATS[suffix].types(tmp_path / f"a.{suffix}", COLUMNS),
    ):
        with pytest.raises(Refused, match="it is a FIFO"):
            read()


def known(path: Path) -> str:
    return f"inode {path.stat().st_ino}"


def live_feed(path: Path, before: list[Segment], known_as: str | None, format_name: str = "parquet") -> FileFeed:
    files: list[ReadFile] = list(read_files(before, {}).values())
    return FileFeed(path, format_name, COLUMNS, TYPES, files, 9, known_as=known_as)


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """The directory of a source with a file, beside an empty one that stands in its place once it is unmounted."""
    write(tmp_path / "in", "a.parquet", 2)
    (tmp_path / "empty").mkdir()
    return tmp_path / "in"


def unmount(mount: Path) -> None:
    mount.rename(mount.parent / "disk")
    (mount.parent / "empty").rename(mount)


def mount_again(mount: Path) -> None:
    mount.rename(mount.parent / "empty")
    (mount.parent / "disk").rename(mount)


@pytest.mark.parametrize("is_history", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
def test_an_empty_mount_point_is_away_and_its_files_are_no_lost_ones(mount, monkeypatch, restarts, is_history):
    monkeypatch.setattr(file_feed, "is_history", lambda *_: is_history)
    feed = live_feed(mount, [], None)
    read = feed.fresh()
    assert (rows(read), feed.identity) == ([("a.parquet", 0), ("a.parquet", 1)], known(mount))
    unmount(mount)
    feed = live_feed(mount, read, feed.identity) if restarts else feed
    for _ in range(2):
        assert (feed.fresh(), feed.holds_back) == ([], True), "its silence is no silence"
        assert feed.problem == (
            f"{mount}: none of its files that were read (1) is there: its disk may not be mounted; it is tried again"
        )
    mount_again(mount)
    write(mount, "b.parquet", 1)
    assert (rows(feed.fresh()), feed.problem, feed.holds_back) == ([("b.parquet", 0)], None, False)


def test_a_bounded_run_refuses_a_source_that_is_away(mount):
    read = make_feed(mount).fresh()
    identity = known(mount)
    unmount(mount)
    feed = FileFeed(mount, "parquet", COLUMNS, TYPES, read_files(read, {}).values(), known_as=identity)
    assert "its disk may not be mounted" in refusal(feed)


def test_a_directory_that_was_emptied_is_there(mount):
    read = make_feed(mount).fresh()
    (mount / "a.parquet").unlink()
    feed = live_feed(mount, read, known(mount))
    assert (feed.fresh(), feed.problem, feed.holds_back) == ([], None, False)


def test_another_directory_with_new_files_alone_is_away_only_where_the_old_ones_must_stay(mount, monkeypatch):
    read, identity = make_feed(mount).fresh(), known(mount)
    unmount(mount)
    write(mount, "b.parquet", 1)
    assert rows(live_feed(mount, read, identity).fresh()) == [("b.parquet", 0)]
    monkeypatch.setattr(file_feed, "is_history", lambda *_: True)
    feed = live_feed(mount, read, identity)
    assert (feed.fresh(), feed.holds_back) == ([], True)


def test_a_file_read_in_part_is_awaited_on_a_disk_that_is_away(mount):
    (whole,) = make_feed(mount).fresh()
    identity = known(mount)
    unmount(mount)
    feed = live_feed(mount, [replace(whole, rows=1)], identity)
    assert (feed.fresh(), feed.holds_back) == ([], True)
    mount_again(mount)
    assert rows(feed.fresh()) == [("a.parquet", 1)]
