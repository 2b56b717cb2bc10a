"""Whoever reads a file reads a regular one: a FIFO, whose read would not end, is refused by its name and kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from checkout_commands import app
from generators import debs2013, replay, tdrive
from generators.delays import delay_model
from generators.video_frames import read_frames
from tailrace.emd_join import matrix_file
from tailrace.ground.errors import Refused
from tailrace.ground.files.regular_files import NotRegularError, open_regular, read_regular, require_regular_files
from tailrace.query.loading import load

FIFO = r"it is a FIFO \(named pipe\)"


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.yaml")
    return tmp_path / "pipe.yaml"


def test_a_regular_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("content")
    (tmp_path / "b").symlink_to("a")
    for name in "ab":
        assert read_regular(tmp_path / name) == b"content"
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"content"
    require_regular_files(tmp_path)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")


@pytest.mark.parametrize("act", [open_regular, read_regular, require_regular_files])
def test_anything_else_is_named_with_its_kind(fifo: Path, act: Callable[[Path], object]) -> None:
    with pytest.raises(NotRegularError, match=rf"pipe\.yaml: {FIFO}"):
        act(fifo)
    (fifo.parent / "dangling").symlink_to("none")
    with pytest.raises(NotRegularError, match="dangling: it is a symbolic link to none, which is not there"):
        act(fifo.parent / "dangling")
    (fifo.parent / "null").symlink_to("/dev/null")
    with pytest.raises(NotRegularError, match="null: it is a device"):
        act(fifo.parent / "null")


def test_a_directory_of_files_has_regular_ones_alone(fifo: Path) -> None:
    with pytest.raises(NotRegularError, match=FIFO):
        require_regular_files(fifo.parent)
    fifo.rename(fifo.with_name("_pipe"))
    require_regular_files(fifo.parent)


@pytest.mark.parametrize(
    "read",
    [
        load,
        matrix_file.read,
        replay.read,
        tdrive.read,
        lambda path: debs2013.read(path, 0),
        lambda path: delay_model(f"data:{path}:a:b"),
        lambda path: list(read_frames(path, 1)),
    ],
    ids=["query", "matrix", "replay", "tdrive", "debs2013", "delays", "frames"],
)
def test_readers_of_other_files_refuse_it_too(fifo: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises((Refused, OSError, ValueError), match=FIFO):
        read(fifo)


@pytest.mark.parametrize("read", [replay.read, tdrive.read, lambda path: delay_model(f"data:{path}:a:b")])
def test_readers_of_directories_refuse_a_directory_with_one(fifo: Path, read: Callable[[Path], object]) -> None:
    fifo.rename(fifo.with_name("pipe.txt"))
    with pytest.raises((Refused, OSError, ValueError), match=FIFO):
        read(fifo.parent)


def test_a_query_file_that_is_none_is_not_what_would_be_right(fifo: Path) -> None:
    with pytest.raises(Refused) as error_info:
        load(fifo)
    assert error_info.value.problems[0].remedy == "the path of a query file that you may read"


def test_replay_exits_with_2(fifo: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["replay", "--source", str(fifo), "--output", str(tmp_path / "out")])
    assert isinstance(result.exception, Refused)
    assert not (tmp_path / "out").exists()
