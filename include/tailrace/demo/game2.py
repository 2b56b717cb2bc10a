"""The second query of the demonstration, behind its flag: a made stream with the delays of a football match."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from tailrace.declare import load
from tailrace.streams.delays import delay_model
from tailrace.streams.replay import generate, write

ROWS, RATE, SENSORS, SEED, FILES = 120_000, 1000, 16, 2, 12
"""Two minutes of the thousand tuples a second that the query replays."""

_START_MS = 1_767_225_600_000
_FILE = Path(__file__).with_name("game2.yaml")


def declare(home: Path, others: list[Path]) -> list[Path]:
    """Make the stream in `home/data/game2`, and a directory `home/queries` with its query and the others.

    Parameters
    ----------
    others : list of Path
        Query files; the paths of their sources are made absolute in the copies.

    Returns
    -------
    list of Path
        The copies, in order, the new query's last.
    """
    directory = home / "queries"
    directory.mkdir()
    for file in others:
        (directory / file.name).write_text(_moved(file), encoding="utf-8")
    shutil.copy(_FILE, directory)
    stream = generate(ROWS, RATE, SENSORS, delay_model("game2"), SEED, _START_MS)
    write(stream, home / "data" / "game2", FILES)
    return [directory / file.name for file in (*others, _FILE)]


def _moved(file: Path) -> str:
    """A query file's text, with the absolute paths of its sources."""
    declared = yaml.load(file.read_text(encoding="utf-8"), yaml.BaseLoader)  # scalars stay text, as the loader has it
    for name, stream in load(file).streams.items():
        declared["streams"][name]["source"]["path"] = str(stream.source.path)
    return yaml.safe_dump(declared, sort_keys=False, allow_unicode=True)
